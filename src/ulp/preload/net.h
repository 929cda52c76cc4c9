/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The ways of the carrier's connections through the network: one row each for rsockets, SDP and TCP. */
#ifndef ULP_PRELOAD_NET_H
#define ULP_PRELOAD_NET_H

#include "ulp/preload/request.h"

struct rsp_net_ops;

/* A connection or a listener; each way's own structure begins with it. */
struct rsp_net {
	const struct rsp_net_ops *ops;
};

struct rsp_net_ops {
	/* Returns the listener or the connection, or NULL and a negative errno. */
	struct rsp_net *(*listen)(const struct rsp_request *q, int *ret);
	struct rsp_net *(*connect)(const struct rsp_request *q, int *ret);
	/* Readable when there may be a connection to accept; -1: accept() itself waits for ms. */
	int (*fd)(const struct rsp_net *listener);
	/* The next connection, or NULL. */
	struct rsp_net *(*accept)(struct rsp_net *listener, int ms);
	/* Ends what accept() began, in a thread of the connection. Returns 0 or a negative errno. */
	int (*stand)(struct rsp_net *net);
	void (*names)(const struct rsp_net *net, struct sockaddr_storage *local, struct sockaddr_storage *peer);
	/* The stream has its name, and the program is about to be told of it: from its first call on the connection may be the program's. */
	void (*named)(int un, struct rsp_net *net);
	/* Copies until both directions have ended, then closes both. */
	void (*relay)(int un, struct rsp_net *net);
	void (*close)(struct rsp_net *net);
};

/* Where the connection is not the program's. */
static inline void rsp_net_is_named(int un, struct rsp_net *net)
{
	(void)un;
	(void)net;
}

/* The way that a request names. */
const struct rsp_net_ops *rsp_way(const struct rsp_request *q);

extern const struct rsp_net_ops rsp_net_rsocket, rsp_net_sdp;

/* A socket of the kernel, which becomes the connection's or the listener's. NULL without memory. */
struct rsp_net *rsp_net_tcp(int fd);

#endif

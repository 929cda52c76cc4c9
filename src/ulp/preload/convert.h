/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* TCP sockets become ends of the carrier's connections at listen() and connect(). */
#ifndef ULP_PRELOAD_CONVERT_H
#define ULP_PRELOAD_CONVERT_H

#include "ulp/preload/request.h"

#include <stdbool.h>
#include <sys/socket.h>

/*
 * What the library of `dapple run --sdp-own` adds; they are NULL in that of the carrier alone. The first has a request served in
 * this process: it returns a socket on which the answer comes, or a negative errno; -EAGAIN: the carrier is to serve it. The
 * second is told of descriptors that may have a connection in this process.
 */
extern int (*rsp_serve_here)(const struct rsp_request *q, const int *fds, int nr);
extern void (*rsp_expect)(int fd);
/* True in a thread of the connections: its sockets are as they are. */
extern bool (*rsp_is_inside)(void);
/* Called when a request has been served here. */
extern void (*rsp_served_here)(void);
/* Sends the request to the carrier and returns its answer. */
int rsp_ask_carrier(const struct rsp_request *q, const int *fds, int nr);

/* Returns true if the descriptor is a TCP socket that neither listens nor connects. */
bool rsp_is_fresh_tcp(int fd);
/* A socket of family 27: it connects by SDP or not at all. Returns a TCP socket with a mark, or -1 and errno. */
int rsp_sdp_socket(int type);
/* Gives one that is not bound the family of an address that it is to have. */
void rsp_sdp_family(int fd, int family);
/* True for a socket of rsp_sdp_socket() that neither listens nor connects. */
bool rsp_is_sdp(int fd);
/*
 * Each returns 0 if the descriptor has been replaced; -EINPROGRESS if it has been and a non-blocking
 * attempt has begun; -EADDRINUSE if another program has the port. Any other error: the socket is as
 * it was, and is to be used as an ordinary one.
 */
int rsp_convert_listen(int fd, int backlog);
int rsp_convert_connect(int fd, const struct sockaddr *addr, socklen_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arguments of the three calls that connect an endpoint, checked: dat_ep_connect, dat_ep_dup_connect and
 * dat_ep_common_connect.
 */
#ifndef DAT_CORE_ASK_H
#define DAT_CORE_ASK_H

#include "dat/core/core.h"
#include "dat/core/private.h"

struct dpr_ask {
	struct sockaddr_storage to; /* with port */
	uint64_t qual;
	DAT_TIMEOUT timeout;
	struct dpr_private out;
	bool common;
};

/* The limits of the endpoint that asks. */
struct dpr_ask_limits {
	int family;               /* of the addresses that it reaches; 0: both */
	unsigned int private_max; /* of a request */
};

DAT_RETURN dpr_ask_connect(struct dpr_ask *a, const struct dpr_ask_limits *l, const void *remote, DAT_CONN_QUAL qual,
			   DAT_TIMEOUT timeout, DAT_COUNT size, const void *data, DAT_QOS quality,
			   DAT_CONNECT_FLAGS flags);
/* The caller fills in to, qual and common. */
DAT_RETURN dpr_ask_dup(struct dpr_ask *a, const struct dpr_ask_limits *l, DAT_TIMEOUT timeout, DAT_COUNT size,
		       const void *data, DAT_QOS quality);
DAT_RETURN dpr_ask_common(struct dpr_ask *a, const struct dpr_ask_limits *l, const void *remote, DAT_TIMEOUT timeout,
			  DAT_COUNT size, const void *data);

/* The port of an IPv4 or IPv6 address, in network order. */
dpr_be16 *dpr_port_of(struct sockaddr_storage *ss);

/* Returns true for a communicator that connections of this family are: a stream over TCP's ports. */
bool dpr_comm_known(const DAT_COMM *c, int family);

#endif

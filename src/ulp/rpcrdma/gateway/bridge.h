/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection of RPC over RDMA and one TCP connection, joined: each whole RPC message that comes on one leaves
 * on the other. One to one, so that everything that NFS ties to a connection stays true: sessions, their backward
 * direction, and the order of calls. Either end's close ends both.
 */
#ifndef ULP_RPCRDMA_GATEWAY_BRIDGE_H
#define ULP_RPCRDMA_GATEWAY_BRIDGE_H

#include "ulp/place.h"
#include "ulp/rpcrdma/gateway/place.h"
#include "ulp/listen.h"
#include "ulp/rpcrdma/conn.h"

#define RPG_TIMEOUT_MS 20000

struct rpg_conf {
	struct rpg_place listen, to;
	struct ulp_allow allow;
	struct rpr_conf rdma;
	bool counts;
	unsigned max_conns;
};

/* A client has come: over RDMA (request), or over TCP (fd). */
struct rpg_client {
	const struct rpg_conf *conf;
	bool is_rdma;
	struct ulp_request request;
	int fd;
	struct sockaddr_storage from;
};

/* Reaches the server for this client and carries until one of the two ends. Blocks. */
void rpg_bridge(struct rpg_client *client);

#endif

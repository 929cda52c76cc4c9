/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection management of one connection: addresses, request, acceptance, private data, the end. */
#ifndef ULP_RPCRDMA_CM_H
#define ULP_RPCRDMA_CM_H

#include "ulp/rpcrdma/state.h"

/* Finds the route to a server. Returns 0 or a negative errno with a sentence in c->rdma.why, as the other ones. */
int rpr_cm_resolve(struct rpr_conn *c, const struct sockaddr *to, int timeout_ms);
/* Requests the connection, whose queue pair and receives are ready, and waits until it stands. */
int rpr_cm_connect(struct rpr_conn *c, int timeout_ms);
/* Takes over an identifier that a listener gave, and what the request said. */
int rpr_cm_adopt(struct rpr_conn *c, struct rdma_cm_id *id, const void *data, size_t len);
int rpr_cm_accept(struct rpr_conn *c, int timeout_ms);

#endif

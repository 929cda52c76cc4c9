/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages without chunks: errors, and the backward direction (RFC 8167). */
#ifndef ULP_RPCRDMA_PLAIN_H
#define ULP_RPCRDMA_PLAIN_H

#include "ulp/rpcrdma/state.h"

/* Sends an RPC message inline. Returns 0, -EMSGSIZE if it is too long, -EAGAIN if too many are under way, or as
 * rpr_sendq_add(). */
int rpr_plain_send(struct rpr_conn *c, const void *rpc, size_t len, uint32_t credits);

/* Answers a message of the peer by RDMA_ERROR. */
int rpr_plain_error(struct rpr_conn *c, uint32_t xid, enum rpr_verdict v, uint32_t credits);

#endif

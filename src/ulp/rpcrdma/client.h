/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The client's role (RFC 8166, 3 and 4): a call is sent inline; or reduced, with its data in a read chunk; or whole, in
 * a chunk at position zero. Data of a read comes into a write chunk, a long reply into a reply chunk. A chunk is a
 * memory window of type 2 over a part of a buffer, bound with the call and invalidated with the reply; without
 * windows it is a registration for this call alone. So a server reaches only memory of calls that are
 * outstanding.
 *
 *    IDLE -> WAITING (for credits) -> SENT -> (replied, keys closed) -> IDLE
 */
#ifndef ULP_RPCRDMA_CLIENT_H
#define ULP_RPCRDMA_CLIENT_H

#include "ulp/rpcrdma/state.h"

int rpr_client_init(struct rpr_conn *c);
void rpr_client_fini(struct rpr_conn *c);

bool rpr_client_may_call(const struct rpr_conn *c);
/* Sends the call in buf, as rpr_conn_send() says. */
int rpr_client_call(struct rpr_conn *c, struct rpr_buf *buf);
/* A reply, or an error, has come; its header is c->header. Returns 0, or a negative errno: the connection has ended. */
int rpr_client_reply(struct rpr_conn *c, const struct rpr_received *m);

#endif

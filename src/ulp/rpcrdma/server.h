/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The server's role (RFC 8166, 3 and 4): the read chunks of a call are fetched into the place that they have in the
 * message; data of a reply is written into the write chunks that the call offered, a reply that is too long for a
 * Send into its reply chunk. One of the call's keys is invalidated by the reply, if the client takes that.
 *
 *    FREE -> READING -> OUT (the program has the call) -> REPLYING -> FREE
 */
#ifndef ULP_RPCRDMA_SERVER_H
#define ULP_RPCRDMA_SERVER_H

#include "ulp/rpcrdma/state.h"

int rpr_server_init(struct rpr_conn *c);
void rpr_server_fini(struct rpr_conn *c);

/* A call has come; its header is c->header. Returns 0, or a negative errno: the connection has ended. */
int rpr_server_call(struct rpr_conn *c, const struct rpr_received *m);
/* Sends the reply in buf, as rpr_conn_send() says; -EBADMSG: no call has its xid. */
int rpr_server_reply(struct rpr_conn *c, struct rpr_buf *buf);

/* The number of messages for replies that a connection with so many credits needs. */
unsigned rpr_server_messages(uint32_t credits);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What every transport does with the messages of a connection: which one goes next, with which header; and what has come. */
#ifndef ULP_RDS_EXCHANGE_H
#define ULP_RDS_EXCHANGE_H

#include "ulp/rds/conn.h"

/*
 * Begins the congestion map if it is due, or the first message that waits: c->out. Returns false if there is neither. The
 * transport fills in what is its own of the header.
 */
bool rds_out_begin(struct rds_conn *c);
/* The octets of what has begun; c->out.header.len says how many. */
const uint8_t *rds_out_payload(const struct rds_conn *c);
/* What has begun has been given to the transport. end: as of rds_flow_sent(). */
void rds_out_end(struct rds_conn *c, uint64_t end);

/* The transport's connection has ended: what had begun begins again on the next one, and so does all without acknowledgement. */
void rds_out_restart(struct rds_conn *c);

/* A whole message or map has come; the message is taken over. Sets c->paused if no more is to be taken before resume(). */
void rds_in_done(struct rds_conn *c, const struct rds_header *h, struct rds_message *m);

#endif

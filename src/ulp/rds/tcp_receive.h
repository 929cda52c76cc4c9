/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receiving over TCP: the stream of headers and payloads. */
#ifndef ULP_RDS_TCP_RECEIVE_H
#define ULP_RDS_TCP_RECEIVE_H

#include "ulp/rds/tcp_state.h"

/*
 * Reads what is there, at most `most` pieces. Returns 0, -EAGAIN when nothing more is there, or another negative errno at
 * the end; *ret_v is the rule that the peer broke.
 */
int rds_tcp_receive(struct rds_tcp *t, unsigned most, enum rds_verdict *ret_v);
/* Reads all that is there, whoever has to wait for it: this TCP connection has no further use. Returns as the former. */
int rds_tcp_drain(struct rds_tcp *t, enum rds_verdict *ret_v);

#endif

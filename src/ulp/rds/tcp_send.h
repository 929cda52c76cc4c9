/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending over TCP, which acknowledges. */
#ifndef ULP_RDS_TCP_SEND_H
#define ULP_RDS_TCP_SEND_H

#include "ulp/rds/tcp_state.h"

/* Acknowledges what TCP has acknowledged; and again after a while, as ->ack. */
void rds_tcp_take_acks(struct rds_tcp *t);
void rds_tcp_ack_due(struct rds_timer *timer);
/* Sends what TCP takes, and watches for more room. */
void rds_tcp_transmit(struct rds_tcp *t);
/* Watches for what arrives unless the connection is paused, and with `out` for room. */
void rds_tcp_watch(struct rds_tcp *t, bool out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDS over TCP, as Linux's rds_tcp has it: a stream of headers and payloads, both ways, on port 16385. TCP acknowledges.
 *
 * The address that is smaller, as a number, connects in the end:
 *
 *    smaller                                  larger
 *    connect ------------------------------>  accepts: the connection is up
 *    resets it, and connects <--------------  connect, when it has something to send; closes as soon as it stands
 *
 * The first message on a connection is the congestion map; then what has not been acknowledged, then the rest: at the end that has connected
 * once the peer's map has come. A connection that ends is read to its end before another one takes its place: TCP has acknowledged those octets.
 * Messages that TCP has not acknowledged are sent again with the mark, and the receiver drops those that it has.
 */
#ifndef ULP_RDS_TCP_H
#define ULP_RDS_TCP_H

#include "ulp/rds/conn.h"

extern const struct rds_transport rds_tcp;

/* A socket that is bound to an address, and has it listen. Each returns a negative errno on failure. */
int rds_tcp_bind(const struct rsp_addr *addr);
int rds_tcp_listen(int fd);
/* Takes a connection that waits at the listener of a local address. */
void rds_tcp_accept(struct rds_node *n, int listener, const struct rsp_addr *local);

#endif

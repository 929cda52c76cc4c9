/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDS over RDMA, as Linux's rds_rdma has it, on public calls of verbs and rdma_cm: a reliable connection to port 18634 of the
 * TCP port space (16385 between IPv6 addresses) and packets of ulp/rds/packet.h. It needs a channel adapter (InfiniBand, RoCE);
 * Linux has it over no other, and over iWARP the port would be one of TCP.
 *
 *    either end                              the other
 *    REQ, private data: 3.1, credits ----->
 *                                   <------  REP, the same
 *    congestion map, then what is not acknowledged, then the rest  <----->
 *
 * Where both request at one time, the request of the smaller address counts between two ends of Dapple; Linux refuses in that
 * case, and both try again after a time of chance.
 *
 * A receiver acknowledges numbers, with each packet that it sends, and at once where the header asks for it: the last message
 * that waits does, every eighth, and the last that the window of ulp/rds/flow.h lets through. Messages that are not acknowledged
 * as a connection ends are sent again, with the mark, on the next one.
 */
#ifndef ULP_RDS_RDMA_H
#define ULP_RDS_RDMA_H

#include "ulp/rds/conn.h"

struct rds_info_rdma_connection;
struct ulp_listener;

extern const struct rds_transport rds_rdma;

/* Returns 1 if an address has a channel adapter, 0 if it has none, or a negative errno: it is not known for want of memory. */
int rds_rdma_has(const struct rsp_addr *addr);
/* Listens at an address. Returns NULL and errno. */
struct ulp_listener *rds_rdma_listen(const struct rsp_addr *addr);
/* What RDS_INFO_IB_CONNECTIONS says of a connection of this transport that stands, beside its addresses. */
void rds_rdma_info(const struct rds_conn *c, struct rds_info_rdma_connection *ret);
/* Takes a request that waits at the listener of a local address. */
void rds_rdma_accept(struct rds_node *n, struct ulp_listener *l, const struct rsp_addr *local);

#endif

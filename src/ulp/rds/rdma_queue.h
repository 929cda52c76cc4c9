/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queues of a connection over RDMA: send slots, then receive slots, each for one packet. */
#ifndef ULP_RDS_RDMA_QUEUE_H
#define ULP_RDS_RDMA_QUEUE_H

#include "ulp/rds/rdma_state.h"

/* Makes them, with all receives posted. */
int rds_rdma_make_queues(struct rds_rdma *r);
/* Sends what the peer's credits and the send queue let through, and an acknowledgement that is due. */
void rds_rdma_transmit(struct rds_rdma *r);
/* Takes completions, messages and acknowledgements. */
void rds_rdma_take_completions(struct rds_rdma *r);
/* Takes messages that wait, and posts their receives again. */
void rds_rdma_take_packets(struct rds_rdma *r);
/* Takes all that has come over a connection that has no further use, whoever has to wait for it. */
void rds_rdma_drain(struct rds_rdma *r);
/* Gives up the works that are under way in a queue pair that is no more. */
void rds_rdma_drop_jobs(struct rds_rdma *r);
/* Sends a packet by which a peer is noticed that has gone. */
void rds_rdma_probe(struct rds_rdma *r);

#endif

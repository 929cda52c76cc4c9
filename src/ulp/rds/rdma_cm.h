/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connecting over RDMA, at both ends: rdma_cm's events and private data. */
#ifndef ULP_RDS_RDMA_CM_H
#define ULP_RDS_RDMA_CM_H

#include "ulp/rds/private.h"
#include "ulp/rds/rdma_state.h"

/* Begins to connect; what follows comes by events. */
int rds_rdma_request(struct rds_rdma *r);
/* Accepts a request, whose identifier becomes the connection's, and whose private data are good. */
int rds_rdma_admit(struct rds_rdma *r, struct rdma_cm_id *id, const struct rds_private *p);
/* Takes events of the connection manager. */
void rds_rdma_take_events(struct rds_rdma *r);
/* Disconnects, and gives back all that belongs to one connection. */
void rds_rdma_release(struct rds_rdma *r);

#endif

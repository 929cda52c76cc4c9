/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint's queue pair, made on the id that connects or accepts, and how its number finds the
 * endpoint. */
#ifndef DAT_PROVIDER_EP_QP_H
#define DAT_PROVIDER_EP_QP_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

struct dpr_ia;

/* Fills the verbs attributes of ep's queue pair. Called with ep configured. */
void dpr_ep_qp_attr(struct dpr_ep *ep, struct ibv_qp_init_attr *attr) UT_REQUIRES(ep->lock);

/* Makes ep's queue pair on id and posts the waiting receives. */
DAT_RETURN dpr_ep_make_qp(struct dpr_ep *ep, struct rdma_cm_id *id) UT_REQUIRES(ep->lock);

/* Enters the queue pair number, by which the completion of an SRQ receive finds its endpoint. */
void dpr_qpn_add(struct dpr_ia *ia, uint32_t qpn, struct dpr_ep *ep);
void dpr_qpn_del(struct dpr_ia *ia, uint32_t qpn);

#endif

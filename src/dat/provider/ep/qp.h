/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint's queue pair, made on the id that connects or accepts. */
#ifndef DAT_PROVIDER_EP_QP_H
#define DAT_PROVIDER_EP_QP_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

struct dpr_ia;

/* The verbs attributes of a queue pair for ep on its queues, sized by its attributes. Called with
 * the endpoint configured. */
void dpr_ep_qp_attr(struct dpr_ep *ep, struct ibv_qp_init_attr *attr) UT_REQUIRES(ep->lock);

/* Makes ep's queue pair on id and gives it the waiting receives. DAT_SUCCESS or an error. */
DAT_RETURN dpr_ep_make_qp(struct dpr_ep *ep, struct rdma_cm_id *id) UT_REQUIRES(ep->lock);

/* Queue pair number to endpoint, for completions of SRQ receives: while there is a queue pair. */
void dpr_qpn_add(struct dpr_ia *ia, uint32_t qpn, struct dpr_ep *ep);
void dpr_qpn_del(struct dpr_ia *ia, uint32_t qpn);

#endif

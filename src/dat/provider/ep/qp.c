/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/qp.h"

#include "dat/provider/dto/recv.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/dto/srq.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/pz.h"

#include <errno.h>

static DAT_COUNT most_segments(const DAT_EP_ATTR *a)
{
	DAT_COUNT n = a->max_request_iov;

	if (n < a->max_rdma_write_iov)
		n = a->max_rdma_write_iov;
	return n < a->max_rdma_read_iov ? a->max_rdma_read_iov : n;
}

/*
 * Without the EVD of one direction nothing is posted there; the other one's completion queue stands
 * in, since verbs need one.
 */
void dpr_ep_qp_attr(struct dpr_ep *ep, struct ibv_qp_init_attr *attr)
{
	struct dpr_evd *request = ep->request ? ep->request : ep->recv;
	struct dpr_evd *recv = ep->recv ? ep->recv : ep->request;

	*attr = (struct ibv_qp_init_attr){
		.qp_context = ep,
		.send_cq = request->cq,
		.recv_cq = recv->cq,
		.srq = ep->srq ? ep->srq->srq : NULL,
		.cap = {
			.max_send_wr = ep->sq.size,
			.max_recv_wr = ep->rq.size,
			.max_send_sge = (uint32_t)most_segments(&ep->attr),
			.max_recv_sge = (uint32_t)ep->attr.max_recv_iov,
			.max_inline_data = dpr_max_inline(),
		},
		.qp_type = ep->attr.service_type == DAT_SERVICE_TYPE_RC ? IBV_QPT_RC : IBV_QPT_UD,
	};
}

static int create(struct dpr_ep *ep, struct rdma_cm_id *id) UT_REQUIRES(ep->lock);
static int create(struct dpr_ep *ep, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr;

	dpr_ep_qp_attr(ep, &attr);
	if (!rdma_create_qp(id, ep->pz->pd, &attr))
		return 0;
	/* not every device has inline data, and none reports how much */
	dpr_ep_qp_attr(ep, &attr);
	attr.cap.max_inline_data = 0;
	return rdma_create_qp(id, ep->pz->pd, &attr) ? errno : 0;
}

DAT_RETURN dpr_ep_make_qp(struct dpr_ep *ep, struct rdma_cm_id *id)
{
	if (id->verbs != ep->obj.ia->verbs)
		return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (create(ep, id))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ep->qp = id->qp;
	dpr_log(DPR_LOG_EP, "ep %p: queue pair 0x%x", (void *)ep, ep->qp->qp_num);
	atomic_store(&ep->qpn, ep->qp->qp_num);
	dpr_qpn_add(ep->obj.ia, ep->qp->qp_num, ep);
	if (!dpr_ep_flush_posted(ep))
		return DAT_SUCCESS;
	dpr_qpn_del(ep->obj.ia, ep->qp->qp_num);
	atomic_store(&ep->qpn, 0);
	ep->qp = NULL;
	rdma_destroy_qp(id);
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

void dpr_qpn_add(struct dpr_ia *ia, uint32_t qpn, struct dpr_ep *ep)
{
	dpr_key_add(&ep->qpkey, ia, DPR_KEY_QP, qpn, &ep->obj);
}

void dpr_qpn_del(struct dpr_ia *ia, uint32_t qpn)
{
	struct dpr_obj *o = dpr_key_find(ia, DPR_KEY_QP, qpn);

	if (o)
		dpr_key_del(&((struct dpr_ep *)o)->qpkey);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/create.h"

#include "dat/provider/dto/event.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/dto/srq.h"
#include "dat/provider/ep/attr.h"
#include "dat/provider/ep/parts.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>

/* An invalidation before a bind is a request of its own. */
static uint32_t extra(const struct dpr_ia *ia, uint32_t requests)
{
	uint32_t most = (uint32_t)ia->dev.orig_attr.max_qp_wr;

	if (!ia->mw2)
		return 0;
	return requests <= most - requests ? requests : most - requests;
}

int dpr_ep_queues(struct dpr_ep *ep, const DAT_EP_ATTR *attr)
{
	uint32_t requests = (uint32_t)attr->max_request_dtos;
	struct dpr_dtoq sq, rq;
	int err;

	err = dpr_dtoq_init(&sq, requests, extra(ep->obj.ia, requests), 0);
	if (err)
		return -err;
	err = dpr_dtoq_init(&rq, ep->srq ? 0 : (uint32_t)attr->max_recv_dtos, 0,
			    (uint32_t)attr->max_recv_iov);
	if (err) {
		dpr_dtoq_fini(&sq);
		return -err;
	}
	dpr_dtoq_fini(&ep->sq);
	dpr_dtoq_fini(&ep->rq);
	ep->sq = sq;
	ep->rq = rq;
	return 0;
}

/* Clears the fields of the slot's former endpoint. */
static void clear(struct dpr_ep *ep, struct dpr_srq *srq) UT_NO_TSA;
static void clear(struct dpr_ep *ep, struct dpr_srq *srq)
{
	ep->pz = NULL;
	ep->last_lmr = NULL;
	ep->recv = ep->request = ep->connect = NULL;
	ep->srq = srq;
	ep->made_here = false;
	ep->conn = NULL;
	ep->qp = NULL;
	ut_list_init(&ep->uds);
	ep->ending = false;
	ep->inline_max = 0;
	ep->soft_armed = ep->soft_due = false;
	ep->taken = 0;
	ep->soft = ep->hard = DAT_WATERMARK_INFINITE;
	atomic_store(&ep->qpn, 0);
	atomic_store(&ep->early, false);
	atomic_store(&ep->failed, false);
	memset(&ep->sq, 0, sizeof(ep->sq));
	memset(&ep->rq, 0, sizeof(ep->rq));
	memset(ep->counters, 0, sizeof(ep->counters));
	memset(ep->counted, 0, sizeof(ep->counted));
}

static struct dpr_ep *ep_new(struct dpr_ia *ia, const DAT_EP_ATTR *attr, struct dpr_srq *srq)
{
	struct dpr_ep *ep = dpr_obj_new(ia, DPR_EP);

	if (!ep)
		return NULL;
	ut_lock(&ep->lock);
	clear(ep, srq);
	ep->attr = *attr;
	ep->state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;
	ut_unlock(&ep->lock);
	return ep;
}

static void settle(struct dpr_ep *ep, const struct dpr_ep_parts *p)
{
	ut_lock(&ep->lock);
	ep->pz = p->pz;
	ep->recv = p->recv;
	ep->request = p->request;
	ep->connect = p->connect;
	if (dpr_ep_configured(ep))
		ep->state = DAT_EP_STATE_UNCONNECTED;
	if (ep->srq && ep->attr.srq_soft_hw > 0) {
		ep->soft = ep->attr.srq_soft_hw;
		ep->soft_armed = true;
	}
	ut_unlock(&ep->lock);
}

static DAT_RETURN make(struct dpr_ia *ia, const struct dpr_ep_parts *p, struct dpr_srq *srq,
		       const DAT_EP_ATTR *attr, struct dpr_ep **ret)
{
	struct dpr_ep *ep = ep_new(ia, attr, srq);
	DAT_RETURN r;
	int err;

	if (!ep)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (srq) {
		dpr_use(&srq->obj);
		dpr_obj_hold(&srq->obj);
	}
	ut_lock(&ep->lock);
	err = dpr_ep_queues(ep, attr);
	ut_unlock(&ep->lock);
	r = err ? DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
		: dpr_parts_take(p, attr);
	if (r) {
		dpr_ep_finish(ep);
		return r;
	}
	settle(ep, p);
	dpr_count(&ia->counters[DCNT_IA_EP_CREATE], 1);
	*ret = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN create(DAT_IA_HANDLE handle, const DAT_HANDLE parts[4], DAT_SRQ_HANDLE srq_handle,
			 bool with_srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ret)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_srq *srq = with_srq ? dpr_srq_of(srq_handle) : NULL;
	DAT_RETURN_SUBTYPE arg = with_srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6;
	struct dpr_ep_parts p;
	DAT_EP_ATTR granted;
	struct dpr_ep *ep;
	DAT_RETURN r;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	r = dpr_parts_find(ia, parts[0], parts[1], parts[2], parts[3], &p);
	if (r)
		return r;
	if (with_srq && (!srq || srq->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
	r = dpr_ep_attr(ia, attr, arg, &granted);
	if (!r)
		r = make(ia, &p, srq, &granted, &ep);
	if (!r)
		*ret = (DAT_EP_HANDLE)ep;
	return r;
}

DAT_RETURN dpr_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			 DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep)
{
	const DAT_HANDLE parts[] = { pz, recv, request, connect };

	return create(ia, parts, NULL, false, attr, ep);
}

DAT_RETURN dpr_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				  DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	const DAT_HANDLE parts[] = { pz, recv, request, connect };

	return create(ia, parts, srq, true, attr, ep);
}

struct dpr_ep *dpr_ep_for_request(struct dpr_ia *ia)
{
	const struct dpr_ep_parts none = { NULL, NULL, NULL, NULL };
	struct dpr_ep *ep = NULL;
	DAT_EP_ATTR attr;

	if (dpr_ep_attr(ia, NULL, DAT_NO_SUBTYPE, &attr) || make(ia, &none, NULL, &attr, &ep))
		return NULL;
	ut_lock(&ep->lock);
	ep->made_here = true;
	dpr_ep_apply(ep, DPR_ON_REQUEST);
	ut_unlock(&ep->lock);
	return ep;
}

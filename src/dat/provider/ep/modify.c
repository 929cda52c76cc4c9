/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/modify.h"

#include "dat/core/modify.h"
#include "dat/core/state.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/ep/attr.h"
#include "dat/provider/ep/create.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>

static DAT_RETURN parts(struct dpr_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *q,
			struct dpr_ep_parts *p) UT_REQUIRES(ep->lock)
{
	return dpr_parts_find(
		ep->obj.ia,
		mask & DAT_EP_FIELD_PZ_HANDLE ? q->pz_handle : (DAT_PZ_HANDLE)ep->pz,
		mask & DAT_EP_FIELD_RECV_EVD_HANDLE ? q->recv_evd_handle
						    : (DAT_EVD_HANDLE)ep->recv,
		mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ? q->request_evd_handle
						       : (DAT_EVD_HANDLE)ep->request,
		mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ? q->connect_evd_handle
						       : (DAT_EVD_HANDLE)ep->connect,
		p);
}

/* A queue in which receives wait keeps its size, since their records have segments. */
static DAT_RETURN resize(struct dpr_ep *ep, const DAT_EP_ATTR *to) UT_REQUIRES(ep->lock)
{
	if (!dpr_modify_resizes(&ep->attr, to))
		return DAT_SUCCESS;
	if (dpr_dtoq_used(&ep->rq))
		return DPR_ERR(DAT_INVALID_STATE, dpr_ep_state_name(ep->state));
	return dpr_ep_queues(ep, to) ? DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY)
				     : DAT_SUCCESS;
}

static void settle(struct dpr_ep *ep, const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr)
	UT_REQUIRES(ep->lock)
{
	ep->pz = p->pz;
	ep->recv = p->recv;
	ep->request = p->request;
	ep->connect = p->connect;
	if (ep->srq && attr->srq_soft_hw != ep->attr.srq_soft_hw) {
		ep->soft = attr->srq_soft_hw;
		ep->soft_armed = attr->srq_soft_hw != DAT_HW_DEFAULT;
	}
	ep->attr = *attr;
	dpr_ep_apply(ep, DPR_DO_MODIFY_ATTR); /* ep may have become configured or unconfigured */
}

/* dpr_parts_take may sleep, which ep->lock allows. *old becomes what the caller drops. */
static DAT_RETURN change(struct dpr_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *q,
			 struct dpr_ep_parts *old, DAT_EP_ATTR *old_attr) UT_REQUIRES(ep->lock)
{
	DAT_EP_ATTR asked = ep->attr, to;
	struct dpr_ep_parts p;
	DAT_RETURN ret;

	ret = dpr_modify_legal(ep->state, mask);
	if (ret)
		return ret;
	dpr_modify_merge(&asked, &q->ep_attr, mask);
	ret = dpr_ep_attr(ep->obj.ia, &asked, DAT_INVALID_ARG3, &to);
	if (!ret)
		ret = parts(ep, mask, q, &p);
	if (!ret)
		ret = dpr_parts_take(&p, &to);
	if (ret)
		return ret;
	ret = resize(ep, &to);
	if (ret) {
		*old = p;
		*old_attr = to;
		return ret;
	}
	*old = dpr_ep_parts(ep);
	*old_attr = ep->attr;
	settle(ep, &p, &to);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct dpr_ep_parts drop = { NULL, NULL, NULL, NULL };
	struct dpr_ep *ep = dpr_ep_of(handle);
	DAT_EP_ATTR attr;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = dpr_modify_args(mask, param);
	if (ret)
		return ret;
	ut_lock(&ep->life);
	ut_lock(&ep->lock);
	ret = change(ep, mask, param, &drop, &attr);
	ut_unlock(&ep->lock);
	dpr_parts_drop(&drop, &attr);
	ut_unlock(&ep->life);
	return ret;
}

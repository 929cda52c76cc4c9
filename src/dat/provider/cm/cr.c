/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/cr.h"

#include "dat/provider/cm/active.h"
#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/sp.h"
#include "dat/provider/cm/sp_request.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/qp.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>

static void cr_close(struct dpr_obj *o);

const struct dpr_class dpr_cr_class = {
	.kind = DPR_CR,
	.type = DAT_HANDLE_TYPE_CR,
	.size = sizeof(struct dpr_cr),
	.close = cr_close,
};

static DAT_RETURN bad_cr(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
}

/* Returns the request for this thread to answer, or NULL if there is none or another thread answers
 * it. */
static struct dpr_cr *take(DAT_CR_HANDLE handle)
{
	struct dpr_cr *cr = dpr_cr_of(handle);

	if (!cr || atomic_exchange(&cr->taken, true))
		return NULL;
	return cr;
}

static void untake(struct dpr_cr *cr)
{
	atomic_store(&cr->taken, false);
}

/* The request is answered. */
static void done(struct dpr_cr *cr)
{
	if (!dpr_obj_kill(&cr->obj))
		return;
	dpr_conn_put(cr->conn);
	dpr_obj_put(&cr->obj);
}

static void cr_close(struct dpr_obj *o)
{
	struct dpr_cr *cr = (struct dpr_cr *)o;

	atomic_store(&cr->taken, true);
	dpr_conn_refuse(cr->conn);
	/* endpoints are closed after requests, whatever their state */
	if (cr->ep)
		dpr_obj_put(&cr->ep->obj);
	done(cr);
}

/* --- query --- */

DAT_RETURN dpr_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dpr_cr *cr = dpr_cr_of(handle);
	DAT_RETURN ret = dpr_query_args(cr, DAT_INVALID_HANDLE_CR,
					mask & ~DAT_CR_FIELD_ALL, param);

	if (ret)
		return ret;
	*param = (DAT_CR_PARAM){
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote,
		.remote_port_qual = ntohs(rdma_get_dst_port(cr->conn->id)),
		.private_data_size = cr->in.len,
		.private_data = cr->in.data,
		.local_ep_handle = (DAT_EP_HANDLE)cr->ep,
	};
	return DAT_SUCCESS;
}

/* --- accept --- */

static unsigned int answer_max(const struct dpr_cr *cr)
{
	if (cr->ud)
		return DPR_UD_REP;
	return cr->obj.ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REP;
}

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* The depths are those of the endpoint, and at most what the peer asked for. */
static int answer(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out)
	UT_REQUIRES(ep->lock)
{
	struct rdma_conn_param p = dpr_conn_param(&ep->attr, out);

	p.responder_resources = least(p.responder_resources, cr->responder_resources);
	p.initiator_depth = least(p.initiator_depth, cr->initiator_depth);
	return dpr_count_cm(cr->obj.ia, DCNT_IA_CM_REP_TX, rdma_accept(cr->conn->id, &p));
}

/* *err becomes a positive errno if the peer is gone, which the endpoint reports by an event. */
static DAT_RETURN join(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out,
		       int *err) UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret = dpr_ep_step(ep->state, DPR_DO_ACCEPT, dpr_ep_configured(ep)).ret;

	if (!ret && dpr_ep_is_ud(ep) != cr->ud)
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ret)
		ret = dpr_ep_make_qp(ep, cr->conn->id);
	if (ret)
		return ret;
	dpr_conn_hold(cr->conn);
	dpr_conn_join(cr->conn, ep);
	ep->conn = cr->conn;
	atomic_store(&ep->early, true);
	atomic_store(&ep->failed, false);
	dpr_ep_apply(ep, DPR_DO_ACCEPT);
	*err = atomic_load(&cr->conn->gone) ? ECONNRESET : answer(cr, ep, out);
	return DAT_SUCCESS;
}

static DAT_RETURN accept_with(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out)
{
	DAT_RETURN ret;
	int err = 0;

	ut_lock(&ep->life);
	if (cr->ud && dpr_ep_is_ud(ep)) {
		ret = dpr_ud_accept(cr, ep, out);
		ut_unlock(&ep->life);
		return ret;
	}
	ut_lock(&ep->lock);
	ret = join(cr, ep, out, &err);
	ut_unlock(&ep->lock);
	if (!ret && err)
		dpr_conn_failed(cr->conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	ut_unlock(&ep->life);
	return ret;
}

/* Returns the named endpoint, or the request's own. */
static struct dpr_ep *endpoint(struct dpr_cr *cr, DAT_EP_HANDLE handle)
{
	struct dpr_ep *ep = handle ? dpr_ep_of(handle) : cr->ep;

	if (!ep || ep->obj.ia != cr->obj.ia || (cr->ep && ep != cr->ep))
		return NULL;
	return ep;
}

static DAT_RETURN accept_taken(struct dpr_cr *cr, DAT_EP_HANDLE handle, DAT_COUNT size,
			       const void *data)
{
	struct dpr_ep *ep = endpoint(cr, handle);
	struct dpr_private out;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (size < 0 || (unsigned int)size > answer_max(cr))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!dpr_private_set(&out, size, data, answer_max(cr)))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return accept_with(cr, ep, &out);
}

DAT_RETURN dpr_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep, DAT_COUNT size,
			 const DAT_PVOID data)
{
	struct dpr_cr *cr = take(handle);
	DAT_RETURN ret;

	if (!cr)
		return bad_cr();
	ret = accept_taken(cr, ep, size, data);
	if (ret) {
		untake(cr);
		return ret;
	}
	dpr_count(&cr->obj.ia->counters[DCNT_IA_SP_CR_ACCEPTED], 1);
	if (cr->ep) {
		cr->ep->made_here = false; /* the consumer's from here on */
		dpr_obj_put(&cr->ep->obj);
	}
	done(cr);
	return DAT_SUCCESS;
}

/* --- reject --- */

static unsigned int reject_max(const struct dpr_cr *cr)
{
	if (cr->ud)
		return DPR_UD_REP;
	return cr->obj.ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REJ - DPR_REJ_HEADER;
}

/* The peer may have gone meanwhile: then the result of rdma_reject does not matter. */
DAT_RETURN dpr_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT size, const DAT_PVOID data)
{
	struct dpr_cr *cr = take(handle);
	struct dpr_private out;

	if (!cr)
		return bad_cr();
	if (!dpr_private_set(&out, size, data, reject_max(cr))) {
		bool fits = size >= 0 && (unsigned int)size <= reject_max(cr);

		untake(cr);
		return DPR_ERR(DAT_INVALID_PARAMETER, fits ? DAT_INVALID_ARG3 : DAT_INVALID_ARG2);
	}
	dpr_private_reject(&out, false);
	dpr_count_cm(cr->obj.ia, DCNT_IA_CM_USER_REJ_TX,
		     rdma_reject(cr->conn->id, out.data, out.len));
	dpr_count(&cr->obj.ia->counters[DCNT_IA_SP_CR_REJECTED], 1);
	if (cr->ep)
		dpr_cr_return_ep(cr->ep);
	done(cr);
	return DAT_SUCCESS;
}

/* --- handoff --- */

DAT_RETURN dpr_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct dpr_cr *cr = take(handle);
	struct dpr_sp *sp;
	bool ok;

	if (!cr)
		return bad_cr();
	sp = dpr_sp_find(cr->obj.ia, qual);
	if (!sp) {
		untake(cr);
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	ok = dpr_sp_offer(sp, cr->conn, cr);
	dpr_obj_put(&sp->obj);
	if (!ok) {
		untake(cr);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	}
	if (cr->ep)
		dpr_cr_return_ep(cr->ep);
	done(cr);
	return DAT_SUCCESS;
}

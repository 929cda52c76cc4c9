/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/rmr_bind.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/dto/status.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/rmr.h"
#include "dat/provider/mem/rmr_post.h"

#include <dat2/dat_ib_extensions.h>

static DAT_RETURN check_range(const struct dpr_bind *b)
{
	const struct dpr_lmr *l = b->lmr;
	uint64_t off = b->range.virtual_address - l->base;

	if (b->range.lmr_context != l->mr->lkey || off > l->length ||
	    b->range.segment_length > l->length - off)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static DAT_RETURN check_rights(const struct dpr_bind *b)
{
	unsigned int has = b->lmr->priv, want = b->priv;

	if (want & ~(unsigned int)(DAT_MEM_PRIV_ALL_FLAG | DPR_ATOMIC))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if ((want & DPR_ATOMIC) && b->lmr->obj.ia->dev.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if ((want & DAT_MEM_PRIV_REMOTE_READ_FLAG) && !(has & DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_READ);
	if ((want & (DAT_MEM_PRIV_REMOTE_WRITE_FLAG | DPR_ATOMIC)) &&
	    !(has & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	return DAT_SUCCESS;
}

static DAT_RETURN check_va(const struct dpr_bind *b)
{
	if (b->va != DAT_VA_TYPE_VA && b->va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	/* no window of type 1 can be zero based */
	if (b->va == DAT_VA_TYPE_ZB &&
	    (b->rmr->scope != DAT_RMR_SCOPE_EP || !b->rmr->obj.ia->zb_rmr))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN check(const struct dpr_bind *b)
{
	DAT_RETURN ret;

	if (!b->lmr)
		return DAT_SUCCESS;
	if (b->lmr->pz != b->rmr->pz)
		return DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	ret = check_range(b);
	if (ret == DAT_SUCCESS)
		ret = check_rights(b);
	return ret == DAT_SUCCESS ? check_va(b) : ret;
}

/* An unbound window of type 2 is unbound: nothing to ask the device for. */
static bool nothing_to_do(struct dpr_ep *ep, const struct dpr_bind *b) UT_REQUIRES(ep->lock)
{
	bool bound;

	if (b->lmr || b->rmr->scope != DAT_RMR_SCOPE_EP || ep->state != DAT_EP_STATE_CONNECTED)
		return false;
	ut_lock(&b->rmr->lock);
	bound = dpr_binding_before(b->rmr);
	ut_unlock(&b->rmr->lock);
	return !bound;
}

static void succeed(struct dpr_ep *ep, const struct dpr_bind *b) UT_REQUIRES(ep->lock)
{
	DAT_EVENT ev;

	if (b->req.flags & DAT_COMPLETION_SUPPRESS_FLAG)
		return;
	dpr_dto_fill(&ev, ep, DPR_OP_UNBIND, b->req.cookie, DAT_DTO_SUCCESS, 0, b->rmr);
	dpr_evd_push(ep->request, &ev, !(b->req.flags & DAT_COMPLETION_UNSIGNALLED_FLAG), false);
}

static DAT_RETURN bind_on(struct dpr_ep *ep, struct dpr_bind *b) UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret = dpr_request_ready(ep, &b->req, b->rmr->scope == DAT_RMR_SCOPE_EP ? 2 : 1);
	bool flush = false;
	int slot = -1;

	if (ret != DAT_SUCCESS)
		return ret;
	if (ep->pz != b->rmr->pz)
		return DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (!dpr_evd_takes(ep->request, DAT_EVD_RMR_BIND_FLAG))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
	if (nothing_to_do(ep, b)) {
		succeed(ep, b);
		return DAT_SUCCESS;
	}
	dpr_obj_hold(&b->rmr->obj); /* the record's */
	ut_lock(&b->rmr->lock);
	ret = dpr_bind_post(ep, b, &flush, &slot);
	ut_unlock(&b->rmr->lock);
	if (ret != DAT_SUCCESS)
		dpr_obj_put(&b->rmr->obj);
	else if (flush)
		dpr_request_flush(ep, &b->req, b->rmr, (unsigned int)slot);
	return ret;
}

DAT_RETURN dpr_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *range,
			DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_EP_HANDLE handle,
			DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_bind b = {
		.req = { .cookie = cookie, .flags = flags, .flags_arg = 8 },
		.rmr = dpr_rmr_of(rmr),
		.priv = (unsigned int)priv,
		.va = va,
	};
	DAT_RETURN ret;

	if (!b.rmr)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	if (!range)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	b.range = *range;
	b.req.op = range->segment_length ? DPR_OP_BIND : DPR_OP_UNBIND;
	if (range->segment_length) {
		b.lmr = (struct dpr_lmr *)dpr_obj_of(lmr, DPR_LMR);
		if (!b.lmr || b.lmr->obj.ia != b.rmr->obj.ia)
			return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	}
	if (!ep || ep->obj.ia != b.rmr->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (b.lmr && !context)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	ret = check(&b);
	if (ret != DAT_SUCCESS)
		return ret;
	ut_lock(&ep->lock);
	ret = bind_on(ep, &b);
	ut_unlock(&ep->lock);
	if (ret == DAT_SUCCESS && context)
		*context = b.rkey;
	return ret;
}

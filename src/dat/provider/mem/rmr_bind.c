/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/rmr_bind.h"

#include "dat/core/segment.h"
#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/dto/status.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/rmr.h"

#include <dat2/dat_ib_extensions.h>

struct bind {
	struct dpr_request req;
	struct dpr_rmr *rmr;
	struct dpr_lmr *lmr; /* NULL: an unbind */
	DAT_LMR_TRIPLET range;
	unsigned int priv;
	DAT_VA_TYPE va;
	DAT_RMR_CONTEXT rkey; /* the result */
};

/* --- posting --- */

/*
 * Returns the binding that the next bind replaces in the order of the device; NULL: unbound then.
 */
static struct dpr_binding *before(struct dpr_rmr *r) UT_REQUIRES(r->lock)
{
	struct dpr_binding *b = r->latest >= 0 ? &r->binding[r->latest] : NULL;

	return b && b->lmr && !b->dead ? b : NULL;
}

static unsigned int window_access(unsigned int priv)
{
	return (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG ? IBV_ACCESS_REMOTE_READ : 0) |
	       (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (priv & DPR_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static struct ibv_mw_bind_info info_of(const struct bind *b)
{
	struct ibv_mw_bind_info info = { 0 };

	if (b->lmr)
		info = (struct ibv_mw_bind_info){
			.mr = b->lmr->mr,
			.addr = b->range.virtual_address,
			.length = b->range.segment_length,
			.mw_access_flags = window_access(b->priv) |
					   (b->va == DAT_VA_TYPE_ZB ? IBV_ACCESS_ZERO_BASED : 0),
		};
	return info;
}

static int post_type1(struct dpr_ep *ep, struct bind *b, unsigned int slot)
	UT_REQUIRES(ep->lock)
{
	struct dpr_dto *d = dpr_request_record(ep, &b->req, 0);
	struct ibv_mw_bind wr = {
		.wr_id = (uintptr_t)d,
		.send_flags = dpr_request_flags(ep, &b->req),
		.bind_info = info_of(b),
	};
	int err;

	d->rmr = b->rmr;
	d->binding = (uint8_t)slot;
	ep->sq.head++;
	err = ibv_bind_mw(ep->qp, b->rmr->mw, &wr);
	if (err)
		ep->sq.head--;
	else
		b->rkey = b->lmr ? b->rmr->mw->rkey : 0;
	return err;
}

/*
 * Posts the consumer's request, behind the invalidation of the bound slot `old` unless that is -1.
 */
static int post_type2(struct dpr_ep *ep, struct bind *b, unsigned int slot, int old,
		      DAT_RMR_CONTEXT old_key, uint32_t new_key) UT_REQUIRES(ep->lock)
{
	struct dpr_request step = { .op = DPR_OP_INVALIDATE,
				    .flags = DAT_COMPLETION_SUPPRESS_FLAG };
	struct ibv_send_wr *bad, inv = {
		.next = b->lmr ? &b->req.wr : NULL,
		.opcode = IBV_WR_LOCAL_INV,
		.invalidate_rkey = old_key,
	};
	uint32_t head = ep->sq.head;
	struct dpr_dto *d;
	int err;

	if (b->lmr && old >= 0) {
		d = dpr_request_record(ep, &step, 0);
		d->rmr = b->rmr;
		d->binding = (uint8_t)old;
		inv.wr_id = (uintptr_t)d;
		inv.send_flags = dpr_request_flags(ep, &step);
		dpr_obj_hold(&b->rmr->obj);
		atomic_fetch_add(&ep->sq.inner, 1);
		ep->sq.head++;
	}
	d = dpr_request_record(ep, &b->req, 0);
	d->rmr = b->rmr;
	d->binding = (uint8_t)slot;
	ep->sq.head++;
	b->req.wr.wr_id = (uintptr_t)d;
	b->req.wr.send_flags = dpr_request_flags(ep, &b->req);
	b->req.wr.opcode = IBV_WR_BIND_MW;
	b->req.wr.bind_mw.mw = b->rmr->mw;
	b->req.wr.bind_mw.rkey = new_key;
	b->req.wr.bind_mw.bind_info = info_of(b);
	if (!b->lmr) {
		inv.wr_id = b->req.wr.wr_id;
		inv.send_flags = b->req.wr.send_flags;
	}
	b->rkey = b->lmr ? new_key : 0;
	err = ibv_post_send(ep->qp, old >= 0 ? &inv : &b->req.wr, &bad);
	if (!err)
		return 0;
	ep->sq.head--;
	if (!b->lmr || old < 0)
		return err;
	/* only the invalidation was posted: its record, of the old binding, stays */
	if (bad == &b->req.wr)
		return err;
	ep->sq.head = head;
	atomic_fetch_sub(&ep->sq.inner, 1);
	dpr_obj_put(&b->rmr->obj);
	return err;
}

/* Fills the slot of the new binding, with a use and a reference of its region. */
static void fill(struct dpr_ep *ep, struct bind *b, int slot) UT_NO_TSA;
static void fill(struct dpr_ep *ep, struct bind *b, int slot)
{
	struct dpr_binding *to = &b->rmr->binding[slot];

	to->lmr = b->lmr;
	to->ep = b->rmr->scope == DAT_RMR_SCOPE_EP ? ep : NULL;
	to->range = b->range;
	to->priv = (DAT_MEM_PRIV_FLAGS)b->priv;
	to->va = b->va;
	if (b->lmr) {
		dpr_use(&b->lmr->obj);
		dpr_obj_hold(&b->lmr->obj);
	}
}

static int post_on(struct dpr_ep *ep, struct bind *b, int slot) UT_REQUIRES(ep->lock)
	UT_REQUIRES(b->rmr->lock) UT_NO_TSA;
static int post_on(struct dpr_ep *ep, struct bind *b, int slot)
{
	struct dpr_rmr *r = b->rmr;
	struct dpr_binding *old = before(r);
	int err, latest = r->latest;

	r->latest = slot;
	if (r->scope == DAT_RMR_SCOPE_PZ)
		err = post_type1(ep, b, (unsigned int)slot);
	else
		err = post_type2(ep, b, (unsigned int)slot, old ? latest : -1, old ? old->rkey : 0,
				 r->next_key);
	if (err) {
		r->latest = latest;
		ep->sq.quiet_run = ep->sq.limit; /* the next request is signalled */
		return err;
	}
	r->next_key = ibv_inc_rkey(r->next_key);
	r->binding[slot].rkey = b->rkey;
	if (b->rkey)
		dpr_key_add(&r->binding[slot].key, r->obj.ia, DPR_KEY_REMOTE, b->rkey, &r->obj);
	return 0;
}

static DAT_RETURN post(struct dpr_ep *ep, struct bind *b, bool *flush, int *slot)
	UT_REQUIRES(ep->lock) UT_REQUIRES(b->rmr->lock) UT_NO_TSA;
static DAT_RETURN post(struct dpr_ep *ep, struct bind *b, bool *flush, int *slot)
{
	struct dpr_rmr *r = b->rmr;
	struct dpr_binding *old = before(r);
	int err;

	if (old && old->ep && old->ep != ep)
		return DPR_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	*slot = dpr_binding_take(r);
	if (*slot < 0)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	fill(ep, b, *slot);
	*flush = !ep->qp || (!b->lmr && !old && r->scope == DAT_RMR_SCOPE_EP);
	if (*flush)
		return DAT_SUCCESS;
	err = post_on(ep, b, *slot);
	*flush = err && ep->state == DAT_EP_STATE_DISCONNECTED;
	if (!err || *flush)
		return DAT_SUCCESS;
	dpr_binding_end(r, *slot);
	return dpr_post_error(err);
}

/* --- the call --- */

static DAT_RETURN check_range(const struct bind *b)
{
	const struct dpr_lmr *l = b->lmr;
	uint64_t off = b->range.virtual_address - l->base;

	if (b->range.lmr_context != l->mr->lkey || off > l->length ||
	    b->range.segment_length > l->length - off)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static DAT_RETURN check_rights(const struct bind *b)
{
	unsigned int has = b->lmr->priv, want = b->priv;

	if ((want & DPR_ATOMIC) && b->lmr->obj.ia->dev.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return dpr_segment_bind(has, want, DPR_ATOMIC);
}

static DAT_RETURN check_va(const struct bind *b)
{
	if (b->va != DAT_VA_TYPE_VA && b->va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	/* windows of type 1 cannot be zero based */
	if (b->va == DAT_VA_TYPE_ZB &&
	    (b->rmr->scope != DAT_RMR_SCOPE_EP || !b->rmr->obj.ia->zb_rmr))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static DAT_RETURN check(const struct bind *b)
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

/* Returns true if an unbound window of type 2 is unbound: the device has nothing to do. */
static bool nothing_to_do(struct dpr_ep *ep, const struct bind *b) UT_REQUIRES(ep->lock)
{
	bool bound;

	if (b->lmr || b->rmr->scope != DAT_RMR_SCOPE_EP || ep->state != DAT_EP_STATE_CONNECTED)
		return false;
	ut_lock(&b->rmr->lock);
	bound = before(b->rmr);
	ut_unlock(&b->rmr->lock);
	return !bound;
}

static void succeed(struct dpr_ep *ep, const struct bind *b) UT_REQUIRES(ep->lock)
{
	DAT_EVENT ev;

	if (b->req.flags & DAT_COMPLETION_SUPPRESS_FLAG)
		return;
	dpr_dto_fill(&ev, ep, DPR_OP_UNBIND, b->req.cookie, DAT_DTO_SUCCESS, 0, b->rmr);
	dpr_evd_push(ep->request, &ev, !(b->req.flags & DAT_COMPLETION_UNSIGNALLED_FLAG), false);
}

static DAT_RETURN bind_on(struct dpr_ep *ep, struct bind *b) UT_REQUIRES(ep->lock)
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
	dpr_obj_hold(&b->rmr->obj); /* the record's reference */
	ut_lock(&b->rmr->lock);
	ret = post(ep, b, &flush, &slot);
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
	struct bind b = {
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

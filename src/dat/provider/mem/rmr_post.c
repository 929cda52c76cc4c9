/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/rmr_post.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"

/* Whose binding the next one follows on, in the order the device will see. */
struct dpr_binding *dpr_binding_before(struct dpr_rmr *r)
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

static struct ibv_mw_bind_info info_of(const struct dpr_bind *b)
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

static int post_type1(struct dpr_ep *ep, struct dpr_bind *b, unsigned int slot)
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

/* The consumer's request alone, or behind the invalidation of what is bound. */
static int post_type2(struct dpr_ep *ep, struct dpr_bind *b, unsigned int slot, int old,
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
	/* the invalidation alone went through, and stays: its record is that of the old binding */
	if (bad == &b->req.wr)
		return err;
	ep->sq.head = head;
	atomic_fetch_sub(&ep->sq.inner, 1);
	dpr_obj_put(&b->rmr->obj);
	return err;
}

/* The slot of what will be shown; held and used region, context known. */
static void fill(struct dpr_ep *ep, struct dpr_bind *b, int slot) UT_NO_TSA;
static void fill(struct dpr_ep *ep, struct dpr_bind *b, int slot)
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

static int post_on(struct dpr_ep *ep, struct dpr_bind *b, int slot) UT_REQUIRES(ep->lock)
	UT_REQUIRES(b->rmr->lock) UT_NO_TSA;
static int post_on(struct dpr_ep *ep, struct dpr_bind *b, int slot)
{
	struct dpr_rmr *r = b->rmr;
	struct dpr_binding *old = dpr_binding_before(r);
	int err, latest = r->latest;

	r->latest = slot;
	if (r->scope == DAT_RMR_SCOPE_PZ)
		err = post_type1(ep, b, (unsigned int)slot);
	else
		err = post_type2(ep, b, (unsigned int)slot, old ? latest : -1, old ? old->rkey : 0,
				 r->next_key);
	if (err) {
		r->latest = latest;
		ep->sq.quiet_run = ep->sq.limit; /* the turn to signal may be lost */
		return err;
	}
	r->next_key = ibv_inc_rkey(r->next_key);
	r->binding[slot].rkey = b->rkey;
	if (b->rkey)
		dpr_key_add(&r->binding[slot].key, r->obj.ia, DPR_KEY_REMOTE, b->rkey, &r->obj);
	return 0;
}

DAT_RETURN dpr_bind_post(struct dpr_ep *ep, struct dpr_bind *b, bool *flush, int *slot)
{
	struct dpr_rmr *r = b->rmr;
	struct dpr_binding *old = dpr_binding_before(r);
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

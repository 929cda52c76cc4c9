// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/rmr.h"

#include "dat/core/segment.h"
#include "kdapl/ep.h"
#include "kdapl/post.h"

/* Frees a slot. Returns the region whose use the caller drops, with no lock held. Called with r->lock held. */
static struct kdp_lmr *empty(struct kdp_rmr *r, unsigned int i)
{
	struct kdp_lmr *l = r->slot[i].lmr;

	r->slot[i].lmr = NULL;
	if (r->latest == (int)i)
		r->latest = -1;
	return l;
}

static void drop(struct kdp_rmr *r, unsigned int i, bool failed)
{
	struct kdp_lmr *l;
	unsigned long flags;
	u32 key;

	spin_lock_irqsave(&r->lock, flags);
	key = r->slot[i].rkey;
	/* what a bind that failed would have replaced is bound still */
	if (failed && r->latest == (int)i && r->slot[!i].lmr)
		r->latest = !i;
	l = empty(r, i);
	r->slot[i].rkey = 0;
	spin_unlock_irqrestore(&r->lock, flags);
	if (key)
		xa_erase_bh(&r->obj.ia->rmrs, key);
	if (l)
		kdp_unuse(&l->obj);
}

void kdp_rmr_done(struct kdp_rmr *r, unsigned int slot, bool registration, bool ok)
{
	/* A failed invalidation leaves the binding: the next bind, or the free, ends it. */
	if (registration != ok)
		drop(r, slot, registration);
	else if (!registration)
		WRITE_ONCE(r->latest, slot);
	kdp_obj_put(&r->obj);
}

void kdp_rmr_gone(struct kdp_ia *ia, u32 context)
{
	struct kdp_rmr *r;
	unsigned int i;

	rcu_read_lock();
	r = xa_load(&ia->rmrs, context);
	for (i = 0; r && i < KDP_SLOTS; i++)
		if (r->slot[i].rkey == context)
			drop(r, i, false);
	rcu_read_unlock();
}

DAT_RETURN kdp_rmr_local(struct kdp_ia *ia, struct kdp_pz *pz, const DAT_RMR_TRIPLET *t, struct ib_sge *sge)
{
	DAT_RETURN ret = DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
	struct kdp_rmr *r;
	unsigned int i;

	rcu_read_lock();
	r = xa_load(&ia->rmrs, t->rmr_context);
	for (i = 0; r && i < KDP_SLOTS; i++) {
		const struct kdp_binding *b = &r->slot[i];

		if (b->rkey != t->rmr_context || !b->lmr)
			continue;
		if (r->pz != pz) {
			ret = DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_WRITE);
		} else if (!(b->lmr->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)) {
			ret = DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE);
		} else if (!dpr_segment_within(b->base, b->range.segment_length, t->virtual_address,
					       t->segment_length)) {
			ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
		} else {
			sge->addr = b->range.virtual_address + (t->virtual_address - b->base);
			sge->length = t->segment_length;
			sge->lkey = b->lmr->lkey;
			ret = DAT_SUCCESS;
		}
	}
	rcu_read_unlock();
	return ret;
}

/* --- the object --- */

static void detach(struct kdp_obj *o)
{
	struct kdp_rmr *r = (struct kdp_rmr *)o;
	unsigned int i;

	for (i = 0; i < KDP_SLOTS; i++) {
		if (r->slot[i].mr)
			ib_dereg_mr(r->slot[i].mr);
		r->slot[i].mr = NULL;
		drop(r, i, false);
	}
}

static void finish(struct kdp_obj *o)
{
	kdp_unuse(&((struct kdp_rmr *)o)->pz->obj);
}

static void release(struct kdp_obj *o)
{
	unsigned int i;

	for (i = 0; i < KDP_SLOTS; i++)
		kvfree(((struct kdp_rmr *)o)->slot[i].pages.sg);
}

const struct kdp_class kdp_rmr_class = {
	.type = DAT_HANDLE_TYPE_RMR,
	.cache = "kdapl_rmr",
	.size = sizeof(struct kdp_rmr),
	.detach = detach,
	.finish = finish,
	.release = release,
};

static bool slot_init(struct kdp_binding *b, struct ib_pd *pd, unsigned int pages)
{
	b->pages.max = pages;
	b->pages.sg = kvcalloc(pages, sizeof(*b->pages.sg), GFP_KERNEL);
	if (!b->pages.sg)
		return false;
	b->mr = ib_alloc_mr(pd, IB_MR_TYPE_MEM_REG, pages);
	if (!IS_ERR(b->mr))
		return true;
	b->mr = NULL;
	return false;
}

static DAT_RETURN create(DAT_PZ_HANDLE handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *ret)
{
	struct kdp_pz *pz = kdp_pz_of(handle);
	struct kdp_rmr *r;
	unsigned int i;
	bool ok = true;

	if (!pz)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!kdp_ia_enter(pz->obj.ia))
		return kdp_removed();
	r = kdp_obj_new(pz->obj.ia, &kdp_rmr_class, false);
	if (r) {
		r->pz = pz;
		kdp_use(&pz->obj);
		spin_lock_init(&r->lock);
		r->latest = -1;
		r->scope = scope;
		for (i = 0; i < KDP_SLOTS && ok; i++)
			ok = slot_init(&r->slot[i], pz->pd, kdp_ia_max_pages(pz->obj.ia));
	}
	kdp_ia_leave(pz->obj.ia);
	if (r && ok) {
		*ret = (DAT_RMR_HANDLE)r;
		return DAT_SUCCESS;
	}
	if (r)
		kdp_obj_end(&r->obj, false);
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

DAT_RETURN kdp_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_PZ, rmr);
}

DAT_RETURN kdp_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_EP, rmr);
}

DAT_RETURN kdp_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	struct kdp_rmr *r = kdp_rmr_of(handle);
	DAT_RETURN ret = dpr_query_args(r, DAT_INVALID_HANDLE_RMR, mask & ~DAT_RMR_FIELD_ALL, param);
	unsigned long flags;

	if (ret)
		return ret;
	memset(param, 0, sizeof(*param));
	param->ia_handle = (DAT_IA_HANDLE)r->obj.ia;
	param->pz_handle = (DAT_PZ_HANDLE)r->pz;
	param->rmr_scope = r->scope;
	spin_lock_irqsave(&r->lock, flags);
	if (r->latest >= 0) {
		const struct kdp_binding *b = &r->slot[r->latest];

		param->lmr_triplet = b->range;
		param->mem_priv = b->priv;
		param->rmr_context = b->rkey;
		param->va_type = b->va;
	}
	spin_unlock_irqrestore(&r->lock, flags);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_rmr_free(DAT_RMR_HANDLE handle)
{
	struct kdp_rmr *r = kdp_rmr_of(handle);

	return r && kdp_obj_end(&r->obj, false) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
}

/* --- bind --- */

static DAT_RETURN check(const struct kdp_rmr *r, const struct kdp_lmr *l, const DAT_LMR_TRIPLET *range,
			unsigned int priv, DAT_VA_TYPE va)
{
	DAT_RETURN ret;

	if (l->pz != r->pz)
		return DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (!l->mr || range->lmr_context != l->lkey ||
	    !dpr_segment_within(l->base, l->length, range->virtual_address, range->segment_length))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dpr_segment_bind(l->priv | (l->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ? DAT_MEM_PRIV_LOCAL_READ_FLAG : 0),
			       priv, 0);
	if (ret)
		return ret;
	if (va != DAT_VA_TYPE_VA && va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	return DAT_SUCCESS;
}

/* Fills a free slot. Returns its number in *slot. */
static DAT_RETURN take_slot(struct kdp_rmr *r, struct kdp_lmr *l, const DAT_LMR_TRIPLET *range,
			    DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, int *slot)
{
	struct kdp_binding *b = NULL;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&r->lock, flags);
	for (i = 0; i < KDP_SLOTS && !b; i++) {
		if (r->slot[i].lmr)
			continue;
		b = &r->slot[i];
		b->lmr = l;
		*slot = i;
	}
	spin_unlock_irqrestore(&r->lock, flags);
	if (!b)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	kdp_use(&l->obj);
	b->range = *range;
	b->priv = priv;
	b->va = va;
	b->base = va == DAT_VA_TYPE_ZB ? 0 : range->virtual_address;
	if (!b->mr || !kdp_pages_part(&l->pages, range->virtual_address - l->base, range->segment_length, &b->pages)) {
		drop(r, *slot, true);
		return kdp_removed();
	}
	if (offset_in_page(b->base) != offset_in_page(b->pages.base)) {
		drop(r, *slot, true);
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	}
	if (kdp_pages_to_mr(r->obj.ia, &b->pages, b->mr, b->base)) {
		drop(r, *slot, true);
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	ib_update_fast_reg_key(b->mr, ib_inc_rkey(b->mr->rkey));
	if (xa_is_err(xa_store_bh(&r->obj.ia->rmrs, b->mr->rkey, r, GFP_ATOMIC))) {
		drop(r, *slot, true);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	b->rkey = b->mr->rkey;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_rmr_bind(DAT_RMR_HANDLE handle, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *range,
			DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct kdp_rmr *r = kdp_rmr_of(handle);
	struct kdp_ep *ep = kdp_ep_of(ep_handle);
	struct kdp_lmr *l = NULL;
	int fresh = -1, old;
	DAT_RETURN ret;

	if (!r)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	if (!range)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (range->segment_length) {
		l = kdp_lmr_of(lmr);
		if (!l || l->obj.ia != r->obj.ia)
			return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	}
	if (!ep || ep->obj.ia != r->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (l && !context)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	ret = l ? check(r, l, range, priv, va) : DAT_SUCCESS;
	if (ret)
		return ret;
	old = READ_ONCE(r->latest);
	if (l)
		ret = take_slot(r, l, range, priv, va, &fresh);
	if (ret)
		return ret;
	ret = kdp_post_bind(ep, r, old, fresh, cookie, flags);
	if (ret && fresh >= 0)
		drop(r, fresh, true);
	if (ret)
		return ret;
	if (context)
		*context = fresh >= 0 ? r->slot[fresh].rkey : 0;
	return DAT_SUCCESS;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/mem.h"

#include "dat/core/segment.h"
#include "kdapl/ep.h"
#include "kdapl/pages.h"
#include "kdapl/post.h"
#include "kdapl/reg.h"
#include "kdapl/rmr.h"

/* --- zones --- */

static void pz_detach(struct kdp_obj *o)
{
	struct kdp_pz *pz = (struct kdp_pz *)o;

	kdp_reg_end(pz);
	ib_dealloc_pd(pz->pd);
	pz->pd = NULL;
}

const struct kdp_class kdp_pz_class = {
	.type = DAT_HANDLE_TYPE_PZ,
	.cache = "kdapl_pz",
	.size = sizeof(struct kdp_pz),
	.detach = pz_detach,
};

DAT_RETURN kdp_pz_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE *ret)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_pz *pz;
	struct ib_pd *pd;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!kdp_ia_enter(ia))
		return kdp_removed();
	pd = ib_alloc_pd(ia->ib, 0);
	pz = IS_ERR(pd) ? NULL : kdp_obj_new(ia, &kdp_pz_class, false);
	if (pz) {
		pz->pd = pd;
		pz->dma_lkey = pd->local_dma_lkey;
		mutex_init(&pz->reg_lock);
		*ret = (DAT_PZ_HANDLE)pz;
	} else if (!IS_ERR(pd)) {
		ib_dealloc_pd(pd);
	}
	kdp_ia_leave(ia);
	return pz ? DAT_SUCCESS : DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
}

DAT_RETURN kdp_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct kdp_pz *pz = kdp_pz_of(handle);
	DAT_RETURN ret = dpr_query_args(pz, DAT_INVALID_HANDLE_PZ, mask & ~DAT_PZ_FIELD_ALL, param);

	if (!ret)
		param->ia_handle = (DAT_IA_HANDLE)pz->obj.ia;
	return ret;
}

DAT_RETURN kdp_pz_free(DAT_PZ_HANDLE handle)
{
	struct kdp_pz *pz = kdp_pz_of(handle);

	if (!pz)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	return kdp_obj_end(&pz->obj, true) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
}

/* --- segments --- */

static struct kdp_lmr **near(struct kdp_ia *ia, u32 key)
{
	return &ia->near[(key >> 8) % KDP_NEAR];
}

static const struct kdp_lmr *find(struct kdp_ia *ia, u32 key)
{
	const struct kdp_lmr *l = READ_ONCE(*near(ia, key));

	return l && l->lkey == key ? l : xa_load(&ia->lmrs, key);
}

DAT_RETURN kdp_segments(struct kdp_ia *ia, struct kdp_pz *pz, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			DAT_MEM_PRIV_FLAGS need, struct ib_sge *sge, int *n_sge, u64 *bytes)
{
	u64 sum = 0;
	int used = 0;
	DAT_COUNT i;

	/* as rcu_read_lock() does, interrupts that are off keep the memory of regions */
	lockdep_assert_irqs_disabled();
	for (i = 0; i < n; i++) {
		const DAT_LMR_TRIPLET *t = &iov[i];
		u32 key = t->lmr_context;

		if (!t->segment_length)
			continue;
		if (key == KDP_RESERVED_CONTEXT) {
			key = pz->dma_lkey;
		} else {
			const struct kdp_lmr *l = find(ia, key);
			DAT_RETURN ret = l ? dpr_segment_check(l->base, l->length, l->priv, l->pz == pz, t, need)
					   : dpr_segment_refuse(DAT_PRIVILEGES_VIOLATION, need);

			if (ret)
				return ret;
		}
		sge[used++] = (struct ib_sge){ .addr = t->virtual_address, .length = t->segment_length, .lkey = key };
		sum += t->segment_length;
	}
	*n_sge = used;
	*bytes = sum;
	return sum > U32_MAX ? DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE) : DAT_SUCCESS;
}

int kdp_access(const struct kdp_ia *ia, unsigned int priv)
{
	return (priv & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG) ? IB_ACCESS_LOCAL_WRITE : 0) |
	       (priv & DAT_MEM_PRIV_REMOTE_READ_FLAG ? IB_ACCESS_REMOTE_READ : 0) |
	       (priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG ? IB_ACCESS_REMOTE_WRITE : 0);
}

/* --- regions --- */

static void forget_key(struct kdp_lmr *l)
{
	struct kdp_ia *ia = l->obj.ia;

	if (l->lkey) {
		xa_lock_bh(&ia->lmrs);
		__xa_erase(&ia->lmrs, l->lkey);
		if (*near(ia, l->lkey) == l)
			WRITE_ONCE(*near(ia, l->lkey), NULL);
		xa_unlock_bh(&ia->lmrs);
	}
	WRITE_ONCE(l->lkey, 0);
	l->rkey = 0;
}

static void lmr_detach(struct kdp_obj *o)
{
	struct kdp_lmr *l = (struct kdp_lmr *)o;

	forget_key(l);
	if (l->mr)
		ib_dereg_mr(l->mr);
	l->mr = NULL;
	kdp_pages_unmap(o->ia, &l->pages);
}

static void lmr_finish(struct kdp_obj *o)
{
	struct kdp_lmr *l = (struct kdp_lmr *)o;

	if (l->pz)
		kdp_unuse(&l->pz->obj);
	l->pz = NULL;
}

static void lmr_release(struct kdp_obj *o)
{
	kvfree(((struct kdp_lmr *)o)->pages.sg);
}

const struct kdp_class kdp_lmr_class = {
	.type = DAT_HANDLE_TYPE_LMR,
	.cache = "kdapl_lmr",
	.size = sizeof(struct kdp_lmr),
	.detach = lmr_detach,
	.finish = lmr_finish,
	.release = lmr_release,
};

unsigned int kdp_ia_max_pages(const struct kdp_ia *ia)
{
	return ia->attrs.max_fast_reg_page_list_len;
}

/* Returns a region without memory, with a memory region of verbs for `pages` pages, or NULL. */
static struct kdp_lmr *lmr_new(struct kdp_ia *ia, struct kdp_pz *pz, unsigned int pages, bool verbs)
{
	struct kdp_lmr *l = kdp_obj_new(ia, &kdp_lmr_class, false);

	if (!l)
		return NULL;
	spin_lock_init(&l->lock);
	l->pz = pz;
	kdp_use(&pz->obj);
	l->pages.sg = kvcalloc(pages, sizeof(*l->pages.sg), GFP_KERNEL);
	l->pages.max = pages;
	if (l->pages.sg && verbs)
		l->mr = ib_alloc_mr(pz->pd, IB_MR_TYPE_MEM_REG, pages);
	if (l->pages.sg && !IS_ERR(l->mr))
		return l;
	l->mr = NULL;
	kdp_obj_end(&l->obj, false);
	return NULL;
}

static unsigned int entries_of(struct kdp_ia *ia, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r, u64 length)
{
	u64 n = (length >> PAGE_SHIFT) + 2;

	if (type == DAT_MEM_TYPE_PLATFORM && r->for_platform.count > 0)
		n += r->for_platform.count;
	if (type == DAT_MEM_TYPE_PHYSICAL_VAR_PAGES && r->for_ranges.count > 0)
		n += r->for_ranges.count;
	return clamp_t(u64, n, 1, kdp_ia_max_pages(ia));
}

/* Fills l with memory and maps it: after this a registration may be posted. */
static DAT_RETURN give_memory(struct kdp_lmr *l, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r, u64 length,
			      DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_RETURN_SUBTYPE arg)
{
	struct kdp_ia *ia = l->obj.ia;
	struct kdp_lmr *other = NULL;
	DAT_RETURN ret;
	u64 iova;

	if (type == DAT_MEM_TYPE_LMR) {
		other = kdp_lmr_of(r->for_lmr_handle);
		if (!other || other->obj.ia != ia || !other->bound)
			return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	}
	ret = kdp_pages_fill(&l->pages, type, r, length, other ? &other->pages : NULL, arg);
	if (ret)
		return ret;
	iova = va == DAT_VA_TYPE_ZB ? 0 : l->pages.base;
	if (offset_in_page(iova) != offset_in_page(l->pages.base))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (kdp_pages_map(ia, &l->pages))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	if (kdp_pages_to_mr(ia, &l->pages, l->mr, iova)) {
		kdp_pages_unmap(ia, &l->pages);
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
	}
	ib_update_fast_reg_key(l->mr, ib_inc_rkey(l->mr->rkey));
	l->type = type;
	l->region = *r;
	l->priv = priv;
	l->va = va;
	l->base = iova;
	l->length = length;
	return DAT_SUCCESS;
}

/* Enters l by its new key, for posts behind the registration. */
static DAT_RETURN enter_key(struct kdp_lmr *l, gfp_t gfp)
{
	struct kdp_ia *ia = l->obj.ia;
	u32 key = l->mr->lkey;
	bool ok;

	xa_lock_bh(&ia->lmrs);
	ok = !xa_is_err(__xa_store(&ia->lmrs, key, l, gfp));
	if (ok) {
		WRITE_ONCE(l->lkey, key);
		smp_store_release(near(ia, key), l);
	}
	xa_unlock_bh(&ia->lmrs);
	if (!ok)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	l->rkey = l->mr->rkey;
	l->bound = true;
	return DAT_SUCCESS;
}

static void take_memory(struct kdp_lmr *l)
{
	forget_key(l);
	l->bound = false;
	l->length = 0;
	kdp_pages_unmap(l->obj.ia, &l->pages);
}

/* DAT_MEM_TYPE_BYPASS: one contiguous range, mapped but not registered. */
static DAT_RETURN bypass(struct kdp_lmr *l, const DAT_REGION_DESCRIPTION *r, u64 length, DAT_MEM_PRIV_FLAGS priv)
{
	void *va = r->for_va;

	if (priv & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!va || !virt_addr_valid(va) || length > UINT_MAX)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	sg_init_one(l->pages.sg, va, length);
	l->pages.n = 1;
	if (kdp_pages_map(l->obj.ia, &l->pages))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	l->type = DAT_MEM_TYPE_BYPASS;
	l->region = *r;
	l->priv = priv;
	l->base = sg_dma_address(l->pages.sg);
	l->length = length;
	l->bound = true;
	return DAT_SUCCESS;
}

static bool is_type(DAT_MEM_TYPE type)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
	case DAT_MEM_TYPE_LMR:
	case DAT_MEM_TYPE_PHYSICAL:
	case DAT_MEM_TYPE_PLATFORM:
	case DAT_MEM_TYPE_IA:
	case DAT_MEM_TYPE_BYPASS:
	case DAT_MEM_TYPE_PHYSICAL_VAR_PAGES: return true;
	}
	return false;
}

static DAT_RETURN create(struct kdp_ia *ia, struct kdp_pz *pz, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r,
			 u64 length, DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, struct kdp_lmr **ret)
{
	bool verbs = type != DAT_MEM_TYPE_BYPASS;
	struct kdp_lmr *l = lmr_new(ia, pz, verbs ? entries_of(ia, type, r, length) : 1, verbs);
	DAT_RETURN result;

	if (!l)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	result = verbs ? give_memory(l, type, r, length, priv, va, DAT_INVALID_ARG2) : bypass(l, r, length, priv);
	if (!result && verbs)
		result = enter_key(l, GFP_KERNEL);
	if (result)
		kdp_obj_end(&l->obj, false);
	else
		*ret = l;
	return result;
}

/* Gate held while the region is made, not while the work request runs: the helper's connection may need it. */
static DAT_RETURN make(struct kdp_ia *ia, struct kdp_pz *pz, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r,
		       u64 length, DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, struct kdp_lmr **ret)
{
	DAT_RETURN result;

	if (!kdp_ia_enter(ia))
		return kdp_removed();
	result = create(ia, pz, type, r, length, priv, va, ret);
	kdp_ia_leave(ia);
	if (result || type == DAT_MEM_TYPE_BYPASS)
		return result;
	result = kdp_reg_run(pz, *ret);
	if (result)
		kdp_obj_end(&(*ret)->obj, false);
	return result;
}

DAT_RETURN kdp_lmr_kcreate(DAT_IA_HANDLE handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			   DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va,
			   DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_pz *pz = kdp_pz_of(pz_handle);
	struct kdp_lmr *l;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!is_type(type))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!length)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!pz || pz->obj.ia != ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (priv & ~(DAT_MEM_PRIV_FLAGS)DAT_MEM_PRIV_ALL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (va != DAT_VA_TYPE_VA && va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (optimize & ~(DAT_MEM_OPTIMIZE_FLAGS)(DAT_MEM_OPTIMIZE_IA | DAT_MEM_OPTIMIZE_MIN_EXPOSURE |
						  DAT_MEM_OPTIMIZE_EXACT_EXPOSURE))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	if (!lmr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG9);
	ret = make(ia, pz, type, &region, length, priv, va, &l);
	if (ret)
		return ret;
	*lmr = (DAT_LMR_HANDLE)l;
	if (lmr_context)
		*lmr_context = l->mr ? l->lkey : KDP_RESERVED_CONTEXT;
	if (rmr_context)
		*rmr_context = l->rkey;
	if (registered_length)
		*registered_length = l->length;
	if (registered_address)
		*registered_address = l->base;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct kdp_lmr *l = kdp_lmr_of(handle);
	DAT_RETURN ret = dpr_query_args(l, DAT_INVALID_HANDLE_LMR, mask & ~DAT_LMR_FIELD_ALL, param);

	if (ret)
		return ret;
	*param = (DAT_LMR_PARAM){
		.ia_handle = (DAT_IA_HANDLE)l->obj.ia,
		.mem_type = l->type,
		.region_desc = l->region,
		.length = l->length,
		.pz_handle = (DAT_PZ_HANDLE)l->pz,
		.mem_priv = l->priv,
		.va_type = l->va,
		.lmr_context = l->lkey ? l->lkey : l->mr ? 0 : KDP_RESERVED_CONTEXT,
		.rmr_context = l->rkey,
		.registered_size = l->length,
		.registered_address = l->base,
		.lmr_state = { l->fmr ? DAT_TRUE : DAT_FALSE, l->bound ? DAT_TRUE : DAT_FALSE },
	};
	return DAT_SUCCESS;
}

DAT_RETURN kdp_lmr_free(DAT_LMR_HANDLE handle)
{
	struct kdp_lmr *l = kdp_lmr_of(handle);

	if (!l)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!l->pz)
		return DPR_ERR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE);
	return kdp_obj_end(&l->obj, true) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
}

/* --- fast registration --- */

DAT_RETURN kdp_lmr_allocate(DAT_IA_HANDLE handle, DAT_PZ_HANDLE pz_handle, DAT_COUNT pages, DAT_LMR_SCOPE scope,
			    DAT_LMR_HANDLE *lmr)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_pz *pz = kdp_pz_of(pz_handle);
	struct kdp_lmr *l;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (pages < 1 || (unsigned int)pages > kdp_ia_max_pages(ia))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (scope != DAT_LMR_SCOPE_PZ && scope != DAT_LMR_SCOPE_EP && scope != DAT_LMR_SCOPE_ANY)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	/* the kernel's regions belong to a protection domain; none can be tied to a queue pair */
	if (scope == DAT_LMR_SCOPE_EP)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!lmr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!kdp_ia_enter(ia))
		return kdp_removed();
	l = lmr_new(ia, pz, pages, true);
	kdp_ia_leave(ia);
	if (!l)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
	l->fmr = true;
	l->scope = scope;
	*lmr = (DAT_LMR_HANDLE)l;
	return DAT_SUCCESS;
}

/* Counts a work request. Returns false if one is under way, or the memory is not as expected. */
static bool reserve(struct kdp_lmr *l, bool bound)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&l->lock, flags);
	ok = !l->pending && l->bound == bound;
	if (ok)
		l->pending = 1;
	spin_unlock_irqrestore(&l->lock, flags);
	if (ok)
		kdp_use(&l->obj);
	return ok;
}

static void unreserve(struct kdp_lmr *l)
{
	unsigned long flags;

	spin_lock_irqsave(&l->lock, flags);
	l->pending = 0;
	spin_unlock_irqrestore(&l->lock, flags);
	kdp_unuse(&l->obj);
}

void kdp_lmr_done(struct kdp_lmr *l, bool registration, bool ok)
{
	/* a failed registration has no memory, a failed invalidation ended the connection but left it */
	if (registration ? !ok : ok)
		take_memory(l);
	unreserve(l);
}

void kdp_context_gone(struct kdp_ia *ia, u32 context)
{
	struct kdp_lmr *l, *found = NULL;
	unsigned long index;

	rcu_read_lock();
	l = xa_load(&ia->lmrs, context); /* both contexts of a registration are one number on most devices */
	if (l && l->rkey == context)
		found = l;
	if (!found)
		xa_for_each(&ia->lmrs, index, l)
			if (l->rkey == context)
				found = l;
	if (found)
		take_memory(found);
	rcu_read_unlock();
	if (!found)
		kdp_rmr_gone(ia, context);
}

static u64 length_of(DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r, DAT_VLEN pages)
{
	return type == DAT_MEM_TYPE_PHYSICAL ? pages * r->for_array.page_size : pages;
}

DAT_RETURN kdp_lmr_fmr(DAT_LMR_HANDLE handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN pages,
		       DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags, DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	struct kdp_lmr *l = kdp_lmr_of(handle);
	struct kdp_ep *ep = kdp_ep_of(ep_handle);
	DAT_RETURN ret;

	if (!l)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!is_type(type) || type == DAT_MEM_TYPE_BYPASS)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!pages)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (priv & ~(DAT_MEM_PRIV_FLAGS)DAT_MEM_PRIV_ALL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (va != DAT_VA_TYPE_VA && va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!ep || ep->obj.ia != l->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!l->fmr || !reserve(l, false))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	ret = l->mr ? give_memory(l, type, &region, length_of(type, &region, pages), priv, va, DAT_INVALID_ARG2)
		    : kdp_removed();
	if (!ret) {
		ret = enter_key(l, GFP_ATOMIC);
		if (!ret && lmr_context)
			*lmr_context = l->lkey;
		if (!ret && rmr_context)
			*rmr_context = l->rkey;
		if (!ret)
			ret = kdp_post_lmr(ep, DPR_OP_FMR, l, cookie, flags, 9);
		if (ret)
			take_memory(l);
	}
	if (ret)
		unreserve(l);
	return ret;
}

DAT_RETURN kdp_lmr_invalidate(DAT_LMR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_LMR_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags)
{
	struct kdp_lmr *l = kdp_lmr_of(handle);
	struct kdp_ep *ep = kdp_ep_of(ep_handle);
	DAT_RETURN ret;

	if (!l)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (!ep || ep->obj.ia != l->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!l->fmr || !reserve(l, true))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
	ret = kdp_post_lmr(ep, DPR_OP_LMR_INVALIDATE, l, cookie, flags, 4);
	if (ret)
		unreserve(l);
	return ret;
}

/* --- hints, the reserved region --- */

DAT_RETURN kdp_ia_memtype_hint(DAT_IA_HANDLE handle, DAT_MEM_TYPE type, DAT_VLEN length,
			       DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_VLEN *preferred_length,
			       DAT_VADDR *preferred_alignment)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	u64 most;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!is_type(type))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!length)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!preferred_length)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (!preferred_alignment)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!kdp_ia_enter(ia))
		return kdp_removed();
	most = type == DAT_MEM_TYPE_BYPASS ? UINT_MAX : (u64)kdp_ia_max_pages(ia) << PAGE_SHIFT;
	kdp_ia_leave(ia);
	*preferred_length = min_t(u64, optimize & DAT_MEM_OPTIMIZE_EXACT_EXPOSURE ? length : PAGE_ALIGN(length), most);
	*preferred_alignment = type == DAT_MEM_TYPE_BYPASS ? L1_CACHE_BYTES : PAGE_SIZE;
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ia_reserved_lmr(DAT_IA_HANDLE handle, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_lmr *l;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!lmr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!context)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	mutex_lock(&ia->obj.life);
	if (!ia->reserved) {
		l = kdp_obj_new(ia, &kdp_lmr_class, false);
		if (l) {
			spin_lock_init(&l->lock);
			l->type = DAT_MEM_TYPE_BYPASS;
			l->priv = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG;
			l->length = U64_MAX;
			l->bound = true;
		}
		ia->reserved = l;
	}
	l = ia->reserved;
	mutex_unlock(&ia->obj.life);
	if (!l)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	*lmr = (DAT_LMR_HANDLE)l;
	*context = KDP_RESERVED_CONTEXT;
	return DAT_SUCCESS;
}

/* Memory that is mapped is coherent on the platforms of this module: as lmr_sync_req says. */
DAT_RETURN kdp_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count)
{
	if (!kdp_ia_of(ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	return count && !segments ? DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2) : DAT_SUCCESS;
}

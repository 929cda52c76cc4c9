/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/lmr.h"

#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/mem/pz.h"
#include "dat/provider/mem/shared.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <string.h>

#define REMOTE_RIGHTS (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG | \
		       DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

static struct dpr_lmr *lmr_of(DAT_HANDLE h)
{
	return (struct dpr_lmr *)dpr_obj_of(h, DPR_LMR);
}

static void release(struct dpr_obj *o)
{
	struct dpr_lmr *l = (struct dpr_lmr *)o;

	if (l->mr)
		ibv_dereg_mr(l->mr);
	l->mr = NULL;
	if (l->shared >= 0)
		dpr_shared_leave(l->cookie, l->shared);
	l->shared = -1;
	dpr_unuse(&l->pz->obj);
	dpr_obj_put(&l->pz->obj);
}

static void finish(struct dpr_obj *o)
{
	struct dpr_lmr *l = (struct dpr_lmr *)o;

	if (!dpr_obj_kill(o))
		return;
	dpr_key_del(&l->key);
	dpr_count(&o->ia->counters[DCNT_IA_LMR_FREE], 1);
	dpr_obj_put(o);
}

const struct dpr_class dpr_lmr_class = {
	.kind = DPR_LMR,
	.type = DAT_HANDLE_TYPE_LMR,
	.size = sizeof(struct dpr_lmr),
	.release = release,
	.close = finish,
};

/* The arguments of dat_lmr_create, and the range they describe. */
struct ask {
	struct dpr_ia *ia;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN length;
	struct dpr_pz *pz;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	uint64_t addr;
};

static DAT_RETURN range(struct ask *a)
{
	uint64_t most = a->ia->dev.orig_attr.max_mr_size;

	if (!a->addr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!a->length || a->length > most || a->length - 1 > UINT64_MAX - a->addr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	return DAT_SUCCESS;
}

/* The range of another region, or its first `length` bytes; 0: all. */
static DAT_RETURN range_of_lmr(struct ask *a)
{
	struct dpr_lmr *of = lmr_of(a->region.for_lmr_handle);

	if (!of || of->obj.ia != a->ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (a->length > of->length)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	a->addr = of->addr;
	if (!a->length)
		a->length = of->length;
	return DAT_SUCCESS;
}

static DAT_RETURN range_of_shared(struct ask *a)
{
	const DAT_SHARED_MEMORY *s = &a->region.for_shared_memory;

	if (!s->shared_memory_id)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	a->addr = (uintptr_t)s->virtual_address;
	return range(a);
}

static DAT_RETURN describe(struct ask *a)
{
	switch (a->type) {
	case DAT_MEM_TYPE_VIRTUAL:
		a->addr = (uintptr_t)a->region.for_va;
		return a->length ? range(a) : DAT_SUCCESS;
	case DAT_MEM_TYPE_LMR:
		return range_of_lmr(a);
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		return range_of_shared(a);
	default:
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
}

static DAT_RETURN rights(const struct ask *a)
{
	const unsigned int known = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;

	if ((unsigned int)a->priv & ~known)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (((unsigned int)a->priv & DAT_IB_MEM_PRIV_REMOTE_ATOMIC) &&
	    a->ia->dev.orig_attr.atomic_cap == IBV_ATOMIC_NONE)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (a->va != DAT_VA_TYPE_VA && a->va != DAT_VA_TYPE_ZB)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	if (a->va == DAT_VA_TYPE_ZB && !a->ia->zb_lmr)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

static int access_of(const struct ask *a)
{
	int access = 0;

	if (a->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
		access |= IBV_ACCESS_LOCAL_WRITE;
	if (a->priv & DAT_MEM_PRIV_REMOTE_READ_FLAG)
		access |= IBV_ACCESS_REMOTE_READ;
	/* verbs need the local right with the remote one */
	if (a->priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
		access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
	if ((unsigned int)a->priv & DAT_IB_MEM_PRIV_REMOTE_ATOMIC)
		access |= IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_LOCAL_WRITE;
	if (a->ia->mw1 || a->ia->mw2)
		access |= IBV_ACCESS_MW_BIND;
	return access;
}

static DAT_RETURN registration_error(const struct ask *a, int err)
{
	if (a->va == DAT_VA_TYPE_ZB && (err == EINVAL || err == EOPNOTSUPP))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!a->length && err == EINVAL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (err == EINVAL || err == EFAULT)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

static void fill(struct dpr_lmr *l, const struct ask *a)
{
	l->pz = a->pz;
	l->type = a->type;
	l->region = a->region;
	l->addr = a->addr;
	l->length = a->length;
	l->priv = a->priv;
	l->va = a->va;
	l->base = a->va == DAT_VA_TYPE_ZB ? 0 : a->addr;
	l->shared = -1;
	if (a->type != DAT_MEM_TYPE_SHARED_VIRTUAL)
		return;
	memcpy(l->cookie, *a->region.for_shared_memory.shared_memory_id, sizeof(l->cookie));
	l->region.for_shared_memory.shared_memory_id = &l->cookie;
}

static DAT_RETURN make(const struct ask *a, struct dpr_lmr **ret)
{
	struct dpr_lmr *l = dpr_obj_new(a->ia, DPR_LMR);
	DAT_RETURN r = DAT_SUCCESS;

	if (!l)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	fill(l, a);
	dpr_use(&a->pz->obj);
	dpr_obj_hold(&a->pz->obj);
	if (a->type == DAT_MEM_TYPE_SHARED_VIRTUAL)
		r = dpr_shared_join(l->cookie, a->addr, a->length, &l->shared);
	if (r != DAT_SUCCESS)
		return dpr_obj_undo(&l->obj, r);
	l->mr = a->va == DAT_VA_TYPE_ZB
			? ibv_reg_mr_iova(a->pz->pd, (void *)(uintptr_t)a->addr, a->length, 0,
					  access_of(a))
			: ibv_reg_mr(a->pz->pd, (void *)(uintptr_t)a->addr, a->length,
				     access_of(a));
	if (!l->mr)
		return dpr_obj_undo(&l->obj, registration_error(a, errno));
	dpr_key_add(&l->key, a->ia, DPR_KEY_LOCAL, l->mr->lkey, &l->obj);
	dpr_count(&a->ia->counters[DCNT_IA_LMR_CREATE], 1);
	*ret = l;
	return DAT_SUCCESS;
}

static DAT_RMR_CONTEXT rmr_context(const struct dpr_lmr *l)
{
	return (unsigned int)l->priv & REMOTE_RIGHTS ? l->mr->rkey : 0;
}

DAT_RETURN dpr_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			  DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			  DAT_VA_TYPE va, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_ctx,
			  DAT_RMR_CONTEXT *rmr_ctx, DAT_VLEN *size, DAT_VADDR *addr)
{
	struct ask a = { dpr_ia_of(ia), type, region, length, dpr_pz_of(pz), priv, va, 0 };
	struct dpr_lmr *l = NULL;
	DAT_RETURN ret;

	if (!a.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!a.pz || a.pz->obj.ia != a.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!lmr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	ret = describe(&a);
	if (ret == DAT_SUCCESS)
		ret = rights(&a);
	if (ret == DAT_SUCCESS)
		ret = make(&a, &l);
	if (ret != DAT_SUCCESS)
		return ret;
	*lmr = (DAT_LMR_HANDLE)l;
	if (lmr_ctx)
		*lmr_ctx = l->mr->lkey;
	if (rmr_ctx)
		*rmr_ctx = rmr_context(l);
	if (size)
		*size = l->length;
	if (addr)
		*addr = l->base;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *p)
{
	struct dpr_lmr *l = lmr_of(handle);
	DAT_RETURN ret = dpr_query_args(l, DAT_INVALID_HANDLE_LMR,
					mask & ~(DAT_LMR_PARAM_MASK)DAT_LMR_FIELD_ALL, p);

	if (ret)
		return ret;
	*p = (DAT_LMR_PARAM){
		.ia_handle = dpr_ia_public(l->obj.ia),
		.mem_type = l->type,
		.region_desc = l->region,
		.length = l->length,
		.pz_handle = (DAT_PZ_HANDLE)l->pz,
		.mem_priv = l->priv,
		.va_type = l->va,
		.lmr_context = l->mr->lkey,
		.rmr_context = rmr_context(l),
		.registered_size = l->length,
		.registered_address = l->base,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dpr_lmr_free(DAT_LMR_HANDLE handle)
{
	struct dpr_lmr *l = lmr_of(handle);

	if (!l)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
	if (atomic_load(&l->obj.uses))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	finish(&l->obj);
	return DAT_SUCCESS;
}

/*
 * Memory is coherent with every device below public verbs (lmr_sync_req is false), so only the
 * arguments are checked.
 */

static DAT_RETURN check_sync(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	struct dpr_ia *ia = dpr_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (n && !t)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	for (DAT_VLEN i = 0; i < n; i++)
		if (t[i].segment_length && !dpr_key_find(ia, DPR_KEY_LOCAL, t[i].lmr_context))
			return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	return check_sync(ia, t, n);
}

DAT_RETURN dpr_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	return check_sync(ia, t, n);
}

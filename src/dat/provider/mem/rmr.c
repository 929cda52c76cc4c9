/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/rmr.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/pz.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

int dpr_binding_take(struct dpr_rmr *r)
{
	for (int i = 0; i < DPR_BINDINGS; i++) {
		if (!r->binding[i].taken) {
			memset(&r->binding[i], 0, sizeof(r->binding[i]));
			r->binding[i].taken = true;
			return i;
		}
	}
	return -1;
}

static void vacate(struct dpr_binding *b)
{
	if (b->lmr) {
		dpr_unuse(&b->lmr->obj);
		dpr_obj_put(&b->lmr->obj);
	}
	b->lmr = NULL;
	b->taken = false;
}

void dpr_binding_end(struct dpr_rmr *r, int slot)
{
	struct dpr_binding *b = &r->binding[slot];

	dpr_key_del(&b->key);
	b->ended = true;
	if (r->current == slot)
		r->current = -1;
	if (r->latest == slot)
		r->latest = r->current;
	if (!b->readers)
		vacate(b);
}

int dpr_binding_find(const struct dpr_rmr *r, DAT_RMR_CONTEXT context)
{
	for (int i = 0; i < DPR_BINDINGS; i++) {
		const struct dpr_binding *b = &r->binding[i];

		if (b->taken && !b->ended && b->lmr && b->rkey == context)
			return i;
	}
	return -1;
}

static void construct(struct dpr_obj *o)
{
	ut_mutex_init(&((struct dpr_rmr *)o)->lock);
}

static void release(struct dpr_obj *o)
{
	struct dpr_rmr *r = (struct dpr_rmr *)o;

	if (r->mw)
		ibv_dealloc_mw(r->mw);
	r->mw = NULL;
	ut_lock(&r->lock);
	for (int i = 0; i < DPR_BINDINGS; i++)
		if (r->binding[i].taken)
			vacate(&r->binding[i]);
	ut_unlock(&r->lock);
	dpr_unuse(&r->pz->obj);
	dpr_obj_put(&r->pz->obj);
}

/* The window is freed with the last reference: a bind under way still needs it. */
static void finish(struct dpr_obj *o)
{
	struct dpr_rmr *r = (struct dpr_rmr *)o;

	if (!dpr_obj_kill(o))
		return;
	ut_lock(&r->lock);
	for (int i = 0; i < DPR_BINDINGS; i++)
		dpr_key_del(&r->binding[i].key);
	ut_unlock(&r->lock);
	dpr_count(&o->ia->counters[DCNT_IA_RMR_FREE], 1);
	dpr_obj_put(o);
}

const struct dpr_class dpr_rmr_class = {
	.kind = DPR_RMR,
	.type = DAT_HANDLE_TYPE_RMR,
	.size = sizeof(struct dpr_rmr),
	.construct = construct,
	.release = release,
	.close = finish,
};

static DAT_RETURN create(DAT_PZ_HANDLE handle, DAT_RMR_SCOPE scope, DAT_RMR_HANDLE *ret)
{
	struct dpr_pz *pz = dpr_pz_of(handle);
	bool ep = scope == DAT_RMR_SCOPE_EP;
	struct dpr_rmr *r;

	if (!pz)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!(ep ? pz->obj.ia->mw2 : pz->obj.ia->mw1))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	r = dpr_obj_new(pz->obj.ia, DPR_RMR);
	if (!r)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ut_lock(&r->lock);
	memset(r->binding, 0, sizeof(r->binding));
	r->current = r->latest = -1;
	r->pz = pz;
	r->scope = scope;
	dpr_use(&pz->obj);
	dpr_obj_hold(&pz->obj);
	r->mw = ibv_alloc_mw(pz->pd, ep ? IBV_MW_TYPE_2 : IBV_MW_TYPE_1);
	r->next_key = r->mw ? ibv_inc_rkey(r->mw->rkey) : 0;
	ut_unlock(&r->lock);
	if (!r->mw)
		return dpr_obj_undo(&r->obj, DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
	dpr_count(&pz->obj.ia->counters[DCNT_IA_RMR_CREATE], 1);
	*ret = (DAT_RMR_HANDLE)r;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_PZ, rmr);
}

DAT_RETURN dpr_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return create(pz, DAT_RMR_SCOPE_EP, rmr);
}

DAT_RETURN dpr_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *p)
{
	struct dpr_rmr *r = dpr_rmr_of(handle);
	DAT_RETURN ret = dpr_query_args(r, DAT_INVALID_HANDLE_RMR,
					mask & ~(DAT_RMR_PARAM_MASK)DAT_RMR_FIELD_ALL, p);

	if (ret)
		return ret;
	*p = (DAT_RMR_PARAM){
		.ia_handle = dpr_ia_public(r->obj.ia),
		.pz_handle = (DAT_PZ_HANDLE)r->pz,
		.rmr_scope = r->scope,
	};
	ut_lock(&r->lock);
	if (r->current >= 0) {
		const struct dpr_binding *b = &r->binding[r->current];

		p->lmr_triplet = b->range;
		p->mem_priv = b->priv;
		p->va_type = b->va;
		p->rmr_context = b->rkey;
	}
	ut_unlock(&r->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_rmr_free(DAT_RMR_HANDLE handle)
{
	struct dpr_rmr *r = dpr_rmr_of(handle);

	if (!r)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	finish(&r->obj);
	return DAT_SUCCESS;
}

/* --- completions --- */

static void bound(struct dpr_rmr *r, int slot, bool ok) UT_REQUIRES(r->lock)
{
	struct dpr_binding *b = &r->binding[slot];
	int old = r->current;

	if (!ok) {
		dpr_binding_end(r, slot);
		return;
	}
	r->current = slot;
	if (old >= 0)
		dpr_binding_end(r, old);
	if (!b->lmr || b->dead)
		dpr_binding_end(r, slot);
}

static void read_done(struct dpr_binding *b)
{
	if (!--b->readers && b->ended)
		vacate(b);
}

void dpr_rmr_done(struct dpr_dto *d, bool ok)
{
	struct dpr_rmr *r = d->rmr;

	ut_lock(&r->lock);
	if (d->op == DPR_OP_READ_TO_RMR)
		read_done(&r->binding[d->binding]);
	else if (d->op != DPR_OP_INVALIDATE)
		bound(r, d->binding, ok);
	else if (ok && r->current == d->binding)
		dpr_binding_end(r, d->binding);
	ut_unlock(&r->lock);
	dpr_obj_put(&r->obj);
}

void dpr_rmr_invalidated(struct dpr_ia *ia, DAT_RMR_CONTEXT context)
{
	struct dpr_rmr *r = (struct dpr_rmr *)dpr_key_get(ia, DPR_KEY_REMOTE, context);
	int slot;

	if (!r)
		return;
	ut_lock(&r->lock);
	slot = dpr_binding_find(r, context);
	if (slot >= 0 && slot == r->current)
		dpr_binding_end(r, slot);
	else if (slot >= 0)
		r->binding[slot].dead = true;
	ut_unlock(&r->lock);
	dpr_obj_put(&r->obj);
}

void dpr_rmr_ep_gone(struct dpr_ep *ep)
{
	struct dpr_ia *ia = ep->obj.ia;
	struct dpr_obj *o;

	if (!ia->mw2)
		return;
	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia) {
		struct dpr_rmr *r = dpr_rmr_of((DAT_HANDLE)o);

		if (!r)
			continue;
		ut_lock(&r->lock);
		if (r->current >= 0 && r->binding[r->current].ep == ep)
			dpr_binding_end(r, r->current);
		ut_unlock(&r->lock);
	}
	ut_unlock(&ia->lock);
}

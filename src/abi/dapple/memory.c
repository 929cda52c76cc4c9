/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions and windows beyond libibverbs. "Physical pages" are buffers of
 * the process here: the list says where each piece of the region lies.
 */
#include "dapple/verbs.h"
#include "engine/mr.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/vrb.h"
#include "engine/mkey.h"
#include "engine/qp.h"
#include "host/shm/area.h"
#include "util/export.h"

#define MAX_PAGES (1u << 20)
#define MIN_PAGE_SIZE 64u
#define MAX_PAGE_SIZE (1u << 30)

/* dev->lock held. */
static enum dpl_mr_kind kind_of(const struct eng_mkey *mk)
{
	if (!mk->valid)
		return DPL_MR_FREE;
	if (mk->null)
		return DPL_MR_NULL;
	return mk->pages ? DPL_MR_PHYSICAL : DPL_MR_VIRTUAL;
}

/* dev->lock held. */
static struct dpl_mr_attr mr_attr(const struct ibv_mr *mr, const struct eng_mkey *mk)
{
	return (struct dpl_mr_attr){
		.lkey = mk->key,
		.rkey = mk->key,
		.pd = mr->pd,
		.kind = kind_of(mk),
		.iova = mk->iova,
		.length = mk->length,
		.page_size = mk->pages ? mk->page_size : 0,
		.access = mk->access,
		.windows = mk->windows,
	};
}

UT_EXPORT int dpl_query_mr(struct ibv_mr *mr, struct dpl_mr_attr *attr)
{
	struct eng_dev *dev = dpl_dev(mr->context);

	if (!dev)
		return errno;
	ut_lock(&dev->lock);
	*attr = mr_attr(mr, vrb_of(mr, vrb_mr)->mk);
	eng_dev_unlock(dev);
	return 0;
}

/* Registers a region in the engine and makes its public structure. Returns NULL with errno set. */
static struct vrb_mr *make_mr(struct ibv_pd *pub, const struct eng_mr_spec *spec, void *addr)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct eng_mkey *mk;
	struct vrb_mr *mr;
	int rc = eng_mr_reg(pd->pd, spec, &mk);

	if (rc)
		return vrb_null(rc);
	mr = dpl_verbs_ops()->wrap_mr(pd, mk, addr, spec->length);
	if (!mr) {
		eng_mr_dereg(mk);
		return vrb_null(-ENOMEM);
	}
	return mr;
}

UT_EXPORT struct ibv_mr *dpl_reg_shared_mr(struct ibv_mr *pub, struct ibv_pd *pd, uint64_t iova,
					   unsigned int access)
{
	struct vrb_mr *from = vrb_of(pub, vrb_mr), *mr;
	struct eng_dev *dev = dpl_dev(pub->context);
	struct eng_mr_spec spec;
	enum dpl_mr_kind kind;

	if (!dev)
		return NULL;
	ut_lock(&dev->lock);
	kind = kind_of(from->mk);
	spec = (struct eng_mr_spec){
		.addr = from->mk->addr,
		.length = from->mk->length,
		.iova = iova ? iova : from->mk->iova,
		.access = access,
		.pages = from->mk->pages,
		.n_pages = from->mk->n_pages,
		.page_size = from->mk->page_size,
		.first_offset = from->mk->first_offset,
	};
	eng_dev_unlock(dev);
	if (kind == DPL_MR_FREE || kind == DPL_MR_NULL || pd->context->device != pub->context->device)
		return vrb_null(-EINVAL);
	mr = make_mr(pd, &spec, pub->addr);
	if (!mr)
		return NULL;
	mr->fixed = true;
	if (from->dm) { /* device memory stays while a key names it */
		mr->dm = from->dm;
		atomic_fetch_add(&mr->dm->h.users, 1);
	}
	return &mr->pub;
}

UT_EXPORT void *dpl_alloc_shared(size_t length)
{
	void *p = NULL;
	int rc = shm_area_make(length, &p);

	return rc ? vrb_null(rc) : p;
}

UT_EXPORT int dpl_free_shared(void *addr)
{
	return -shm_area_free(addr);
}

static bool list_ok(const struct dpl_phys_list *l)
{
	if (!l || !l->pages || !l->n_pages || l->n_pages > MAX_PAGES)
		return false;
	if (l->page_size < MIN_PAGE_SIZE || l->page_size > MAX_PAGE_SIZE ||
	    (l->page_size & (l->page_size - 1)))
		return false;
	if (l->first_offset >= l->page_size || (l->iova & (l->page_size - 1)) != l->first_offset)
		return false;
	if (!l->length || l->length > (uint64_t)l->n_pages * l->page_size - l->first_offset)
		return false;
	for (uint32_t i = 0; i < l->n_pages; i++)
		if (l->pages[i] & (l->page_size - 1))
			return false;
	return true;
}

static void to_spec(const struct dpl_phys_list *l, unsigned int access, struct eng_mr_spec *s)
{
	*s = (struct eng_mr_spec){
		.length = l->length,
		.iova = l->iova,
		.access = access,
		.pages = l->pages,
		.n_pages = l->n_pages,
		.page_size = l->page_size,
		.first_offset = l->first_offset,
	};
}

UT_EXPORT struct ibv_mr *dpl_reg_phys_mr(struct ibv_pd *pd, const struct dpl_phys_list *list,
					 unsigned int access)
{
	struct eng_mr_spec spec;
	struct vrb_mr *mr;

	if (!dpl_dev(pd->context))
		return NULL;
	if (!list_ok(list))
		return vrb_null(-EINVAL);
	to_spec(list, access, &spec);
	mr = make_mr(pd, &spec, NULL);
	if (!mr)
		return NULL;
	mr->fixed = true;
	return &mr->pub;
}

UT_EXPORT struct ibv_mr *dpl_alloc_lkey(struct ibv_pd *pd, uint32_t max_pages)
{
	struct eng_dev *dev = dpl_dev(pd->context);
	const struct eng_mr_spec spec = { .null = true };
	struct vrb_mr *mr;

	if (!dev)
		return NULL;
	if (!max_pages || max_pages > MAX_PAGES)
		return vrb_null(-EINVAL);
	mr = make_mr(pd, &spec, NULL);
	if (!mr)
		return NULL;
	mr->fixed = true;
	mr->max_pages = max_pages;
	ut_lock(&dev->lock);
	mr->mk->valid = false;
	eng_dev_unlock(dev);
	return &mr->pub;
}

/* Fills *s with the region after the call: of each aspect in `flags` the new value, else the
 * present one. Returns 0 or -EINVAL. */
static int next_spec(struct vrb_mr *mr, int flags, const struct dpl_phys_list *list,
		     unsigned int access, struct eng_mr_spec *s)
{
	const struct eng_mkey *mk = mr->mk;

	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mk->access;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		if (!list_ok(list) || (mr->max_pages && list->n_pages > mr->max_pages))
			return -EINVAL;
		to_spec(list, access, s);
		return 0;
	}
	if (!mk->pages)
		return -EINVAL;
	*s = (struct eng_mr_spec){
		.length = mk->length,
		.iova = mk->iova,
		.access = access,
		.pages = mk->pages,
		.n_pages = mk->n_pages,
		.page_size = mk->page_size,
		.first_offset = mk->first_offset,
	};
	return 0;
}

/* Registers the new region before it deregisters the old one, so that a failure leaves the old one
 * valid. Returns 0 or a negative errno. */
static int replace(struct vrb_mr *mr, struct vrb_pd *pd, const struct eng_mr_spec *spec)
{
	struct eng_mkey *mk;
	int rc = eng_mr_reg(pd->pd, spec, &mk);

	if (rc)
		return rc;
	rc = eng_mr_dereg(mr->mk);
	if (rc) {
		eng_mr_dereg(mk);
		return rc;
	}
	mr->mk = mk;
	mr->pub.lkey = mr->pub.rkey = mk->key;
	mr->pub.length = spec->length;
	return 0;
}

UT_EXPORT int dpl_rereg_phys_mr(struct ibv_mr *pub, int flags, struct ibv_pd *pd,
				const struct dpl_phys_list *list, unsigned int access)
{
	const int all = IBV_REREG_MR_FLAGS_SUPPORTED;
	struct vrb_mr *mr = vrb_of(pub, vrb_mr);
	struct vrb_pd *to = (flags & IBV_REREG_MR_CHANGE_PD) ? vrb_of(pd, vrb_pd) : mr->pd;
	struct eng_mr_spec spec;
	int rc;

	if (!dpl_dev(pub->context))
		return errno;
	if (!flags || (flags & ~all) || !to || mr->imported || mr->dm ||
	    pub->context->device != to->pub.context->device)
		return vrb_error(-EINVAL);
	rc = next_spec(mr, flags, list, access, &spec);
	if (!rc)
		rc = replace(mr, to, &spec);
	if (rc)
		return vrb_error(rc);
	if (to != mr->pd) {
		atomic_fetch_add(&to->h.users, 1);
		atomic_fetch_sub(&mr->pd->h.users, 1);
		mr->pd = to;
		pub->pd = &to->pub;
	}
	return 0;
}

/* dev->lock held. The range and the region of a window that is not bound are zero. */
static struct dpl_mw_attr mw_attr(const struct ibv_mw *mw, const struct eng_mkey *mk)
{
	struct dpl_mw_attr attr = { .rkey = mk->key, .pd = mw->pd, .type = mw->type };

	if (!mk->valid || !mk->mr)
		return attr;
	attr.bound = true;
	attr.addr = mk->iova;
	attr.length = mk->length;
	attr.access = mk->access;
	attr.mr_lkey = mk->mr->key;
	attr.qp_num = mk->qp ? mk->qp->qpn : 0;
	return attr;
}

UT_EXPORT int dpl_query_mw(struct ibv_mw *mw, struct dpl_mw_attr *attr)
{
	struct eng_dev *dev = dpl_dev(mw->context);

	if (!dev)
		return errno;
	ut_lock(&dev->lock);
	*attr = mw_attr(mw, vrb_of(mw, vrb_mw)->mk);
	eng_dev_unlock(dev);
	return 0;
}

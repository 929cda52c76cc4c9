/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory regions. No registration touches or pins a page, so every registration is one on demand; the
 * engine does not get the flag.
 */
#include "abi/verbs/mr.h"

#include "abi/verbs/buf.h"
#include "abi/verbs/context.h"
#include "abi/verbs/export.h"
#include "abi/verbs/newer.h"
#include "abi/verbs/pd.h"
#include "engine/mkey.h"
#include "engine/mr.h"
#include "engine/refuse.h"
#include "host/shm/area.h"
#include "util/alloc.h"
#include "util/env.h"

#include <stdlib.h>
#include <string.h>

struct vrb_mr *vrb_mr_wrap(struct vrb_pd *pd, struct eng_mkey *mk, void *addr, size_t length)
{
	struct vrb_mr *mr = ut_zalloc(sizeof(*mr));

	if (!mr)
		return vrb_null(eng_refuse(vrb_ctx(pd->pub.context)->dev, ENG_R_MEMORY));
	mr->mk = mk;
	mr->pd = pd;
	mr->pub.context = pd->pub.context;
	mr->pub.pd = &pd->pub;
	mr->pub.addr = addr;
	mr->pub.length = length;
	mr->pub.lkey = mr->pub.rkey = mk->key;
	mr->pub.handle = vrb_handle_add(VRB_MRS, &mr->h);
	vrb_pd_use(pd);
	vrb_hold(mr->pub.context);
	return mr;
}

#define REMOTE (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* Shared registration: other processes of the host may map the pages that their keys name. */
static struct shm_area *share(uint64_t addr, size_t length, unsigned access)
{
	const char *v = ut_env("DAPPLE_SHARE");

	return v && *v && strcmp(v, "0") && (access & REMOTE) ? shm_area_exchange(addr, length)
							       : NULL;
}

static struct ibv_mr *make_mr(struct ibv_pd *pub, const struct eng_mr_spec *spec, void *addr)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct eng_mkey *mk;
	struct vrb_mr *mr;
	int rc;

	if (!vrb_live(pub->context))
		return NULL;
	rc = eng_mr_reg(pd->pd, spec, &mk);
	if (rc)
		return vrb_null(rc);
	mr = vrb_mr_wrap(pd, mk, addr, spec->length);
	if (!mr) {
		eng_mr_dereg(mk);
		return vrb_null(-ENOMEM);
	}
	mr->fixed = spec->null;
	if (!spec->null)
		mr->area = share(spec->addr, spec->length, spec->access);
	return &mr->pub;
}

/* The flags of on-demand registration and of huge pages change nothing here. */
#define ODP_FLAGS ((unsigned)(IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB))

static unsigned plain_access(unsigned access)
{
	return access & IBV_ACCESS_ON_DEMAND ? access & ~ODP_FLAGS : access;
}

UT_EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	const struct eng_mr_spec spec = {
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = iova,
		.access = plain_access(access),
	};

	/* The whole address space at once, "implicit": only on demand. */
	if (!addr && length == SIZE_MAX && !(access & IBV_ACCESS_ON_DEMAND))
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MR_IMPLICIT));
	return make_mr(pd, &spec, addr);
}

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

VRB_NOW(reg_mr) struct ibv_mr *vrb_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

UT_EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					 uint64_t iova, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, iova, (unsigned)access);
}

/* Memory of another device, which the processor cannot reach. */
UT_EXPORT struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					   uint64_t iova, int fd, int access)
{
	return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MR_DMABUF));
}

/* Registers a range of addresses; DMA-bufs and DMA handles are another device's. */
VRB_NEWER(struct ibv_mr *, ibv_reg_mr_ex, (struct ibv_pd *pd, struct vrb_mr_init_attr *attr))
{
	const uint64_t known = VRB_MR_IOVA | VRB_MR_ADDR | VRB_MR_BUF;
	uint64_t mask = attr->comp_mask;

	if (mask & ~known)
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MR_EX_LACKS));
	if (!(mask & VRB_MR_ADDR) ||
	    ((mask & VRB_MR_BUF) && !vrb_buf_has(attr->buf, pd, attr->addr, attr->length)))
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MR_EX));
	return ibv_reg_mr_iova2(pd, attr->addr, attr->length,
				mask & VRB_MR_IOVA ? attr->iova : (uintptr_t)attr->addr,
				(unsigned)attr->access);
}

VRB_NEWER(struct ibv_mr *, ibv_reg_buf_mr, (struct ibv_pd *pd, struct vrb_buf *buf, void *addr, size_t length,
					    int access))
{
	if (!vrb_buf_has(buf, pd, addr, length))
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MR_BUF));
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

/* DMA handles tell a device where in the machine the memory is; this one has no place. */
VRB_NEWER(void *, ibv_alloc_dmah, (struct ibv_context *c, void *attr))
{
	return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_DMAH));
}

VRB_NEWER(int, ibv_dealloc_dmah, (void *dmah))
{
	return vrb_error(-EOPNOTSUPP);
}

struct ibv_mr *vrb_alloc_null_mr(struct ibv_pd *pd)
{
	const struct eng_mr_spec spec = {
		.length = SIZE_MAX,
		.access = IBV_ACCESS_LOCAL_WRITE,
		.null = true,
	};

	return make_mr(pd, &spec, NULL);
}

/*
 * The engine changes all or nothing, so a failure leaves the region as it was: of the codes of this call only
 * "invalid input" can occur.
 */
UT_EXPORT int ibv_rereg_mr(struct ibv_mr *pub, int flags, struct ibv_pd *pd, void *addr,
			   size_t length, int access)
{
	struct vrb_mr *mr = vrb_of(pub, vrb_mr);
	struct vrb_pd *to = (flags & IBV_REREG_MR_CHANGE_PD) ? vrb_of(pd, vrb_pd) : NULL;
	int rc = 0;

	if (!vrb_live(pub->context))
		return IBV_REREG_MR_ERR_INPUT;
	if (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED)
		rc = eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_MR_REREG_HOW);
	else if (!flags || mr->fixed || mr->imported ||
		 ((flags & IBV_REREG_MR_CHANGE_PD) && !pd) ||
		 ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length)))
		rc = eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_MR_REREG_ARGS);
	if (!rc)
		rc = eng_mr_rereg(mr->mk, flags, to ? to->pd : NULL, (uintptr_t)addr, length,
				  plain_access((unsigned)access));
	if (rc) {
		errno = -rc;
		return IBV_REREG_MR_ERR_INPUT;
	}
	if (to) {
		vrb_pd_use(to);
		vrb_pd_unuse(mr->pd);
		mr->pd = to;
		pub->pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		struct shm_area *before = mr->area;

		pub->addr = addr;
		pub->length = length;
		mr->area = share((uintptr_t)addr, length, mr->mk->access);
		shm_area_restore(before);
	}
	pub->lkey = pub->rkey = mr->mk->key;
	return 0;
}

VRB_NOW(dereg_mr) int vrb_dereg_mr(struct ibv_mr *pub)
{
	struct vrb_mr *mr = vrb_of(pub, vrb_mr);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	if (mr->imported)
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_MR_IMPORTED));
	if (!vrb_handle_end(VRB_MRS, &mr->h))
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_MR_USED));
	rc = eng_mr_dereg(mr->mk);
	if (rc) {
		pub->handle = vrb_handle_add(VRB_MRS, &mr->h);
		return vrb_error(rc);
	}
	shm_area_restore(mr->area);
	vrb_pd_unuse(mr->pd);
	if (mr->dm)
		atomic_fetch_sub(&mr->dm->h.users, 1);
	free(mr);
	vrb_release(c);
	return 0;
}

static int check_advice(struct vrb_pd *pd, struct eng_dev *dev, bool write,
			const struct ibv_sge *sg, uint32_t n)
{
	int rc = 0;

	ut_lock(&dev->lock);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct eng_mkey *mk;
		uint64_t off;

		if (eng_mkey_local(pd->pd, sg[i].lkey, sg[i].addr, sg[i].length, write, &mk, &off))
			rc = 1;
	}
	eng_dev_unlock(dev);
	return rc ? eng_refuse(dev, ENG_R_ADVISE) : 0;
}

/* No page is faulted in ahead; the ranges are checked as by a device that does so. */
int vrb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg, uint32_t n)
{
	struct eng_dev *dev = vrb_live(pd->context);

	if (!dev)
		return EIO;
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vrb_error(eng_refuse(dev, ENG_R_ADVISE_LACKS));
	if ((flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) || !n || !sg)
		return vrb_error(eng_refuse(dev, ENG_R_ADVISE));
	return vrb_error(check_advice(vrb_of(pd, vrb_pd), dev,
				      advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, sg, n));
}

UT_EXPORT int ibv_dontfork_range(void *base, size_t size);
UT_EXPORT int ibv_dofork_range(void *base, size_t size);

/* A forked child copies pages on write; no device has them. */
int ibv_dontfork_range(void *base, size_t size)
{
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	return 0;
}

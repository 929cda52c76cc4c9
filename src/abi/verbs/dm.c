/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Device memory: memory of the adapter, which here is memory of the process. Only the calls below and
 * registered keys reach it. */
#include "abi/verbs/dm.h"

#include "abi/verbs/context.h"
#include "abi/verbs/mr.h"
#include "abi/verbs/newer.h"
#include "engine/mkey.h"
#include "engine/mr.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_ALIGN_LOG 12 /* the mapping's own alignment: a page */

static bool inside(const struct vrb_dm *dm, uint64_t off, size_t length)
{
	return off <= dm->length && length <= dm->length - off;
}

/* Adapters copy in words, and programs are tested against that. */
static bool copy_ok(const struct vrb_dm *dm, uint64_t off, size_t length)
{
	return inside(dm, off, length) && !((off | length) & 3);
}

static int to_dm(struct ibv_dm *pub, uint64_t off, const void *from, size_t length)
{
	struct vrb_dm *dm = vrb_of(pub, vrb_dm);

	if (!vrb_live(pub->context))
		return EIO;
	if (!copy_ok(dm, off, length))
		return vrb_error(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_DM_COPY));
	memcpy((char *)dm->base + off, from, length);
	return 0;
}

static int from_dm(void *to, struct ibv_dm *pub, uint64_t off, size_t length)
{
	struct vrb_dm *dm = vrb_of(pub, vrb_dm);

	if (!vrb_live(pub->context))
		return EIO;
	if (!copy_ok(dm, off, length))
		return vrb_error(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_DM_COPY));
	memcpy(to, (char *)dm->base + off, length);
	return 0;
}

struct ibv_dm *vrb_alloc_dm(struct ibv_context *c, struct ibv_alloc_dm_attr *attr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct vrb_dm *dm;

	if (!vrb_live(c))
		return NULL;
	if (!attr->length || attr->length > VRB_DM_MAX || attr->comp_mask ||
	    attr->log_align_req > MAX_ALIGN_LOG)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_DM_ARGS));
	dm = ut_zalloc(sizeof(*dm));
	if (!dm)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	dm->length = attr->length;
	dm->mapped = (attr->length + page - 1) & ~(page - 1);
	dm->base = mmap(NULL, dm->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (dm->base == MAP_FAILED) {
		free(dm);
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	}
	dm->pub.context = c;
	dm->pub.memcpy_to_dm = to_dm;
	dm->pub.memcpy_from_dm = from_dm;
	dm->pub.comp_mask = IBV_DM_MASK_HANDLE;
	dm->pub.handle = vrb_handle_add(VRB_DMS, &dm->h);
	vrb_hold(c);
	return &dm->pub;
}

int vrb_free_dm(struct ibv_dm *pub)
{
	struct vrb_dm *dm = vrb_of(pub, vrb_dm);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c))
		return EIO;
	if (dm->imported)
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_DM_IMPORTED));
	if (!vrb_handle_end(VRB_DMS, &dm->h))
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_DM_USED));
	munmap(dm->base, dm->mapped);
	free(dm);
	vrb_release(c);
	return 0;
}

/* Keys on device memory are always zero-based: its addresses are
 * private. */
struct ibv_mr *vrb_reg_dm_mr(struct ibv_pd *pub, struct ibv_dm *pdm, uint64_t off, size_t length,
			     unsigned int access)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct vrb_dm *dm = vrb_of(pdm, vrb_dm);
	struct eng_mr_spec spec = { .length = length, .access = access };
	struct eng_mkey *mk;
	struct vrb_mr *mr;
	int rc;

	if (!vrb_live(pub->context))
		return NULL;
	if (!(access & IBV_ACCESS_ZERO_BASED) || !inside(dm, off, length))
		return vrb_null(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_DM_MR));
	spec.addr = (uintptr_t)dm->base + off;
	rc = eng_mr_reg(pd->pd, &spec, &mk);
	if (rc)
		return vrb_null(rc);
	mr = vrb_mr_wrap(pd, mk, NULL, length);
	if (!mr) {
		eng_mr_dereg(mk);
		return vrb_null(-ENOMEM);
	}
	mr->dm = dm->origin ? dm->origin : dm;
	mr->fixed = true;
	atomic_fetch_add(&mr->dm->h.users, 1);
	return &mr->pub;
}

/* It lies in memory of this process, of which no DMA-buf can be made. */
VRB_NEWER(int, ibv_dm_export_dmabuf_fd, (struct ibv_dm *dm))
{
	return vrb_minus(eng_refuse(vrb_ctx(dm->context)->dev, ENG_R_DM_DMABUF));
}

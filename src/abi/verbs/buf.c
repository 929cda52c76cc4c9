/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/verbs/buf.h"

#include "abi/verbs/context.h"
#include "abi/verbs/newer.h"
#include "abi/verbs/pd.h"
#include "util/alloc.h"
#include "util/pages.h"

#include <stdlib.h>
#include <unistd.h>

VRB_NEWER(void *, ibv_alloc_buf, (struct ibv_pd *pd, size_t size, struct vrb_buf **ret))
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct vrb_buf *b;

	if (!vrb_live(pd->context))
		return NULL;
	if (!size || size > SIZE_MAX - page)
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_BUF_SIZE));
	b = ut_zalloc(sizeof(*b));
	if (!b)
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MEMORY));
	b->pd = pd;
	b->size = size;
	b->mapped = (size + page - 1) & ~(page - 1);
	b->base = ut_map(NULL, b->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->base == MAP_FAILED) {
		free(b);
		return vrb_null(eng_refuse(vrb_ctx(pd->context)->dev, ENG_R_MEMORY));
	}
	vrb_pd_use(vrb_of(pd, vrb_pd));
	*ret = b;
	return b->base;
}

VRB_NEWER(void, ibv_free_buf, (struct vrb_buf *b))
{
	vrb_pd_unuse(vrb_of(b->pd, vrb_pd));
	ut_unmap(b->base, b->mapped);
	free(b);
}

/* Its pages are anonymous memory, of which no DMA-buf can be made. */
VRB_NEWER(int, ibv_export_buf_dmabuf_fd, (struct vrb_buf *b))
{
	return vrb_minus(eng_refuse(vrb_ctx(b->pd->context)->dev, ENG_R_BUF_DMABUF));
}

bool vrb_buf_has(const struct vrb_buf *b, const struct ibv_pd *pd, const void *addr, size_t length)
{
	size_t off = (size_t)((uintptr_t)addr - (uintptr_t)b->base);

	return b->pd == pd && off <= b->size && length <= b->size - off;
}

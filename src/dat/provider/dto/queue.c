/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

int dpr_dtoq_init(struct dpr_dtoq *q, uint32_t limit, uint32_t extra, uint32_t iov_max)
{
	memset(q, 0, sizeof(*q));
	if (!limit)
		return 0;
	if (limit > 1u << 24 || extra > limit)
		return -ENOMEM;
	q->limit = limit;
	q->size = limit + extra;
	q->mask = pow2(q->size) - 1;
	q->iov_max = iov_max;
	q->ring = calloc((size_t)q->mask + 1, sizeof(*q->ring));
	if (iov_max)
		q->waiting = calloc(((size_t)q->mask + 1) * iov_max, sizeof(*q->waiting));
	if (q->ring && (q->waiting || !iov_max))
		return 0;
	dpr_dtoq_drop(q);
	return -ENOMEM;
}

void dpr_dtoq_drop(struct dpr_dtoq *q)
{
	free(q->ring);
	free(q->waiting);
	memset(q, 0, sizeof(*q));
}

bool dpr_dtoq_room(struct dpr_dtoq *q, uint32_t records)
{
	uint32_t used = dpr_dtoq_used(q);
	uint32_t inner = atomic_load_explicit(&q->inner, memory_order_relaxed);

	/* tail was read first: records retired since then make `inner` too small, so that at worst
	 * the queue looks full until the next call */
	return used + records <= q->size && used - inner < q->limit;
}

bool dpr_dtoq_signal(struct dpr_dtoq *q, bool quiet)
{
	uint32_t half = q->limit / 2 ? q->limit / 2 : 1;

	if (!quiet || ++q->quiet_run >= half) {
		q->quiet_run = 0;
		return true;
	}
	return false;
}

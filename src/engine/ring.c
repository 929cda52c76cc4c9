/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/ring.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t slots_for(uint32_t max)
{
	uint32_t n = 1;

	while (n < max)
		n <<= 1;
	return n;
}

int eng_ring_init(struct eng_ring *r, uint32_t max, uint32_t stride)
{
	uint8_t *mem = NULL;

	if (max > 1u << 30)
		return -ENOMEM;
	/* Entries hold pointers and 64-bit words. */
	stride = (stride + 15) & ~15u;
	if (max) {
		mem = ut_calloc(slots_for(max), stride);
		if (!mem)
			return -ENOMEM;
	}
	*r = (struct eng_ring){
		.mem = mem, .stride = stride, .slots = slots_for(max), .max = max
	};
	ut_mutex_init_frequent(&r->lock);
	return 0;
}

void eng_ring_fini(struct eng_ring *r)
{
	ut_mutex_fini(&r->lock);
	free(r->mem);
	r->mem = NULL;
}

int eng_ring_resize(struct eng_ring *r, uint32_t max)
{
	uint32_t slots = slots_for(max), used, head;
	uint8_t *mem = ut_calloc(slots, r->stride);

	if (!mem)
		return -ENOMEM;
	head = atomic_load(&r->head);
	used = atomic_load(&r->tail) - head;
	for (uint32_t i = 0; i < used; i++)
		memcpy(mem + (size_t)i * r->stride, eng_ring_at(r, head + i), r->stride);
	free(r->mem);
	r->mem = mem;
	r->slots = slots;
	r->max = max;
	atomic_store(&r->head, 0);
	atomic_store(&r->tail, used);
	return 0;
}

void eng_ring_clear(struct eng_ring *r)
{
	ut_lock(&r->lock);
	atomic_store(&r->head, atomic_load(&r->tail));
	ut_unlock(&r->lock);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include "util/lock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * One ring of either kind. Indices run freely; slot = index & (slots - 1).
 * head is written by the consumer, tail by the poster.
 */
struct eng_ring {
	struct ut_mutex lock;
	uint8_t *mem;
	uint32_t stride, slots; /* slots: power of two >= max */
	uint32_t max;           /* entries it may hold (the cap told the user) */
	_Atomic uint32_t head, tail;
};

/* max 0 is a queue that never takes anything. 0 or -ENOMEM. */
int eng_ring_init(struct eng_ring *r, uint32_t max, uint32_t stride);
/* Moves the entries into a queue for `max` (>= used); both ends are stopped. */
int eng_ring_resize(struct eng_ring *r, uint32_t max);
/* Empties it. No consumer may be in it. */
void eng_ring_clear(struct eng_ring *r);
void eng_ring_fini(struct eng_ring *r);

static inline void *eng_ring_at(const struct eng_ring *r, uint32_t index)
{
	return r->mem + (size_t)(index & (r->slots - 1)) * r->stride;
}

/* That slot will be written soon. */
static inline void eng_ring_warm(const struct eng_ring *r, uint32_t index)
{
	const uint8_t *at = eng_ring_at(r, index);

	for (uint32_t i = 0; i < r->stride; i += 64)
		__builtin_prefetch(at + i, 1);
}

static inline uint32_t eng_ring_used(struct eng_ring *r)
{
	return atomic_load_explicit(&r->tail, memory_order_acquire) -
	       atomic_load_explicit(&r->head, memory_order_acquire);
}

/* The oldest entry is done with; whoever sees that may fill its slot. Consumers hold the progress lock
 * (a shared receive queue's, its own), so there is one at a time. */
static inline void eng_ring_drop(struct eng_ring *r)
{
	atomic_store_explicit(&r->head, atomic_load_explicit(&r->head, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* The oldest entry, or NULL. Consumer side. */
static inline void *eng_ring_head(struct eng_ring *r)
{
	return eng_ring_used(r) ? eng_ring_at(r, atomic_load_explicit(&r->head, memory_order_relaxed))
				: NULL;
}

#endif

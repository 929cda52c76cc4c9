/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring of entries of fixed stride, of a send or a receive queue. Posting threads fill entries at the
 * tail under the lock of the ring; the protocol consumes them at the head under the progress lock (of a
 * shared receive queue, under the lock of the ring), so there is one consumer at a time.
 *
 * Indices run freely; slot = index & (slots - 1). The consumer writes head, the posting thread tail; each
 * releases, and the other one acquires. Filled by engine/post.c, emptied by proto/ib and proto/iwarp.
 */
#ifndef ENGINE_RING_H
#define ENGINE_RING_H

#include "util/lock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct eng_ring {
	struct ut_mutex lock;
	uint8_t *mem;
	uint32_t stride, slots; /* slots: power of two >= max */
	uint32_t max;           /* entries it may hold, as the program was told */
	_Atomic uint32_t head, tail;
};

/* A ring of max 0 is always full. Returns 0 or -ENOMEM. */
int eng_ring_init(struct eng_ring *r, uint32_t max, uint32_t stride);
/* Moves the entries into memory for `max` (>= used). Returns 0 or -ENOMEM. Called with both ends stopped. */
int eng_ring_resize(struct eng_ring *r, uint32_t max);
/* Empties it. Called without a consumer, and without the lock. */
void eng_ring_clear(struct eng_ring *r);
void eng_ring_fini(struct eng_ring *r);

static inline void *eng_ring_at(const struct eng_ring *r, uint32_t index)
{
	return r->mem + (size_t)(index & (r->slots - 1)) * r->stride;
}

#define ENG_RING_AHEAD 6 /* slots that are prefetched before they are written */

/* Prefetches a slot that will be written: what a request of one piece needs of it. */
static inline void eng_ring_warm(const struct eng_ring *r, uint32_t index)
{
	const uint8_t *at = eng_ring_at(r, index);

	__builtin_prefetch(at, 1);
	__builtin_prefetch(at + 64, 1);
	__builtin_prefetch(at + r->stride - 1, 1);
}

static inline uint32_t eng_ring_used(struct eng_ring *r)
{
	return atomic_load_explicit(&r->tail, memory_order_acquire) -
	       atomic_load_explicit(&r->head, memory_order_acquire);
}

/* Frees the slot of the oldest entry. Called by the consumer. */
static inline void eng_ring_drop(struct eng_ring *r)
{
	atomic_store_explicit(&r->head, atomic_load_explicit(&r->head, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* Returns the oldest entry, or NULL. Called by the consumer. */
static inline void *eng_ring_head(struct eng_ring *r)
{
	return eng_ring_used(r) ? eng_ring_at(r, atomic_load_explicit(&r->head, memory_order_relaxed))
				: NULL;
}

#endif

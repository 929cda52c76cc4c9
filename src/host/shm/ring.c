/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "host/shm/ring.h"

#include "host/layout.h"

#include <errno.h>
#include <string.h>

#define MASK (SHM_RING_BYTES - 1)

_Static_assert(sizeof(struct shm_record) == 48, "copied as it is between processes");
_Static_assert(offsetof(struct shm_ring, data) == 2 * SHM_LINE, "tail and newest share a line");
_Static_assert((SHM_RING_BYTES & MASK) == 0, "positions are masked");

void shm_ring_init(struct shm_ring *r)
{
	r->magic = SHM_RING_MAGIC;
	r->layout = host_layout;
	r->bytes = SHM_RING_BYTES;
}

bool shm_ring_valid(const struct shm_ring *r, size_t size)
{
	return size >= SHM_RING_SEG && r->magic == SHM_RING_MAGIC && r->layout == host_layout && r->bytes == SHM_RING_BYTES;
}

bool shm_has_room(struct shm_tx *t, uint64_t need)
{
	uint64_t head = atomic_load_explicit(&t->consumer->head, memory_order_acquire);

	/* A head ahead of the tail or behind the last one is not valid: it frees no room. */
	if (head - t->head > t->tail - t->head)
		return false;
	t->head = head;
	return t->tail + need - t->head <= SHM_RING_BYTES;
}

/*
 * Returns true if the receiver must be woken for the tail that has just been stored. before: the tail published
 * before. If that has not been consumed, the receiver was woken for it or is awake, and reads the tail again
 * before it sleeps. Records that need no wake-up do not wake it, and it may have gone to sleep since it took half of them.
 */
static bool must_wake(const struct shm_tx *t, uint64_t before)
{
	uint64_t head;

	ut_barrier_light();
	if (t->fenced_by_peer && atomic_load_explicit(&t->page->on, memory_order_relaxed) == SHM_POLLS)
		return false;
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&t->page->on, memory_order_relaxed))
		return false;
	head = atomic_load_explicit(&t->consumer->head, memory_order_relaxed);
	return t->unnotified ? head != t->tail : head == before;
}

static uint32_t lines(uint64_t at)
{
	return (uint32_t)(at / SHM_LINE);
}

/* A reader may read the words at this moment; it reads `newest` again after them. */
static void copy_inline(struct shm_ring *r, const struct shm_record *at, uint64_t tail)
{
	const uint8_t *from = at->header;
	uint64_t v;

	atomic_store_explicit(&r->newest, lines(tail), memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&r->newest_bytes, at->bytes, memory_order_relaxed);
	for (unsigned i = 0; i < SHM_INLINE_WORDS; i++) {
		memcpy(&v, from + i * sizeof(v), sizeof(v));
		atomic_store_explicit(&r->inline_slot[i], v, memory_order_relaxed);
	}
}

enum shm_put shm_publish(struct shm_tx *t)
{
	uint64_t before = t->published;
	bool wake;

	t->published = t->tail;
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
	wake = must_wake(t, before);
	t->unnotified = false;
	return wake ? SHM_PUT_WAKE : SHM_PUT;
}

void shm_no_notify(struct shm_tx *t)
{
	t->unnotified = true;
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
}

enum shm_put shm_commit(struct shm_tx *t, struct shm_record *at, uint64_t skip)
{
	shm_finish(t, at, skip);
	if (!at->seg && at->bytes <= SHM_INLINE_DATA)
		copy_inline(t->ring, at, t->tail);
	return shm_publish(t);
}

enum shm_put shm_put(struct shm_tx *t, const struct shm_record *h, const void *payload)
{
	enum shm_put r;
	uint64_t skip;
	struct shm_record *at = shm_reserve(t, h->bytes, &skip, &r);

	if (!at)
		return r;
	*at = *h;
	if (h->bytes)
		memcpy(at + 1, payload, h->bytes);
	return shm_commit(t, at, skip);
}

uint64_t shm_taken(const struct shm_tx *t)
{
	return atomic_load_explicit(&t->consumer->head, memory_order_relaxed);
}

static void publish_head(struct shm_rx *r)
{
	if (!r->held)
		atomic_store_explicit(&r->consumer->head, r->head, memory_order_release);
}

int shm_peek(struct shm_rx *r, struct shm_record *h)
{
	uint64_t have, end;

	if (!shm_waiting(r))
		return 0;
	have = r->seen - r->head;
	if (have > SHM_RING_BYTES || have % SHM_LINE)
		return -EPROTO;
	end = SHM_RING_BYTES - (r->head & MASK);
	memcpy(h, r->ring->data + (r->head & MASK), sizeof(*h));
	if (h->bytes == SHM_WRAP) {
		if (end >= have)
			return -EPROTO; /* it is written together with what follows */
		r->head += end;
		publish_head(r);
		have -= end;
		end = SHM_RING_BYTES;
		memcpy(h, r->ring->data, sizeof(*h));
	}
	if (h->bytes > (h->seg ? SHM_PAYLOAD_MAX : SHM_MESSAGE_MAX) ||
	    shm_record_bytes(h->bytes) > have || shm_record_bytes(h->bytes) > end)
		return -EPROTO;
	return 1;
}

void shm_take(struct shm_rx *r, const struct shm_record *h, void *buf)
{
	memcpy(buf, r->ring->data + (r->head & MASK) + sizeof(*h), h->bytes);
	r->head += shm_record_bytes(h->bytes);
	publish_head(r);
}

const uint8_t *shm_hold(struct shm_rx *r, const struct shm_record *h)
{
	const uint8_t *at = r->ring->data + (r->head & MASK);

	shm_hold_next(r, shm_record_bytes(h->bytes));
	return at + offsetof(struct shm_record, header);
}

const uint8_t *shm_take_inline(struct shm_rx *r, uint32_t *ret_bytes)
{
	uint64_t tail;
	uint32_t n;

	if (r->held || (r->seen != r->head && r->seen - r->head != shm_record_bytes(0)))
		return NULL;
	tail = atomic_load_explicit(&r->ring->tail, memory_order_acquire);
	if (tail - r->head != shm_record_bytes(0) ||
	    atomic_load_explicit(&r->ring->newest, memory_order_relaxed) != lines(tail))
		return NULL;
	n = atomic_load_explicit(&r->ring->newest_bytes, memory_order_relaxed);
	for (unsigned i = 0; i < SHM_INLINE_WORDS; i++)
		r->inline_slot[i] = atomic_load_explicit(&r->ring->inline_slot[i], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&r->ring->newest, memory_order_relaxed) != lines(tail) ||
	    n > SHM_INLINE_DATA)
		return NULL;
	*ret_bytes = n;
	r->head = r->seen = tail;
	r->held = true;
	return (const uint8_t *)r->inline_slot;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/shm/ring.h"

#include <errno.h>
#include <string.h>

#define MASK (SHM_RING_BYTES - 1)

_Static_assert(sizeof(struct shm_record) == 48, "copied as it is between processes");
_Static_assert((SHM_RING_BYTES & MASK) == 0, "positions are masked");

static uint64_t record_bytes(uint32_t payload)
{
	return (sizeof(struct shm_record) + payload + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

void shm_ring_init(struct shm_ring *r)
{
	r->magic = SHM_RING_MAGIC;
	r->bytes = SHM_RING_BYTES;
}

bool shm_ring_valid(const struct shm_ring *r, size_t size)
{
	return size >= SHM_RING_SEG && r->magic == SHM_RING_MAGIC && r->bytes == SHM_RING_BYTES;
}

static bool has_room(struct shm_tx *t, uint64_t need)
{
	uint64_t head;

	if (t->tail + need - t->head <= SHM_RING_BYTES)
		return true;
	head = atomic_load_explicit(&t->ear->head, memory_order_acquire);
	/* A head that runs ahead or back is a liar's; he gets no more than he has. */
	if (head - t->head > t->tail - t->head)
		return false;
	t->head = head;
	return t->tail + need - t->head <= SHM_RING_BYTES;
}

/* After the tail has moved: must the receiver be woken? If it had not consumed what was there
 * before, it was told of that, or was awake, and looks again before it sleeps. */
static bool must_ring(const struct shm_tx *t, uint64_t before)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(&t->doze->on, memory_order_relaxed) &&
	       atomic_load_explicit(&t->ear->head, memory_order_relaxed) == before;
}

enum shm_put shm_put(struct shm_tx *t, const struct shm_record *h, const void *payload)
{
	uint64_t need = record_bytes(h->bytes), before = t->tail;
	uint64_t end = SHM_RING_BYTES - (t->tail & MASK), skip = end < need ? end : 0;
	uint8_t *at;

	if (atomic_load_explicit(&t->ear->gone, memory_order_relaxed))
		return SHM_GONE;
	if (!has_room(t, skip + need))
		return SHM_FULL;
	if (skip) {
		struct shm_record wrap = { .bytes = SHM_WRAP };

		memcpy(t->ring->data + (t->tail & MASK), &wrap, sizeof(wrap));
		t->tail += skip;
	}
	at = t->ring->data + (t->tail & MASK);
	memcpy(at, h, sizeof(*h));
	memcpy(at + sizeof(*h), payload, h->bytes);
	t->tail += need;
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
	return must_ring(t, before) ? SHM_PUT_RING : SHM_PUT;
}

static void consume(struct shm_rx *r, uint64_t n)
{
	r->head += n;
	atomic_store_explicit(&r->ear->head, r->head, memory_order_release);
}

int shm_get(struct shm_rx *r, struct shm_record *h, void *buf, size_t room)
{
	uint64_t have = atomic_load_explicit(&r->ring->tail, memory_order_acquire) - r->head, end;

	if (!have)
		return 0;
	if (have > SHM_RING_BYTES || have % SHM_LINE)
		return -EPROTO;
	end = SHM_RING_BYTES - (r->head & MASK);
	memcpy(h, r->ring->data + (r->head & MASK), sizeof(*h));
	if (h->bytes == SHM_WRAP) {
		if (end >= have)
			return -EPROTO; /* it is written together with what follows */
		consume(r, end);
		have -= end;
		end = SHM_RING_BYTES;
		memcpy(h, r->ring->data, sizeof(*h));
	}
	if (h->bytes > SHM_PAYLOAD_MAX || h->bytes > room || record_bytes(h->bytes) > have ||
	    record_bytes(h->bytes) > end)
		return -EPROTO;
	memcpy(buf, r->ring->data + (r->head & MASK) + sizeof(*h), h->bytes);
	consume(r, record_bytes(h->bytes));
	return 1;
}

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

bool shm_is_sleeper(const struct shm_tx *t, uint64_t before)
{
	uint64_t head;

	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&t->page->on, memory_order_relaxed))
		return false;
	head = atomic_load_explicit(&t->consumer->head, memory_order_relaxed);
	return t->unnotified ? head != t->tail : head == before;
}

void shm_no_notify(struct shm_tx *t)
{
	t->unnotified = true;
	atomic_store_explicit(&t->ring->tail, t->tail, memory_order_release);
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

const uint8_t *shm_take_odd(struct shm_rx *r, uint32_t *ret_bytes)
{
	struct shm_record h;

	if (shm_peek(r, &h) <= 0 || h.seg)
		return NULL;
	*ret_bytes = h.bytes;
	return shm_hold(r, &h);
}

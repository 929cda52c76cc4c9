/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue of receives, of one queue pair or shared: how an entry enters and how a message takes it. */
#ifndef ENGINE_RECV_QUEUE_H
#define ENGINE_RECV_QUEUE_H

#include "engine/ring.h"
#include "engine/wqe.h"

#include <errno.h>
#include <string.h>

/* Bytes of an entry with room for max_sge pieces. */
static inline uint32_t eng_recv_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct eng_rwqe) + max_sge * sizeof(struct ibv_sge));
}

/* Appends one request. Returns 0, -EINVAL (more than max_sge pieces) or -ENOMEM (the queue is full). */
static inline int eng_recv_put(struct eng_ring *r, uint32_t max_sge, const struct ibv_recv_wr *wr)
	UT_REQUIRES(r->lock);
static inline int eng_recv_put(struct eng_ring *r, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct eng_rwqe *w;
	uint64_t length = 0;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return -EINVAL;
	if (tail - atomic_load_explicit(&r->head, memory_order_acquire) >= r->max)
		return -ENOMEM;
	w = eng_ring_at(r, tail);
	w->wr_id = wr->wr_id;
	w->num_sge = (uint32_t)wr->num_sge;
	for (int i = 0; i < wr->num_sge; i++) {
		w->sge[i] = wr->sg_list[i];
		length += wr->sg_list[i].length;
	}
	w->length = length;
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return 0;
}

/* Copies the oldest entry to buf and frees its slot. Returns false if the queue is empty. Called by the
 * consumer of the ring. */
static inline bool eng_recv_pop(struct eng_ring *r, struct eng_rwqe *buf)
{
	const struct eng_rwqe *w = eng_ring_head(r);

	if (!w)
		return false;
	memcpy(buf, w, eng_recv_stride(w->num_sge));
	eng_ring_drop(r);
	return true;
}

#endif

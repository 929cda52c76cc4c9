/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/post.h"

#include "engine/ah.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "engine/pending.h"
#include "engine/plain.h"
#include "engine/qp.h"
#include "engine/recv_queue.h"
#include "engine/refuse.h"
#include "engine/wr.h"
#include "util/probe.h"

#include <errno.h>
#include <string.h>

static int copy_inline(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	uint64_t left = qp->cap.max_inline_data;
	uint8_t *to = eng_swqe_inline(w);

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *s = &wr->sg_list[i];

		if (s->length > left)
			return eng_refuse_qp(qp, ENG_R_SEND_INLINE);
		if (s->length)
			memcpy(to, (const void *)(uintptr_t)s->addr, s->length);
		to += s->length;
		left -= s->length;
		w->length += s->length;
	}
	return 0;
}

static int copy_data(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr,
		     const struct eng_wr_row *row)
{
	if (row->kind & ENG_WR_LOCAL)
		return 0;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
		return eng_refuse_qp(qp, ENG_R_SEND_SGES);
	if (wr->send_flags & IBV_SEND_INLINE)
		return row->kind & ENG_WR_INLINE ? copy_inline(qp, w, wr)
						  : eng_refuse_qp(qp, ENG_R_SEND_INLINE);
	if (wr->num_sge)
		memcpy(w->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*w->sge));
	w->num_sge = (uint8_t)wr->num_sge;
	return 0;
}

static void copy_ud(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	struct eng_ah *ah = wr->wr.ud.ah ? qp->ctx->objects->ah(wr->wr.ud.ah) : NULL;

	if (ah) {
		w->ud.av = ah->av;
		w->ud.pd = ah->pd;
	}
	w->ud.qpn = wr->wr.ud.remote_qpn;
	w->ud.qkey = wr->wr.ud.remote_qkey;
}

static void copy_bind(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	const struct eng_objects *objects = qp->ctx->objects;

	w->bind.info = wr->bind_mw.bind_info;
	w->bind.key = wr->bind_mw.rkey;
	w->bind.mw = wr->bind_mw.mw ? objects->mw(wr->bind_mw.mw) : NULL;
	w->bind.mr = w->bind.info.mr ? objects->mr(w->bind.info.mr) : NULL;
}

static void copy_operation(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr,
			   const struct eng_wr_row *row)
{
	if (qp->type == IBV_QPT_UD) {
		copy_ud(qp, w, wr);
	} else if (row->kind & ENG_WR_BIND) {
		copy_bind(qp, w, wr);
	} else if (row->kind & ENG_WR_ATOMIC) {
		w->remote_addr = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->atomic.compare_add = wr->wr.atomic.compare_add;
		w->atomic.swap = wr->wr.atomic.swap;
	} else if (row->kind & ENG_WR_REMOTE) {
		w->remote_addr = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
	if (qp->type == IBV_QPT_XRC_SEND)
		w->srqn = wr->qp_type.xrc.remote_srqn;
}

/* As fill_plain(), of what only an atomic has. */
static __attribute__((noinline)) void fill_atomic(struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	w->length = 8;
	w->remote_addr = wr->wr.atomic.remote_addr;
	w->rkey = wr->wr.atomic.rkey;
	w->atomic.compare_add = wr->wr.atomic.compare_add;
	w->atomic.swap = wr->wr.atomic.swap;
}

/* Returns false for a request that is not plain. */
static inline bool fill_plain(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	if (!eng_wr_is_plain(qp, wr))
		return false;
	eng_plain_fill(qp, w, wr, eng_is_plain_remote(wr->opcode));
	if (eng_is_plain_atomic(wr->opcode))
		fill_atomic(w, wr);
	return true;
}

/* Of any form. */
static __attribute__((noinline)) int fill(struct eng_qp *qp, struct eng_swqe *w, const struct ibv_send_wr *wr)
{
	const struct eng_wr_row *row = eng_wr_row(wr->opcode);
	int r;

	if (!row || !(row->types & 1u << qp->type) || wr->send_flags > 0xff)
		return eng_refuse_qp(qp, ENG_R_SEND_TYPE);
	memset(w, 0, sizeof(*w));
	w->wr_id = wr->wr_id;
	w->opcode = (uint8_t)wr->opcode;
	w->flags = (uint8_t)wr->send_flags;
	w->imm = wr->imm_data; /* or the key to invalidate: the same four bytes */
	r = copy_data(qp, w, wr, row);
	if (r < 0)
		return r;
	copy_operation(qp, w, wr, row);
	r = eng_wr_check(qp, w);
	if (r == 0)
		eng_wr_finish(qp, w);
	return r;
}

/*
 * Prefetches a queue pair and its next slots. With a thousand queue pairs each turn of one begins with a
 * cold cache: two dozen lines of the queue pair, and two or three for each slot. Fetched together they cost
 * a third of what they cost one after the other.
 */
static void warm(struct eng_qp *qp) UT_REQUIRES(qp->sq.lock);
static void warm(struct eng_qp *qp)
{
	const uint8_t *at = (const uint8_t *)qp;
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	atomic_store_explicit(&qp->dev->posted, qp, memory_order_relaxed);
	for (size_t i = 0; i < sizeof(*qp) + qp->dev->proto->qp_prefetch; i += 64)
		__builtin_prefetch(at + i, 1);
	for (uint32_t i = 0; qp->sq.mem && i < ENG_RING_AHEAD; i++)
		eng_ring_warm(&qp->sq, tail + i);
}

static inline void warm_if_cold(struct eng_qp *qp) UT_REQUIRES(qp->sq.lock);
static inline void warm_if_cold(struct eng_qp *qp)
{
	if (atomic_load_explicit(&qp->dev->posted, memory_order_relaxed) != qp)
		warm(qp);
}

/* Takes the lock of the send queue for a thread that fills slots. */
static void begin(struct eng_qp *qp) UT_ACQUIRE(qp->sq.lock);
static void begin(struct eng_qp *qp)
{
	ut_lock(&qp->sq.lock);
	warm_if_cold(qp);
}

/* Returns why the queue takes no request now. */
static __attribute__((cold)) int refuse_send(struct eng_qp *qp)
{
	if (eng_qp_state(qp) < IBV_QPS_RTS)
		return eng_refuse_qp(qp, ENG_R_SEND_STATE);
	return eng_refuse_qp(qp, qp->type == IBV_QPT_XRC_RECV ? ENG_R_SEND_TARGET : ENG_R_SEND_FULL);
}

static inline int enqueue_send(struct eng_qp *qp, const struct ibv_send_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	struct eng_swqe *w;
	int r;

	/* Under the lock of the ring: RESET empties the queue under it, so a request is either dropped
	 * there, or sees the state here. */
	if (eng_qp_state(qp) < IBV_QPS_RTS || eng_ring_used(&qp->sq) >= qp->sq.max)
		return refuse_send(qp);
	w = eng_ring_at(&qp->sq, tail);
	eng_ring_warm(&qp->sq, tail + ENG_RING_AHEAD);
	r = fill_plain(qp, w, wr) ? 0 : fill(qp, w, wr);
	if (r == 0) {
		UT_PROBE4(post_send, qp->qpn, wr->opcode, wr->wr_id, wr->num_sge);
		atomic_store_explicit(&qp->sq.tail, tail + 1, memory_order_release);
	}
	return r;
}

struct ibv_send_wr *eng_post_now(struct eng_qp *qp, struct ibv_send_wr *wr)
{
	struct eng_dev *dev = qp->dev;

	if (!ut_trylock_quick(&dev->lock))
		return wr;
	if (ut_trylock_quick(&qp->sq.lock)) {
		warm_if_cold(qp);
		while (dev->ops->post_now(dev, qp, wr)) {
			wr = wr->next;
			if (!eng_may_post_now(qp, wr))
				break;
		}
		ut_unlock(&qp->sq.lock);
	}
	eng_dev_unlock(dev);
	return wr;
}

int eng_post_send(struct eng_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	bool posted = false;
	int r = 0;

	begin(qp);
	for (; wr; wr = wr->next) {
		r = enqueue_send(qp, wr);
		if (r < 0)
			break;
		posted = true;
	}
	ut_unlock(&qp->sq.lock);
	if (r < 0)
		*bad = wr;
	if (posted)
		eng_dev_kick(qp->dev, qp);
	return r;
}

/* --- the extended API: entries built in place --- */

void eng_batch_begin(struct eng_qp *qp)
{
	begin(qp);
	qp->wr_tail = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);
	qp->wr_error = eng_qp_state(qp) < IBV_QPS_RTS ? eng_refuse_qp(qp, ENG_R_SEND_STATE) : 0;
}

struct eng_swqe *eng_batch_next(struct eng_qp *qp)
{
	struct eng_swqe *w;

	if (qp->wr_error)
		return NULL;
	/* Pairs with the consumer's release of head: the slot is free. */
	if (qp->wr_tail - atomic_load_explicit(&qp->sq.head, memory_order_acquire) >=
	    qp->sq.max) {
		qp->wr_error = eng_refuse_qp(qp, ENG_R_SEND_FULL);
		return NULL;
	}
	w = eng_ring_at(&qp->sq, qp->wr_tail++);
	memset(w, 0, sizeof(*w));
	return w;
}

static inline void show_entry(const struct eng_qp *qp, const struct eng_swqe *w)
{
	UT_PROBE4(post_send, qp->qpn, w->opcode, w->wr_id, w->num_sge);
}

/* Checks the batch from the published tail to wr_tail. */
static int finish_batch(struct eng_qp *qp)
{
	uint32_t from = atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	for (uint32_t i = from; i != qp->wr_tail; i++) {
		int r = eng_wr_check(qp, eng_ring_at(&qp->sq, i));

		if (r < 0)
			return r;
		eng_wr_finish(qp, eng_ring_at(&qp->sq, i));
		show_entry(qp, eng_ring_at(&qp->sq, i));
	}
	atomic_store_explicit(&qp->sq.tail, qp->wr_tail, memory_order_release);
	return 0;
}

int eng_batch_end(struct eng_qp *qp, bool publish)
{
	int r = qp->wr_error;
	bool posted = publish && r == 0 &&
		      qp->wr_tail != atomic_load_explicit(&qp->sq.tail, memory_order_relaxed);

	if (posted)
		r = finish_batch(qp);
	ut_unlock(&qp->sq.lock);
	if (posted && r == 0)
		eng_dev_kick(qp->dev, qp);
	return r;
}

/* --- receives --- */

static inline enum eng_refusal enqueue_recv(struct eng_qp *qp, const struct ibv_recv_wr *wr) UT_REQUIRES(qp->rq.lock);
static inline enum eng_refusal enqueue_recv(struct eng_qp *qp, const struct ibv_recv_wr *wr)
{
	int r = eng_recv_put(&qp->rq, qp->cap.max_recv_sge, wr);

	UT_PROBE3(post_recv, qp->qpn, wr->wr_id, r);
	return r == 0 ? ENG_ACCEPTED : r == -ENOMEM ? ENG_R_RECV_FULL : ENG_R_RECV_SGES;
}

int eng_post_recv(struct eng_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	enum eng_refusal why = ENG_ACCEPTED;
	struct ibv_recv_wr *first = wr;
	enum ibv_qp_state state;

	if (__builtin_expect(qp->srq || qp->type == IBV_QPT_XRC_SEND || qp->type == IBV_QPT_XRC_RECV, 0)) {
		*bad = wr;
		return eng_refuse_qp(qp, ENG_R_RECV_NONE);
	}
	ut_lock(&qp->rq.lock);
	/* A queue pair that fails stores its state, then takes this lock to count what it flushes: it sees
	 * what is posted here, or its state is seen here. RESET empties the queue under it as well. */
	state = eng_qp_state(qp);
	for (; wr; wr = wr->next) {
		why = state == IBV_QPS_RESET ? ENG_R_RECV_STATE : enqueue_recv(qp, wr);
		if (why != ENG_ACCEPTED)
			break;
	}
	ut_unlock(&qp->rq.lock);
	if (__builtin_expect(state == IBV_QPS_ERR, 0) && wr != first)
		eng_dev_kick(qp->dev, qp);
	if (why == ENG_ACCEPTED)
		return 0;
	*bad = wr;
	return eng_refuse_qp(qp, why);
}

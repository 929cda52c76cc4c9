/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion of work requests. Each request that entered a queue ends here exactly once: completed,
 * failed or flushed. Only a transition to RESET drops requests without a completion (eng_qp_clear).
 *
 * All functions are called with dev->lock held. Those that push a completion may find that the
 * completion queue overruns: then the queue pair is in ERR afterwards, and the next round of progress
 * flushes it. The caller reads the state after the call.
 */
#ifndef ENGINE_COMPLETE_H
#define ENGINE_COMPLETE_H

#include "engine/cq.h"
#include "engine/qp.h"
#include "engine/recv_queue.h"
#include "engine/srq.h"
#include "engine/verdict.h"
#include "engine/wr.h"
#include "util/probe.h"

/* Counts a completion that is no success. */
void eng_count_failed(struct eng_dev *dev, enum ibv_wc_status status, bool send);
/* The queue pair fails, since one of its completion queues overran. */
void eng_complete_overrun(struct eng_qp *qp, enum eng_verdict v);

/* Returns where a completion goes straight: the array of the thread that polls this queue and makes this round; NULL: there is
 * none, or it is full, or completions are before this one in the ring, or it is to raise an event. */
static inline struct ibv_wc *eng_cq_straight(struct eng_cq *cq)
{
	struct eng_poller *p;

	eng_dev_held(cq->dev);
	p = cq->dev->poller;
	if (!p || p->cq != cq || p->got == p->room || atomic_load_explicit(&cq->some, memory_order_relaxed) || eng_cq_is_armed(cq))
		return NULL;
	return &p->wc[p->got++];
}

static inline void eng_complete(struct eng_qp *qp, struct eng_cq *cq, const struct eng_cqe *e,
				enum eng_verdict overrun)
{
	if (__builtin_expect(!eng_cq_push(cq, e), 0))
		eng_complete_overrun(qp, overrun);
}

/* A success that says no more than these, in the array of the polling thread or, apart, in the queue. */
void eng_complete_apart(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, uint32_t bytes, uint8_t opcode, uint8_t flags,
			uint32_t imm, bool solicited, enum eng_verdict overrun) __attribute__((noinline));
static inline void eng_complete_usual(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, uint32_t bytes, uint8_t opcode,
				      uint8_t flags, uint32_t imm, bool solicited, enum eng_verdict overrun)
{
	struct ibv_wc *wc = eng_cq_straight(cq);

	if (__builtin_expect(!wc, 0)) {
		eng_complete_apart(qp, cq, wr_id, bytes, opcode, flags, imm, solicited, overrun);
		return;
	}
	UT_PROBE5(complete, qp->qpn, wr_id, IBV_WC_SUCCESS, opcode, bytes);
	*wc = (struct ibv_wc){
		.wr_id = wr_id, .opcode = (enum ibv_wc_opcode)opcode, .byte_len = bytes,
		.imm_data = imm, .qp_num = qp->qpn, .wc_flags = flags,
	};
}

/* Completes w, the oldest entry of the send queue, as eng_send_done() does. */
static inline void eng_send_end(struct eng_qp *qp, const struct eng_swqe *w, enum eng_verdict v)
{
	bool loud = v != ENG_OK || (w->flags & IBV_SEND_SIGNALED);
	struct eng_cqe e;

	if (v != ENG_OK)
		eng_count_failed(qp->dev, eng_verdicts[v].send, true);
	e = (struct eng_cqe){
		.wr_id = w->wr_id,
		.qpn = qp->qpn,
		.byte_len = (uint32_t)w->length,
		.vendor_err = (uint32_t)v,
		.status = (uint8_t)eng_verdicts[v].send,
		.opcode = (uint8_t)eng_wr_rows[w->opcode].wc,
		.qp = qp,
	};
	/* The slot first: a thread that sees the completion may post at once, and must not find the
	 * queue full. Pairs with the poster's acquire. */
	eng_ring_drop(&qp->sq);
	if (loud)
		eng_complete(qp, qp->send_cq, &e, ENG_V_TX_CQ_FULL);
}

/* The same with ENG_OK, in the round of a thread that polls. */
static inline void eng_send_end_usual(struct eng_qp *qp, const struct eng_swqe *w)
{
	bool loud = w->flags & IBV_SEND_SIGNALED;
	uint64_t wr_id = w->wr_id;
	uint32_t bytes = (uint32_t)w->length;
	uint8_t opcode = (uint8_t)eng_wr_rows[w->opcode].wc;

	eng_ring_drop(&qp->sq); /* first, as above */
	if (loud)
		eng_complete_usual(qp, qp->send_cq, wr_id, bytes, opcode, 0, 0, false, ENG_V_TX_CQ_FULL);
}

/*
 * Completes the oldest entry of the send queue and frees its slot. Pushes a completion if the entry is
 * signaled or the verdict is not ENG_OK: the status is the verdict row's `send`, opcode and byte_len are
 * the entry's. Does nothing if the queue is empty.
 */
static inline void eng_send_done(struct eng_qp *qp, enum eng_verdict v)
{
	const struct eng_swqe *w = eng_ring_head(&qp->sq);

	if (w)
		eng_send_end(qp, w, v);
}

/* Takes the next receive of the queue pair, or of its SRQ, to buf. Returns false if there is none. */
static inline bool eng_recv_take(struct eng_qp *qp, struct eng_rwqe *buf)
{
	return qp->srq ? eng_srq_take(qp->srq, buf) : eng_recv_pop(&qp->rq, buf);
}

/*
 * Completes a receive that a message has taken. The caller fills in what the message brought (opcode,
 * byte_len, imm, wc_flags, src_qp, solicited ...); wr_id, status and qpn are set here. cq: recv_cq, or
 * that of the XRC SRQ.
 */
static inline void eng_recv_done(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, struct eng_cqe *e)
{
	e->wr_id = wr_id;
	e->status = IBV_WC_SUCCESS;
	e->vendor_err = 0;
	e->qpn = qp->qpn;
	e->qp = qp;
	eng_complete(qp, cq, e, ENG_V_RX_CQ_FULL);
}

/* The same for a message that brings no more than these. */
static inline void eng_recv_end(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, uint32_t bytes, uint8_t opcode,
				unsigned flags, uint32_t imm, bool solicited)
{
	eng_complete_usual(qp, cq, wr_id, bytes, opcode, (uint8_t)flags, imm, solicited, ENG_V_RX_CQ_FULL);
}

/* Completes a receive that a message has taken with an error: the status is the verdict row's `recv`. */
void eng_recv_failed(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, enum eng_verdict v);

/* Flushes both queues in posting order (state ERR), or the send queue (SQE). Raises LAST_WQE_REACHED
 * once for a queue pair with an SRQ in ERR. */
void eng_qp_flush(struct eng_qp *qp);
/* Flushes a queue pair in ERR or SQE that got new work. Returns false if it is in another state. */
static inline bool eng_qp_flush_if_dead(struct eng_qp *qp)
{
	enum ibv_qp_state s = eng_qp_state(qp);

	if (s != IBV_QPS_ERR && s != IBV_QPS_SQE)
		return false;
	eng_qp_flush(qp);
	return true;
}

#endif

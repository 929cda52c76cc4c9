/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests enter the queues of a queue pair: ibv_post_send(), ibv_post_recv() and the extended API.
 * A request is copied into its slot, checked there, and published by moving the tail of the ring. Then
 * the posting thread makes progress, if no other thread does (eng_dev_kick).
 */
#ifndef ENGINE_POST_H
#define ENGINE_POST_H

#include "engine/plain.h"
#include "engine/qp.h"
#include "engine/wqe.h"
#include "util/lock.h"

/* Returns false if the first request stays for eng_post_send(), or the list is empty. */
static inline bool eng_may_post_now(const struct eng_qp *qp, const struct ibv_send_wr *wr)
{
	return wr && eng_wr_is_one_of(qp, wr, atomic_load_explicit(&qp->ready_ops, memory_order_relaxed), ENG_PLAIN_NOW);
}

/*
 * Posts plain requests (plain.h), as many as leave at once: each goes from the caller's work request to the peer, and into its slot behind
 * that, so that the peer need not wait for the entry in the queue. eng_may_post_now() is true for the first one. Returns the first one that is
 * left to eng_post_send(), NULL: none is. A lock that is taken leaves them all. errno is kept. Called without locks.
 */
struct ibv_send_wr *eng_post_now(struct eng_qp *qp, struct ibv_send_wr *wr);

/*
 * Return 0, or a negative errno with *bad set to the first request that was not taken; those before it
 * stay posted. Send: -EINVAL (state below RTS; opcode, lengths or flags not for this queue pair, see
 * eng_wr_check), -ENOMEM (the queue is full). Receive: -EINVAL (state RESET, too many pieces, no receive
 * queue of its own), -ENOMEM. Called without locks.
 */
int eng_post_send(struct eng_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int eng_post_recv(struct eng_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/*
 * The extended API builds entries in place. begin takes the lock of the send queue; next returns a
 * zeroed entry, or NULL if the queue is full: then end(false) returns the errno; end publishes all
 * entries or none, and releases the lock. In between the thread calls no other posting function of the
 * queue pair.
 *
 * The caller keeps within cap.max_send_sge and cap.max_inline_data, sets `length` of inline data, and
 * stores errors of its own in qp->wr_error. end checks each entry (eng_wr_check), sums up the lengths
 * and sets the verdicts. It returns 0, -EINVAL or -ENOMEM.
 */
void eng_batch_begin(struct eng_qp *qp) UT_NO_TSA;
struct eng_swqe *eng_batch_next(struct eng_qp *qp);
int eng_batch_end(struct eng_qp *qp, bool publish) UT_NO_TSA;

#endif

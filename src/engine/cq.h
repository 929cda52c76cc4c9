/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues: each is a ring under a lock of its own, so that polling a queue that is not empty
 * never meets the progress lock. Producers hold dev->lock, then cq->lock.
 *
 * An empty queue is seen without its lock (`some`). A thread that polls an empty queue makes a round of
 * progress; what completes there meanwhile goes straight to its array (struct eng_poller).
 */
#ifndef ENGINE_CQ_H
#define ENGINE_CQ_H

#include "util/list.h"
#include "util/lock.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_ctx;
struct eng_chan;
struct eng_dev;
struct eng_qp;

/* One completion; 64 bytes, one cache line. Fields as in struct ibv_wc. */
struct eng_cqe {
	uint64_t wr_id;
	uint64_t ts;   /* ns of CLOCK_MONOTONIC at completion; 0 unless the CQ asked */
	uint64_t wallclock; /* ns of CLOCK_REALTIME, likewise */
	uint32_t qpn, src_qp;
	uint32_t byte_len;
	uint32_t imm; /* imm_data (network order) or the invalidated rkey (host order) */
	uint32_t vendor_err;
	uint16_t slid, pkey_index;
	uint8_t status, opcode; /* enum ibv_wc_status; enum ibv_wc_opcode (8 bits are enough) */
	uint8_t wc_flags, sl;
	uint8_t dlid_path_bits;
	uint8_t solicited; /* wakes a CQ armed for solicited completions */
	uint8_t pad[2];
	void *qp; /* the eng_qp, for eng_cq_purge(); never given out */
};

_Static_assert(sizeof(struct eng_cqe) == 64, "a completion is one cache line");

enum eng_cq_arm { ENG_CQ_IDLE, ENG_CQ_SOLICITED, ENG_CQ_ANY };

struct eng_cq {
	struct eng_ctx *ctx;
	struct eng_dev *dev;
	struct eng_chan *chan; /* or NULL */
	void *user;            /* the shell's ibv_cq */
	bool timestamps;       /* fixed at creation */

	struct ut_mutex lock;
	struct eng_cqe *ring UT_GUARDED_BY(lock);
	uint32_t cap UT_GUARDED_BY(lock);  /* power of two */
	uint32_t size UT_GUARDED_BY(lock); /* completions it may hold = ibv_cq.cqe */
	uint32_t head UT_GUARDED_BY(lock), tail UT_GUARDED_BY(lock);
	_Atomic uint8_t arm; /* enum eng_cq_arm; written under lock */
	bool overrun UT_GUARDED_BY(lock);
	/* True if there is a completion to take, or an overrun to report. Written under lock; a polling
	 * thread that reads false without the lock is as one that polled a moment earlier. */
	atomic_bool some;
	/* True if the consumer's last poll left the queue empty and no event was raised since: the
	 * consumer does not know of completions that are there now. Written by consumers, and under
	 * lock. Without a channel, which alone has events, it says nothing. */
	atomic_bool emptied;
	/* Moderation: an armed event waits for `count` completions, but at most
	 * `period` us; it comes at once when either is 0 or the device room
	 * does not serve eng_dev_tick(). */
	uint16_t mod_count UT_GUARDED_BY(lock), mod_period UT_GUARDED_BY(lock);
	uint16_t mod_seen UT_GUARDED_BY(lock);

	struct ut_list ready;   /* on chan->ready; chan->lock */
	unsigned events_queued; /* chan->lock */
	struct ut_list held;    /* on dev->held; dev->lock */
	uint64_t held_until;    /* dev->lock */
	atomic_uint users;      /* QPs and XRC SRQs */
	struct ut_list node;    /* on dev->cqs; dev->lock */
	uint32_t number;        /* for views; counts from 1 */
};

/* An event is asked for. Without the queue's lock: a poll at the same time comes before that. */
static inline bool eng_cq_is_armed(const struct eng_cq *cq)
{
	return atomic_load_explicit(&cq->arm, memory_order_relaxed) != ENG_CQ_IDLE;
}

/*
 * A thread that polls an empty queue and makes a round of progress for it: completions go into wc and not
 * through the ring, as long as the ring is empty. Not while an event is asked for: a completion has to raise it.
 */
struct eng_poller {
	struct eng_cq *cq;
	struct ibv_wc *wc;
	int room, got;
};

/* cqe: 1 to attr.max_cqe. chan may be NULL. Returns 0, -EINVAL or -ENOMEM. */
int eng_cq_create(struct eng_ctx *ctx, uint32_t cqe, struct eng_chan *chan, bool timestamps,
		  struct eng_cq **ret);
/* Returns 0, or -EBUSY while queue pairs or SRQs use it. */
int eng_cq_destroy(struct eng_cq *cq);
/* Completions that were not polled survive in their order. Returns 0, -ENOMEM, or -EINVAL if there are more
 * than cqe of them. */
int eng_cq_resize(struct eng_cq *cq, uint32_t cqe);
/* Sets the moderation: completions, and period in us. Returns 0. */
int eng_cq_modify(struct eng_cq *cq, uint16_t count, uint16_t period);
/*
 * Asks for one event. "Any" is never weakened to "solicited" (C11-31). Completions that are there already
 * raise no event, unless they came between the poll that left the queue empty and this call: adapters
 * that are told the consumer's index with the request do the same. Programs poll two queues, arm both and
 * sleep; here the poll of the second makes the progress that fills the first.
 */
void eng_cq_arm(struct eng_cq *cq, bool solicited_only);
/*
 * Takes up to n completions to wc, after one round of progress if the queue is empty. Returns their number,
 * or -EOVERFLOW if the queue has overrun and is empty. errno is kept.
 */
int eng_cq_poll(struct eng_cq *cq, int n, struct ibv_wc *wc);
/* The same for one completion, in the engine's form. Returns 1, 0 or -EOVERFLOW. */
int eng_cq_poll_one(struct eng_cq *cq, struct eng_cqe *ret);
/* The same without a round of progress: for the later completions of a batch, which must not take one whose
 * event has just been raised. */
int eng_cq_take(struct eng_cq *cq, struct eng_cqe *ret);
/*
 * Adds a completion and raises the event that was asked for. Returns false if the queue overruns: it raises
 * CQ_ERR once, and the caller's queue pair fails. Called with dev->lock held.
 */
bool eng_cq_push(struct eng_cq *cq, const struct eng_cqe *e);
/* The same for one that no polling thread takes straight, whose probe has fired. */
bool eng_cq_enter(struct eng_cq *cq, const struct eng_cqe *e);
/* The same for a success that says no more than these. */
bool eng_cq_enter_usual(struct eng_cq *cq, struct eng_qp *qp, uint64_t wr_id, uint32_t bytes, uint8_t opcode, uint8_t flags, uint32_t imm,
			bool solicited);
/* Lets the queue overrun now, whatever it holds: what a user's test asks for. Called with dev->lock held. */
void eng_cq_overrun(struct eng_cq *cq);
/* Returns how many completions wait to be polled. */
uint32_t eng_cq_waiting(struct eng_cq *cq);
/* Removes the completions of a queue pair that is destroyed. */
void eng_cq_purge(struct eng_cq *cq, const struct eng_qp *qp);
/* Delivers an event that moderation holds back. Called with dev->lock held. */
void eng_cq_release(struct eng_cq *cq);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work queues. A ring of fixed-stride entries; posters fill at the tail under
 * the ring's lock, the protocol consumes at the head under the progress lock.
 * Send entries stay in place until they complete, since they may be sent
 * again. Receive entries are copied out when a message takes them, so a
 * shared queue never waits for one of its QPs.
 */
#ifndef ENGINE_WQE_H
#define ENGINE_WQE_H

#include "engine/ah.h"
#include "util/lock.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct eng_mkey;
struct eng_pd;
struct eng_qp;

struct eng_swqe {
	uint64_t wr_id;
	uint64_t length; /* bytes of the message */
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t imm;      /* imm_data (network order) or invalidate_rkey (host order) */
	uint8_t opcode;    /* enum ibv_wr_opcode */
	uint8_t flags;     /* enum ibv_send_flags: FENCE SIGNALED SOLICITED INLINE IP_CSUM */
	uint8_t num_sge;
	uint8_t verdict;   /* enum eng_verdict found while posting, reported in order */
	uint32_t srqn;     /* XRC: remote SRQ number */
	union {
		struct {
			uint64_t compare_add, swap;
		} atomic;
		struct {
			struct eng_av av;
			struct eng_pd *pd; /* of the AH */
			uint32_t qpn, qkey;
		} ud;
		struct {
			struct eng_mkey *mw, *mr; /* for posting only; mr NULL to unbind */
			struct ibv_mw_bind_info info;
			uint32_t key; /* the window's key afterwards */
			uint32_t mw_key, mr_key; /* theirs when posted; filled in there */
		} bind;
	};
	/* The protocol's notes; zeroed at post. */
	uint32_t first_psn, last_psn;
	uint32_t ssn;
	uint8_t started, done;
	uint8_t spare[2];
	/* num_sge entries, or `length` inline bytes. */
	struct ibv_sge sge[];
};

_Static_assert(sizeof(struct eng_swqe) == 120, "a send queue has one per work request");

static inline uint8_t *eng_swqe_inline(struct eng_swqe *w)
{
	return (uint8_t *)w->sge;
}

struct eng_rwqe {
	uint64_t wr_id;
	uint64_t length; /* sum of the entries */
	uint32_t num_sge;
	uint32_t pad;
	struct ibv_sge sge[];
};

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

/*
 * Posting, libibverbs style. Return 0 or a negative errno with *bad set to the
 * first request not taken; earlier ones stay posted.
 * Send: -EINVAL (state below RTS, opcode not for this QP type or misformed,
 * num_sge or inline over the cap, ...), -ENOMEM (queue full).
 */
int eng_post_send(struct eng_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int eng_post_recv(struct eng_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/*
 * The extended API builds entries in place: begin takes the send lock, each
 * next() gives a zeroed entry (NULL = queue full; then end(false) gives the
 * errno), end publishes all or none. Between begin and end nothing else of
 * the QP's posting API may be called by the same thread.
 */
void eng_wr_begin(struct eng_qp *qp) UT_NO_TSA;
struct eng_swqe *eng_wr_next(struct eng_qp *qp);
int eng_wr_end(struct eng_qp *qp, bool publish) UT_NO_TSA;
/* Checks an entry as eng_post_send does: 0 or negative errno. eng_wr_end()
 * does it for each entry, sums up the lengths and fills in verdicts; whoever
 * builds an entry keeps within cap.max_send_sge and cap.max_inline_data, sets
 * `length` for inline data, and reports own troubles in qp->wr_error. */
int eng_wr_check(struct eng_qp *qp, const struct eng_swqe *w);

#endif

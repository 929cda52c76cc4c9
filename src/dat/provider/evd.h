/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event dispatchers. An EVD is a ring of finished DAT_EVENTs; one that takes DTO or bind
 * completions has a completion queue behind it, drained into the ring by whoever waits, dequeues
 * or needs room in a send queue. Everything else - connection, request, software, asynchronous
 * events - is pushed.
 *
 * The pure part (ring, counts, threshold, who is told) is evring.h, without lock or clock.
 */
#ifndef DAT_PROVIDER_EVD_H
#define DAT_PROVIDER_EVD_H

#include "dat/provider/evring.h"
#include "dat/provider/ia.h"

struct dpr_cno;
struct dpr_ep;

struct dpr_evd {
	struct dpr_obj obj;
	struct ut_mutex lock;
	DAT_EVD_FLAGS flags;     /* immutable */
	struct ut_list of_async; /* ia->asyncs; guarded by ia->lock */
	struct ibv_comp_channel *channel; /* with cq */
	struct dpr_watch watch;  /* channel->fd, while a CNO is set */
	int wake;                /* eventfd beside a cq: a push wakes the waiter; else -1 */
	pthread_cond_t arrived;  /* without a cq (CLOCK_MONOTONIC) */

	struct ibv_cq *cq UT_GUARDED_BY(lock); /* NULL without DTO and bind streams */
	unsigned int hidden UT_GUARDED_BY(lock); /* entries of cq kept for completions nobody sees */
	struct dpr_evring ring UT_GUARDED_BY(lock);
	struct dpr_cno *cno UT_GUARDED_BY(lock);
	bool waiting UT_GUARDED_BY(lock);
	bool unwaitable UT_GUARDED_BY(lock);
	bool disabled UT_GUARDED_BY(lock);
	bool dead UT_GUARDED_BY(lock);     /* overflowed: nothing more is taken */
	bool solicited UT_GUARDED_BY(lock); /* an EP asked for SOLICITED_WAIT: arm so */
	unsigned int unacked UT_GUARDED_BY(lock); /* events of the channel */
	uint64_t counters[10], counted[10]; /* DCNT_EVD_*: dpr_count; what a reset leaves out */
};

static inline struct dpr_evd *dpr_evd_of(DAT_HANDLE h)
{
	return (struct dpr_evd *)dpr_obj_of(h, DPR_EVD);
}

/* May this EVD take that stream? For argument checks of the other objects. */
static inline bool dpr_evd_takes(const struct dpr_evd *e, DAT_EVD_FLAGS stream)
{
	return e->flags & stream;
}

enum dpr_push { DPR_PUSHED, DPR_PUSH_FULL };

/*
 * Queue an event (evd_handle is filled in), wake the waiter or trigger the CNO. A full ring: the
 * EVD is dead and the async EVDs of the adapter are told EVD_OVERFLOW, unless `soft` (software
 * events and connection requests, which the caller refuses instead): then only DPR_PUSH_FULL.
 * Called with no evd or cno lock held.
 */
enum dpr_push dpr_evd_push(struct dpr_evd *e, const DAT_EVENT *ev, bool notify, bool soft);

/* How many events the ring can still take: the backlog of a service point. */
unsigned int dpr_evd_room(struct dpr_evd *e);

/*
 * A QP or SRQ feeds this EVD now: makes the completion queue if there is none, and keeps `hidden`
 * entries for completions that are swallowed (dpr_dto_event), resizing if needed. Counts as a use
 * of e. 0 or positive errno. dpr_evd_unfeed undoes it.
 */
int dpr_evd_feed(struct dpr_evd *e, unsigned int hidden, DAT_COMPLETION_FLAGS mode);
void dpr_evd_unfeed(struct dpr_evd *e, unsigned int hidden);

/* Poll the completion queue into the ring, as far as there is room. Returns events queued. The
 * queue is kept even when ring is full: completions wait in it. */
unsigned int dpr_evd_drain(struct dpr_evd *e);
unsigned int dpr_evd_drain_locked(struct dpr_evd *e) UT_REQUIRES(e->lock);

/* Forget queued DTO events of an endpoint (dat_ep_reset, dat_ep_free may drop them). */
void dpr_evd_purge(struct dpr_evd *e, struct dpr_ep *ep);

#endif

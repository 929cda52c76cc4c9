/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/drain.h"

#include "dat/provider/dto/event.h"
#include "dat/provider/dto/fast.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/push.h"
#include "dat/core/ring.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <stdlib.h>

#define POLL_BATCH 16

bool dpr_evd_solicited(struct dpr_evd *e)
{
	return e->feeds && e->solicited == e->feeds;
}

bool dpr_evd_arm(struct dpr_evd *e)
{
	if (!e->cq || e->armed)
		return e->cq;
	if (ibv_req_notify_cq(e->cq, dpr_evd_solicited(e))) {
		dpr_log(DPR_LOG_ERR, "evd %p: cannot arm its completion queue: dat_evd_wait fails; "
			"create it anew", (void *)e);
		return false;
	}
	e->armed = true;
	return true;
}

bool dpr_evd_take_events(struct dpr_evd *e)
{
	struct ibv_cq *cq;
	void *ctx;

	/* one event per call: with a second one the channel stays readable */
	if (!e->cq || ibv_get_cq_event(e->channel, &cq, &ctx))
		return false;
	e->armed = false;
	/* acknowledging takes a lock of libibverbs, hence once per 1024 events */
	if (++e->unacked == 1024) {
		ibv_ack_cq_events(e->cq, e->unacked);
		e->unacked = 0;
	}
	dpr_count(&e->counters[DCNT_EVD_DTO_CALLBACK], 1);
	if (dpr_evd_solicited(e))
		dpr_evd_arm(e);
	return true;
}

/* Makes room in `after` for what n completions may leave. Returns false without memory. */
static bool after_room(struct dpr_evd *e, unsigned int n) UT_REQUIRES(e->lock)
{
	unsigned int size = e->nafter + 3 * n;
	void *p;

	if (size <= e->after_size)
		return true;
	p = realloc(e->after, size * sizeof(*e->after));
	if (!p)
		return false;
	e->after = p;
	e->after_size = size;
	return true;
}

/* Leaves an action to the loop. Takes over the reference. */
static void later(struct dpr_evd *e, struct dpr_ep *ep, int what) UT_REQUIRES(e->lock)
{
	for (unsigned int i = 0; i < e->nafter; i++) {
		if (e->after[i].ep != ep || (int)e->after[i].what != what)
			continue;
		dpr_obj_put(&ep->obj); /* not the last reference */
		return;
	}
	e->after[e->nafter++] = (struct dpr_after){ .ep = ep, .what = what };
	dpr_timer_arm(&e->settle, 0);
}

static struct dpr_ep *event_ep(const DAT_EVENT *ev)
{
	if (!dpr_evd_is_dto(ev))
		return NULL;
	return dpr_ep_of(ev->event_data.dto_completion_event_data.ep_handle);
}

/* An event of the endpoint is among the first n that were put aside. */
static bool is_among(const struct dpr_evd *e, unsigned int n, const struct dpr_ep *ep) UT_REQUIRES(e->lock)
{
	for (unsigned int i = 0; i < n; i++)
		if (e->early[i].ep == ep)
			return true;
	return false;
}

static bool kept_back(struct dpr_evd *e, struct dpr_ep *ep) UT_REQUIRES(e->lock)
{
	return is_among(e, e->nearly, ep);
}

/* Returns true if the event was put aside because ESTABLISHED of its endpoint is not queued yet. */
static bool put_aside(struct dpr_evd *e, const DAT_EVENT *ev, bool notify) UT_REQUIRES(e->lock)
{
	struct dpr_ep *ep = event_ep(ev);
	bool more;

	if (!ep || (!e->nearly && !atomic_load_explicit(&ep->early, memory_order_acquire)))
		return false;
	more = kept_back(e, ep);
	if (!more && !atomic_load_explicit(&ep->early, memory_order_acquire))
		return false;
	if (e->nearly == e->early_size) {
		unsigned int size = e->early_size ? 2 * e->early_size : 16;
		void *p = realloc(e->early, size * sizeof(*e->early));

		if (!p)
			return false;
		e->early = p;
		e->early_size = size;
	}
	e->early[e->nearly++] = (struct dpr_early){ .ev = *ev, .ep = ep, .notify = notify };
	if (!more) {
		dpr_obj_hold(&ep->obj);
		later(e, ep, DPR_AFTER_EARLY);
	}
	return true;
}

/* ESTABLISHED may be queued at any moment: behind an event that stays, those of its endpoint stay, too. */
static unsigned int release_early(struct dpr_evd *e, bool *notified) UT_REQUIRES(e->lock)
{
	unsigned int kept = 0, out = 0;

	for (unsigned int i = 0; i < e->nearly; i++) {
		struct dpr_early *x = &e->early[i];
		DAT_EVENT *slot = NULL;

		if (!atomic_load_explicit(&x->ep->early, memory_order_acquire) && !is_among(e, kept, x->ep))
			slot = dpr_evring_slot(&e->ring);
		if (!slot) {
			e->early[kept++] = *x;
			continue;
		}
		*slot = x->ev;
		dpr_evring_commit(&e->ring, x->notify);
		*notified |= x->notify;
		out++;
	}
	e->nearly = kept;
	return out;
}

/* Fills *ev from a completion. Returns false if it is swallowed or put aside. */
static bool convert(struct dpr_evd *e, const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify)
	UT_REQUIRES(e->lock)
{
	struct dpr_ep *broken = NULL, *drained = NULL;
	bool visible;

	ev->evd_handle = (DAT_EVD_HANDLE)e;
	if (!e->nearly && dpr_fast_event(wc, ev, notify)) {
		*notify &= !dpr_evd_solicited(e);
		return true;
	}
	*notify = true;
	visible = dpr_dto_event(wc, ev, notify, &broken, &drained);
	if (broken)
		later(e, broken, DPR_AFTER_BROKEN);
	if (drained)
		later(e, drained, DPR_AFTER_DRAINED);
	if (!visible)
		return false;
	if (wc->status == IBV_WC_SUCCESS && dpr_evd_solicited(e))
		*notify = false; /* the channel notifies */
	return !put_aside(e, ev, *notify);
}

/* Queues the event of a completion. Returns the number of events: 0 or 1. */
static unsigned int take_one(struct dpr_evd *e, const struct ibv_wc *wc, bool *notified)
	UT_REQUIRES(e->lock)
{
	bool notify;

	if (!convert(e, wc, dpr_evring_slot(&e->ring), &notify))
		return 0;
	dpr_evring_commit(&e->ring, notify);
	*notified |= notify;
	return 1;
}

/* Returns how many completions may be polled. */
static int may_take(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	unsigned int n = e->ring.size - e->ring.count;

	if (n > POLL_BATCH)
		n = POLL_BATCH;
	return after_room(e, n) ? (int)n : 0;
}

unsigned int dpr_evd_drain_locked(struct dpr_evd *e, bool *notified)
{
	struct ibv_wc wc[POLL_BATCH];
	unsigned int queued = 0;
	int want, got;

	if (!e->cq)
		return 0;
	if (e->nearly)
		queued += release_early(e, notified);
	do {
		want = may_take(e);
		got = want ? ibv_poll_cq(e->cq, want, wc) : 0;
		for (int i = 0; i < got; i++)
			queued += take_one(e, &wc[i], notified);
	} while (got > 0 && got == want);
	return queued;
}

/* The ring is empty: the first event goes to the consumer without passing through it. */
static bool take_direct(struct dpr_evd *e, DAT_EVENT *event) UT_REQUIRES(e->lock)
{
	struct ibv_wc wc[POLL_BATCH];
	bool have = false, notify;
	int want, got;

	do {
		want = may_take(e);
		got = want ? ibv_poll_cq(e->cq, want, wc) : 0;
		for (int i = 0; i < got; i++) {
			if (have)
				take_one(e, &wc[i], &notify);
			else
				have = convert(e, &wc[i], event, &notify);
		}
	} while (got > 0 && got == want);
	return have;
}

bool dpr_evd_next(struct dpr_evd *e, DAT_EVENT *event)
{
	bool notified = false;

	if (!e->ring.count && e->cq && !e->nearly)
		return take_direct(e, event);
	if (!e->ring.count)
		dpr_evd_drain_locked(e, &notified);
	return dpr_evring_get(&e->ring, event);
}

unsigned int dpr_evd_drain(struct dpr_evd *e)
{
	bool notified = false;
	unsigned int n;

	ut_lock(&e->lock);
	n = dpr_evd_drain_locked(e, &notified);
	if (n)
		dpr_evd_notify(e, notified);
	ut_unlock(&e->lock);
	return n;
}

/* --- the loop's part --- */

static void act(struct dpr_after *a)
{
	if (a->what == DPR_AFTER_BROKEN)
		dpr_ep_broken(a->ep);
	else if (a->what == DPR_AFTER_DRAINED)
		dpr_ep_drained(a->ep);
	else
		dpr_ep_early(a->ep);
	dpr_obj_put(&a->ep->obj);
}

void dpr_evd_settle_now(struct dpr_evd *e)
{
	struct dpr_after *after;
	unsigned int n;
	bool overflow;

	ut_lock(&e->lock);
	after = e->after;
	n = e->nafter;
	e->after = NULL;
	e->nafter = e->after_size = 0;
	overflow = e->overflow;
	e->overflow = false;
	ut_unlock(&e->lock);
	for (unsigned int i = 0; i < n; i++)
		act(&after[i]);
	free(after);
	if (overflow)
		dpr_async_event(e->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, (DAT_HANDLE)e,
				DAT_EVD_OVERFLOW_ERROR);
}

/* A drain may have stopped without memory while a waiter sleeps, so the loop drains again. */
void dpr_evd_settle(struct dpr_timer *t)
{
	struct dpr_evd *e = ut_container(t, struct dpr_evd, settle);

	dpr_evd_settle_now(e);
	dpr_evd_drain(e);
}

/*
 * A direct waiter may sleep on the same channel as this watch: it is woken, finds the event in the
 * ring, and arms the completion queue itself.
 */
void dpr_evd_ready(struct dpr_watch *w)
{
	struct dpr_evd *e = ut_container(w, struct dpr_evd, watch);
	bool notified = false;

	ut_lock(&e->lock);
	if (dpr_evd_take_events(e)) {
		if (e->cno && !e->disabled && !e->waiting)
			dpr_evd_arm(e);
		dpr_evd_drain_locked(e, &notified);
		if (dpr_evd_solicited(e))
			e->ring.notified = e->ring.count;
		/* also if another thread has drained the completion queue meanwhile */
		dpr_evd_notify(e, notified || e->ring.notified);
	}
	ut_unlock(&e->lock);
}

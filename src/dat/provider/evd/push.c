/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/push.h"

#include "dat/provider/evd/cno.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/futex.h"
#include "dat/core/ring.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <sys/syscall.h>
#include <unistd.h>

void dpr_evd_wake(struct dpr_evd *e)
{
	uint64_t one = 1;

	atomic_fetch_add_explicit(&e->pushes, 1, memory_order_release);
	if (!e->cq)
		dpr_futex_wake(&e->pushes, 1);
	else if (e->wake >= 0)
		e->woken = syscall(SYS_write, e->wake, &one, sizeof(one)) > 0;
}

void dpr_evd_notify(struct dpr_evd *e, bool notified)
{
	if (e->waiting)
		dpr_evd_wake(e);
	else if (notified && e->cno && !e->disabled)
		dpr_cno_fire(e->cno, e);
}

static void fail(struct dpr_evd *e) UT_REQUIRES(e->lock)
{
	if (e->dead)
		return;
	dpr_log(DPR_LOG_WARN, "evd %p: overflow with %u events: it takes no more; create it with a "
		"longer queue", (void *)e, e->ring.count);
	e->dead = e->overflow = true;
	dpr_timer_arm(&e->settle, 0);
	if (e->waiting)
		dpr_evd_wake(e);
}

void dpr_evd_cq_error(struct dpr_evd *e)
{
	ut_lock(&e->lock);
	fail(e);
	ut_unlock(&e->lock);
}

/* Asynchronous errors answer no request of the consumer, who cannot foresee their number: beyond the
 * EVD's length there is room for one per object of the process. Returns NULL if that is full, too. */
static DAT_EVENT *slot_of(struct dpr_evd *e, DAT_EVENT_NUMBER number) UT_REQUIRES(e->lock)
{
	DAT_EVENT *slot = dpr_evring_slot(&e->ring);
	unsigned int size = 2 * e->ring.size, most;

	if (slot || number < DAT_ASYNC_ERROR_EVD_OVERFLOW || number >= DAT_SOFTWARE_EVENT)
		return slot;
	most = e->qlen + dpr_obj_most();
	if (dpr_evring_resize(&e->ring, size < most ? size : most))
		return NULL;
	return dpr_evring_slot(&e->ring);
}

static enum dpr_push queue(struct dpr_evd *e, const DAT_EVENT *ev, bool notify, bool soft)
	UT_REQUIRES(e->lock)
{
	DAT_EVENT *slot = slot_of(e, ev->event_number);

	if (!slot) {
		if (!soft)
			fail(e);
		return DPR_PUSH_FULL;
	}
	*slot = *ev;
	slot->evd_handle = (DAT_EVD_HANDLE)e;
	dpr_evring_commit(&e->ring, notify);
	return DPR_PUSHED;
}

enum dpr_push dpr_evd_push(struct dpr_evd *e, const DAT_EVENT *ev, bool notify, bool soft)
{
	enum dpr_push out = DPR_PUSH_FULL;
	bool notified = false;

	ut_lock(&e->lock);
	if (!e->dead && dpr_evd_of((DAT_HANDLE)e)) {
		unsigned int drained = dpr_evd_drain_locked(e, &notified);

		out = queue(e, ev, notify, soft);
		if (out == DPR_PUSHED)
			notified |= notify;
		if (out == DPR_PUSHED || drained)
			dpr_evd_notify(e, notified);
		if (ev->event_number >= DAT_CONNECTION_REQUEST_EVENT &&
		    ev->event_number < DAT_ASYNC_ERROR_EVD_OVERFLOW)
			dpr_count(&e->counters[DCNT_EVD_CONN_CALLBACK], 1);
	}
	ut_unlock(&e->lock);
	return out;
}

unsigned int dpr_evd_room(struct dpr_evd *e)
{
	unsigned int room;

	ut_lock(&e->lock);
	room = e->qlen > e->ring.count && !e->dead ? e->qlen - e->ring.count : 0;
	ut_unlock(&e->lock);
	return room;
}

DAT_RETURN dpr_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	struct dpr_evd *e = dpr_evd_of(evd);

	if (!e)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	if (!dpr_evd_takes(e, DAT_EVD_SOFTWARE_FLAG))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (dpr_evd_push(e, event, true, true) == DPR_PUSH_FULL)
		return DPR_ERR(DAT_QUEUE_FULL, DAT_NO_SUBTYPE);
	return DAT_SUCCESS;
}

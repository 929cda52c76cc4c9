/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The heart: receptions, posted work, reports of errors, timers, sends. */
#include "device/progress.h"

#include "device/adapter.h"
#include "device/short.h"
#include "device/thread.h"
#include "engine/qp.h"
#include "util/clock.h"

#include <errno.h>

#define DEV_LONG_ROUND 8 /* things done in a round that is worth a look at the clock */
#define PENDING_MAX 64 /* QPs kicked in one round */
#define ERROR_LOOK_NS UT_MS /* a busy poller asks for reports this seldom */

static int kick_pending(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	struct eng_qp *qp;
	int n = 0;

	while (n < PENDING_MAX && (qp = eng_dev_pop_pending(&a->dev))) {
		if (!eng_qp_flush_if_dead(qp))
			a->dev.proto->qp_kick(qp);
		n++;
	}
	return n;
}

static int take_in(struct dev_adapter *a, uint64_t now, enum dev_look look)
{
	bool *cheap = a->link ? &a->link->cheap : &a->streams->cheap;
	int n;

	*cheap = look == DEV_LOOK_CHEAP;
	n = a->machine->receive(a, now);
	*cheap = false;
	return n;
}

/*
 * The event that ended a wait is nearly always for what has been taken in, and the poll that finds
 * no more of it nearly always leads to the next wait: there a descriptor tells.
 */
static enum dev_look look_of_poll(struct dev_adapter *a)
{
	if (!atomic_load_explicit(&a->driver.woke, memory_order_relaxed))
		return DEV_LOOK;
	atomic_store_explicit(&a->driver.woke, false, memory_order_relaxed);
	return DEV_LOOK_CHEAP;
}

int dev_run(struct dev_adapter *a, enum dev_driver by)
{
	return dev_run_look(a, by, DEV_LOOK);
}

/* Who posts wants to send; who waits for an answer polls next. A receive call here would nearly always
 * find nothing and stand in front of the send. */
static bool is_for_posts(struct dev_adapter *a, enum dev_driver by) UT_REQUIRES(a->dev.lock)
{
	bool posted = by == DEV_BY_APP &&
		      atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed);

	if (posted)
		a->posts++;
	else
		dev_end_of_posts(a);
	return posted;
}

static int look_for_errors(struct dev_adapter *a, enum dev_driver by, uint64_t now)
	UT_REQUIRES(a->dev.lock)
{
	if (by == DEV_BY_APP && now - a->last_error_look < ERROR_LOOK_NS)
		return 0;
	a->last_error_look = now;
	return a->machine->errors(a, now);
}

/* When somebody must look again. */
static void set_deadline(struct dev_adapter *a, enum dev_driver by, uint64_t now)
	UT_REQUIRES(a->dev.lock)
{
	uint64_t next = eng_dev_tick(&a->dev, now), deadline;

	if (a->delayed_since)
		deadline = a->delayed_since + DEV_DEFER_NS;
	else
		deadline = a->machine->busy(&a->dev) ? now : a->machine->deadline(&a->dev);
	a->quiescent = deadline > now && !a->delayed_since;
	dev_driver_after(a, by, deadline < next ? deadline : next);
}

static bool is_short(struct dev_adapter *a, enum dev_driver by, enum dev_look look, int *ret_done)
	UT_REQUIRES(a->dev.lock)
{
	switch (by) {
	case DEV_BY_APP:
		return dev_without_round(a, ret_done);
	case DEV_BY_WAITER:
		return look == DEV_LOOK_WOKEN && dev_woken(a, ret_done);
	default:
		return false;
	}
}

int dev_run_look(struct dev_adapter *a, enum dev_driver by, enum dev_look look)
{
	int keep, received, kicked, done, early = 0;
	enum eng_acks how = ENG_ACKS_LATER;
	bool posted;
	uint64_t now;

	eng_dev_held(&a->dev);
	if (!a->wired || dev_is_foreign(&a->dev)) {
		/* Nobody can serve them, and callers repeat while there are any. */
		while (eng_dev_pop_pending(&a->dev))
			;
		return 0;
	}
	if (is_short(a, by, look, &early))
		return early;
	a->shorts = 0;
	keep = errno;
	now = ut_now();
	dev_judge_deferral(a, now);
	dev_stage(a)->pages_checked_at = by == DEV_BY_THREAD ? 0 : now;
	if (by == DEV_BY_APP)
		a->driver.last_round = now;
	posted = is_for_posts(a, by);
	if (by == DEV_BY_APP && !posted)
		look = look_of_poll(a);
	received = posted || early ? early : take_in(a, now, look);
	kicked = kick_pending(a);
	done = received + kicked + look_for_errors(a, by, now);
	if (!dev_delay_posts(a, now, posted)) {
		how = kicked ? ENG_ACKS_NOW : dev_acks(a, by, now, received);
		done += a->machine->transmit(&a->dev, now, how);
	}
	dev_note_deferral(a, how != ENG_ACKS_NOW, now);
	a->deferred = false;
	a->empty_polls = 0;

	if (received)
		dev_driver_received(a, by, (uint32_t)received);
	if (by == DEV_BY_APP && !kicked)
		dev_driver_polled(a, now);
	if (by == DEV_BY_APP && done > DEV_LONG_ROUND)
		dev_driver_busy(a, ut_now() - now);
	set_deadline(a, by, now);
	errno = keep;
	return done;
}

int dev_progress(struct eng_dev *dev)
{
	/* What was posted while the background thread held the lock is its work. */
	return dev_run(dev_adapter_of(dev), dev_thread_is_this() ? DEV_BY_THREAD : DEV_BY_APP);
}

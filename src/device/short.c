/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polls, posts and wake-ups without a round. Most polls of a ping-pong find nothing or one message, and the time
 * of a round is the time in which a message is not seen. So an application that polls goes without: no
 * look at the clock, at sockets, timers and managers, all of which wait for the next whole round, some
 * microseconds at most.
 */
#include "device/short.h"

#include "device/adapter.h"
#include "device/progress.h"
#include "device/thread.h"
#include "engine/qp.h"
#include "util/clock.h"

#include <errno.h>

#define DEV_SHORT_ROUNDS 32 /* or messages between two whole ones, which acknowledge */
#define DEV_EMPTY_POLLS 4 /* that an acknowledgement waits for after a short round */

int dev_fast_none(struct dev_adapter *a, bool *ret_whole)
{
	return -EAGAIN;
}

bool dev_post_fast_none(struct eng_qp *qp, bool batch)
{
	return false;
}

bool dev_may_post_direct_none(struct eng_qp *qp)
{
	return false;
}

bool dev_post_direct_none(struct eng_qp *qp, bool app)
{
	return false;
}

/* Nothing waits for a round, and nobody but that owner, with so many who wait, looks after the adapter. */
static inline bool undisturbed(struct dev_adapter *a, int owner, unsigned waiters) UT_REQUIRES(a->dev.lock)
{
	return a->quiescent && !a->defer_penalty &&
	       atomic_load_explicit(&a->driver.owner, memory_order_relaxed) == owner &&
	       atomic_load_explicit(&a->driver.waiters, memory_order_relaxed) == waiters &&
	       !atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed);
}

static bool may_be_short(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	return undisturbed(a, DEV_DRIVER_APP, 0) && a->shorts < DEV_SHORT_ROUNDS && dev_stage(a)->pages_checked_at;
}

/*
 * What dev_judge_deferral() does with the clock: whether an acknowledgement that was put off by a short
 * round lay there while the thread's tick went by, and how many polls in empty_polls it waits. After that no
 * answer is on its way, and a sender with a short queue stands still until it hears.
 */
static void look_at_deferred(struct dev_adapter *a, bool found) UT_REQUIRES(a->dev.lock)
{
	uint32_t tick = atomic_load_explicit(&a->driver.ticks, memory_order_relaxed);

	if (a->deferred && a->deferred_at != tick)
		dev_deferred_uselessly(a);
	a->empty_polls = found ? 0 : a->empty_polls + 1;
	if (a->empty_polls >= DEV_EMPTY_POLLS)
		a->machine->acknowledge(&a->dev, ENG_ACKS_NOW);
	a->deferred = a->machine->acks_pending(&a->dev);
	a->deferred_at = tick;
}

/*
 * Programs that poll memory do not poll their completions, so that an acknowledgement may have come
 * long ago that only the thread would look at, when it gets a processor. What else has come with it
 * wants a round.
 */
static bool post_direct(struct dev_adapter *a, struct eng_qp *qp) UT_REQUIRES(a->dev.lock)
{
	bool app = !dev_thread_is_this(), whole = false;

	if (a->machine->post_direct(qp, app))
		return true;
	if (!app || !a->machine->may_post_direct(qp))
		return false;
	if (a->machine->fast(a, &whole) < 0) {
		a->machine->receive(a, ut_now());
		whole = true;
	}
	return a->machine->post_direct(qp, app) && !whole && !a->machine->acks_pending(&a->dev);
}

bool dev_post_fast(struct eng_dev *dev, struct eng_qp *qp)
{
	struct dev_adapter *a = dev_adapter_of(dev);

	eng_dev_held(&a->dev);
	if (!a->wired || dev_is_foreign(dev))
		return false;
	dev_look_for_polls(a);
	if (dev_delay_more(a, qp) || post_direct(a, qp))
		return true;
	if (!may_be_short(a) || dev_thread_is_this() ||
	    !a->machine->post_fast(qp, a->posts > DEV_POSTS_BATCH))
		return false;
	a->posts++;
	a->shorts++;
	if (a->deferred)
		look_at_deferred(a, true);
	return true;
}

/* True: that was all, *ret_done things. False: a round is due; *ret_done have been received. */
static bool short_round(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock)
{
	/* Who gives the processor away between polls comes so seldom that each must be whole. */
	bool yields = atomic_load_explicit(&a->idle_polls, memory_order_relaxed) >= dev_polls_before_yield(a);
	bool whole = false;
	int n;

	*ret_done = 0;
	if (yields || !may_be_short(a))
		return false;
	n = a->machine->fast(a, &whole);
	if (n < 0)
		return false;
	*ret_done = n;
	if (whole)
		return false;
	a->shorts += n ? (uint32_t)n : 1;
	if (n)
		dev_driver_received(a, DEV_BY_APP, (uint32_t)n);
	if (n || a->deferred)
		look_at_deferred(a, n > 0);
	return true;
}

bool dev_without_round(struct dev_adapter *a, int *ret_done)
{
	bool yes = short_round(a, ret_done);

	atomic_store_explicit(&a->short_look, yes && !*ret_done, memory_order_relaxed);
	if (yes)
		dev_end_of_posts(a);
	return yes;
}

/*
 * What it was woken for is nearly always one message, with which it returns; all else waits for the round
 * before its next sleep. The acknowledgement does not: see dev_acks().
 */
bool dev_woken(struct dev_adapter *a, int *ret_done)
{
	bool whole = false;
	uint64_t now;
	int n;

	*ret_done = 0;
	if (!undisturbed(a, DEV_DRIVER_WAITER, 1))
		return false;
	now = ut_now();
	dev_stage(a)->pages_checked_at = now;
	n = a->machine->fast(a, &whole);
	if (n <= 0)
		return false;
	*ret_done = n;
	if (whole)
		return false;
	dev_driver_received(a, DEV_BY_WAITER, (uint32_t)n);
	a->machine->acknowledge(&a->dev, ENG_ACKS_QUIETLY);
	dev_note_deferral(a, true, now);
	return true;
}

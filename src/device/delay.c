/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What may wait. An acknowledgement costs a packet of its own unless the application's answer can take
 * it along, so a round made by a polling application may put acknowledgements off until its next call.
 * That pays only when the call comes may_post_direct: one that did not come within 50 us turns deferral off for a
 * while. Posted requests wait for more of them in the same way.
 */
#include "device/short.h"

#include "device/adapter.h"
#include "device/progress.h"
#include "device/thread.h"
#include "engine/qp.h"

#define DEV_DEFER_POLL_NS 4000ull /* an acknowledgement waits for an answer beside polls */

/* Whoever makes this round is the only one who looks after the adapter, and an application's thread
 * that may answer next. */
static bool is_answerer(struct dev_adapter *a, enum dev_driver by)
{
	int owner = atomic_load(&a->driver.owner);
	unsigned waiters = atomic_load(&a->driver.waiters);

	return (by == DEV_BY_APP && owner == DEV_DRIVER_APP && !waiters) ||
	       (by == DEV_BY_WAITER && owner == DEV_DRIVER_WAITER && waiters == 1);
}

/* Who waits returns with what has come; a round in which nothing came is the last before it sleeps. A
 * poller looks at its other queue before it answers, so what waits already may wait a few polls more. */
static bool answers_soon(enum dev_driver by, uint64_t since, uint64_t now, int received)
{
	switch (by) {
	case DEV_BY_WAITER:
		return received;
	case DEV_BY_APP:
		return (received || (since && now - since <= DEV_DEFER_POLL_NS)) &&
		       (!since || now - since < DEV_DEFER_NS);
	default:
		return false;
	}
}

/*
 * Behind a wait never later: who slept for a message may leave by _exit() with it (fio's jobs do), and
 * its sender would ask the dead.
 */
enum eng_acks dev_acks(struct dev_adapter *a, enum dev_driver by, uint64_t now, int received)
{
	uint64_t since = atomic_load_explicit(&a->deferred_since, memory_order_relaxed);

	if (!answers_soon(by, since, now, received))
		return ENG_ACKS_NOW;
	if (a->defer_penalty) {
		a->defer_penalty -= a->defer_penalty < (uint32_t)received ? a->defer_penalty
									    : (uint32_t)received;
		return ENG_ACKS_NOW;
	}
	if (!is_answerer(a, by))
		return ENG_ACKS_NOW;
	return by == DEV_BY_WAITER ? ENG_ACKS_QUIETLY : ENG_ACKS_LATER;
}

/* The owner of a deferred acknowledgement came late, or never: the application
 * does not work like that now, unless it says that it does. */
void dev_deferred_uselessly(struct dev_adapter *a)
{
	if (!a->driver.trusted)
		a->defer_penalty = DEV_DEFER_PENALTY;
}

void dev_judge_deferral(struct dev_adapter *a, uint64_t now)
{
	uint64_t since = atomic_load_explicit(&a->deferred_since, memory_order_relaxed);

	/* A post without a round may have taken it along long ago. */
	if (since && now - since > DEV_DEFER_NS && a->machine->acks_pending(&a->dev))
		dev_deferred_uselessly(a);
}

void dev_note_deferral(struct dev_adapter *a, bool defer, uint64_t now)
{
	uint64_t since = atomic_load_explicit(&a->deferred_since, memory_order_relaxed);
	bool waits = defer && a->machine->acks_pending(&a->dev);

	if (waits && !since)
		a->dev.counters[ENG_C_acks_deferred]++;
	if (waits != (since != 0))
		atomic_store(&a->deferred_since, waits ? now : 0);
}

/*
 * A message post_direct costs a system call at each end, a train of them the same. One that is posted
 * behind many unanswered ones is in no hurry: the next poll, the post that fills a train or the
 * answer takes it along. If none of them came in time, the next ones are not made to wait.
 */
bool dev_delay_posts(struct dev_adapter *a, uint64_t now, bool posted)
{
	bool again = a->delayed_since && now - a->delayed_since > DEV_DEFER_NS;

	if (again)
		a->delay_penalty = DEV_DELAY_PENALTY;
	else if (posted && a->delay_penalty)
		a->delay_penalty--;
	if (!posted || a->delay_penalty || atomic_load(&a->driver.waiters) ||
	    !a->machine->may_coalesce(&a->dev, a->batch || a->posts > DEV_POSTS_BATCH)) {
		a->delayed_since = 0;
		return false;
	}
	if (!a->delayed_since) {
		a->delayed_since = now;
		a->delayed_at = atomic_load_explicit(&a->driver.ticks, memory_order_relaxed);
	}
	return true;
}

/*
 * One more of those that wait, without a round and the clock: whether they have waited long the
 * thread's tick tells, and how many there may be the machine.
 */
bool dev_delay_more(struct dev_adapter *a, struct eng_qp *qp)
{
	if (!a->delayed_since || dev_thread_is_this() ||
	    a->delayed_at != atomic_load_explicit(&a->driver.ticks, memory_order_relaxed) ||
	    atomic_load_explicit(&a->driver.waiters, memory_order_relaxed) ||
	    atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed) || !a->machine->coalesce_more(qp))
		return false;
	a->posts++;
	return true;
}

/* A poll. Who posted much before it will do so before the next one. */
void dev_end_of_posts(struct dev_adapter *a)
{
	if (a->posts)
		a->batch = a->posts > DEV_POSTS_BATCH;
	a->posts = 0;
}

/* Who posts now may have polled since the last post without coming here. */
void dev_look_for_polls(struct dev_adapter *a)
{
	if (!atomic_load_explicit(&a->dev.reaped, memory_order_relaxed))
		return;
	atomic_store_explicit(&a->dev.reaped, false, memory_order_relaxed);
	dev_end_of_posts(a);
}

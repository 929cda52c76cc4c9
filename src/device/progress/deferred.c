/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/deferred.h"

#include "device/adapter.h"
#include "device/progress/thread.h"

/* --- posted requests --- */

bool dev_coalesce(struct dev_adapter *a, uint64_t now, bool for_posts)
{
	struct dev_coalescing *c = &a->coalescing;

	eng_dev_held(&a->dev);
	/* Behind a batch the wait was that of its later posts. */
	if (c->since && now - c->since > DEV_COALESCE_NS && !(for_posts && dev_posts_in_batch(c)))
		c->penalty = DEV_COALESCE_PENALTY;
	else if (for_posts && c->penalty)
		c->penalty--;
	if (!for_posts || c->penalty || atomic_load(&a->driver.waiters) ||
	    !a->machine->may_coalesce(&a->dev, c->batch || dev_posts_in_batch(c))) {
		c->since = 0;
		return false;
	}
	if (!c->since) {
		c->since = now;
		c->since_tick = atomic_load_explicit(&a->driver.ticks, memory_order_relaxed);
	}
	return true;
}

bool dev_coalesce_join(struct dev_adapter *a, struct eng_qp *qp)
{
	struct dev_coalescing *c = &a->coalescing;

	eng_dev_held(&a->dev);
	if (!c->since || dev_thread_is_this() ||
	    c->since_tick != atomic_load_explicit(&a->driver.ticks, memory_order_relaxed) ||
	    atomic_load_explicit(&a->driver.waiters, memory_order_relaxed) ||
	    atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed) ||
	    !a->machine->coalesce_more(qp))
		return false;
	dev_posts_count(c, &a->driver);
	return true;
}

/* --- acknowledgements --- */

#define DEV_DEFER_POLL_NS 4000ull /* an acknowledgement waits for a response beside polls */

/* The thread that makes this round is the only one that looks after the adapter, and one of the
 * application's that may respond next. */
static bool is_responder(struct dev_adapter *a, enum dev_by by)
{
	int driver = atomic_load(&a->driver.current);
	unsigned waiters = atomic_load(&a->driver.waiters);

	return (by == DEV_BY_APP && driver == DEV_DRIVER_APP && !waiters) ||
	       (by == DEV_BY_WAITER && driver == DEV_DRIVER_WAITER && waiters == 1);
}

/* A waiter returns with a message that has come; a round without one is its last before it sleeps. A
 * poller looks at its other queue before it responds, so what waits already may wait a few polls more. */
static bool may_respond(enum dev_by by, uint64_t since, uint64_t now, int received)
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
 * Behind a wait never ENG_ACKS_LATER: a program that slept for a message may leave by _exit() with it
 * (fio's jobs do), and its peer would retry against a process that has ended.
 */
enum eng_acks dev_acks(struct dev_adapter *a, enum dev_by by, uint64_t now, int received)
{
	struct dev_delayed_ack *d = &a->delayed_ack;
	uint64_t since = atomic_load_explicit(&d->since, memory_order_relaxed);

	eng_dev_held(&a->dev);
	if (!may_respond(by, since, now, received))
		return ENG_ACKS_NOW;
	if (d->penalty) {
		d->penalty -= d->penalty < (uint32_t)received ? d->penalty : (uint32_t)received;
		return ENG_ACKS_NOW;
	}
	if (!is_responder(a, by))
		return ENG_ACKS_NOW;
	return by == DEV_BY_WAITER ? ENG_ACKS_QUIETLY : ENG_ACKS_LATER;
}

/* A program that was started with DAPPLE_PROGRESS=poll is believed all the same. */
void dev_acks_penalise(struct dev_adapter *a)
{
	if (a->driver.trusted)
		return;
	a->delayed_ack.penalty = DEV_DEFER_PENALTY;
	a->rounds.most = 0;
}

void dev_acks_judge(struct dev_adapter *a, uint64_t now)
{
	struct dev_delayed_ack *d = &a->delayed_ack;
	uint64_t since = atomic_load_explicit(&d->since, memory_order_relaxed);
	bool late = d->by_fast ? atomic_load_explicit(&a->driver.ticks, memory_order_relaxed) != a->rounds.tick
			       : since && now - since > DEV_DEFER_NS;

	eng_dev_held(&a->dev);
	/* A post without a round may have taken it along long ago. */
	if (late && a->machine->acks_pending(&a->dev))
		dev_acks_penalise(a);
}

void dev_acks_note(struct dev_adapter *a, bool defer, uint64_t now)
{
	struct dev_delayed_ack *d = &a->delayed_ack;
	uint64_t since = atomic_load_explicit(&d->since, memory_order_relaxed);
	bool waits = defer && a->machine->acks_pending(&a->dev);

	eng_dev_held(&a->dev);
	if (waits && !since)
		a->dev.counters[ENG_C_acks_deferred]++;
	if (waits != (since != 0))
		atomic_store(&d->since, waits ? now : 0);
}

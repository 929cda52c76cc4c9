/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/round.h"

#include "device/adapter.h"
#include "engine/complete.h"
#include "engine/pending.h"
#include "engine/qp.h"
#include "util/clock.h"

#include <errno.h>

#define LONG_ROUND 8 /* received, sent or completed in one round: from here on the clock is read again behind it */
#define PENDING_MAX 64 /* QPs kicked in one round */
#define ERROR_LOOK_NS UT_MS /* a busy poller asks for reports of errors this seldom */

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

/*
 * How thorough the round of a poll has to be. A program that waits for completion events polls until its queue is empty
 * and waits again; what arrives in between makes the descriptor readable on which it waits. So the poll that finds
 * the queue empty need not ask the sockets.
 */
static enum dev_look look_of_poll(struct dev_adapter *a)
{
	if (!atomic_load_explicit(&a->driver.woke, memory_order_relaxed))
		return DEV_LOOK;
	atomic_store_explicit(&a->driver.woke, false, memory_order_relaxed);
	return DEV_LOOK_CHEAP;
}

/* A thread that posts wants to send; one that waits for a response polls next. A receive call here would
 * nearly always find nothing and stand in front of the send. */
static bool is_for_posts(struct dev_adapter *a, enum dev_by by) UT_REQUIRES(a->dev.lock)
{
	bool for_posts = by == DEV_BY_APP &&
		      atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed);

	if (for_posts)
		dev_posts_count(&a->coalescing, &a->driver);
	else
		dev_posts_end(&a->coalescing);
	return for_posts;
}

static int look_for_errors(struct dev_adapter *a, enum dev_by by, uint64_t now)
	UT_REQUIRES(a->dev.lock)
{
	if (by == DEV_BY_APP && now - a->rounds.last_error_look < ERROR_LOOK_NS)
		return 0;
	a->rounds.last_error_look = now;
	return a->machine->errors(a, now);
}

/* When the adapter needs the next round. */
static void set_deadline(struct dev_adapter *a, enum dev_by by, uint64_t now)
	UT_REQUIRES(a->dev.lock)
{
	uint64_t next = eng_dev_tick(&a->dev, now), since = a->coalescing.since, deadline;

	if (since)
		deadline = since + DEV_COALESCE_NS;
	else
		deadline = a->machine->busy(&a->dev) ? now : a->machine->deadline(&a->dev);
	a->rounds.quiescent = deadline > now && !since;
	if (by == DEV_BY_THREAD && deadline == now)
		deadline += a->machine->held_up(&a->dev);
	if (!a->rounds.quiescent || a->delayed_ack.penalty || !a->stage->pages_checked_at)
		a->rounds.most = 0;
	else
		a->rounds.most = a->rounds.local < DEV_ROUNDS_LOCAL ? DEV_ROUND_EVERY : DEV_ROUND_SELDOM;
	dev_driver_after(a, by, deadline < next ? deadline : next);
}

/* Whether the thread that made this round is to drive the adapter is decided from what the round found. */
static void judge_driver(struct dev_adapter *a, enum dev_by by, uint64_t now, int received, int kicked,
			 int done) UT_REQUIRES(a->dev.lock)
{
	if (received)
		dev_driver_received(&a->driver, by, (uint32_t)received);
	if (by == DEV_BY_APP && (!kicked || a->dev.poller))
		dev_driver_polled(a, now);
	if (by == DEV_BY_APP && done > LONG_ROUND)
		dev_driver_busy(a, ut_now() - now);
}

static void begin(struct dev_adapter *a, enum dev_by by, uint64_t now) UT_REQUIRES(a->dev.lock)
{
	dev_acks_judge(a, now);
	a->rounds.timed_posts = false;
	a->rounds.without = 0;
	a->rounds.tick = atomic_load_explicit(&a->driver.ticks, memory_order_relaxed);
	a->stage->pages_checked_at = by == DEV_BY_THREAD ? 0 : now;
	if (by == DEV_BY_APP)
		a->driver.last_round = now;
}

int dev_round(struct dev_adapter *a, enum dev_by by, enum dev_look look, int early)
{
	int keep = errno, received = early, kicked, done;
	enum eng_acks how = ENG_ACKS_LATER;
	uint64_t now = ut_now();
	bool for_posts;

	eng_dev_held(&a->dev);
	begin(a, by, now);
	for_posts = is_for_posts(a, by);
	if (by == DEV_BY_APP && !for_posts)
		look = look_of_poll(a);
	if (early)
		a->machine->finish(&a->dev, now);
	else if (!for_posts)
		received = a->machine->receive(a, now, look == DEV_LOOK_CHEAP);
	kicked = kick_pending(a);
	done = received + kicked + look_for_errors(a, by, now);
	if (done)
		a->rounds.idle = 0;
	if (!dev_coalesce(a, now, for_posts)) {
		how = kicked ? ENG_ACKS_NOW : dev_acks(a, by, now, received);
		done += a->machine->transmit(&a->dev, now, how);
		if (for_posts)
			done += a->machine->deliver(a, now);
	}
	dev_acks_note(a, how != ENG_ACKS_NOW, now);
	a->delayed_ack.by_fast = false;
	a->delayed_ack.empty_polls = 0;
	judge_driver(a, by, now, received, kicked, done);
	set_deadline(a, by, now);
	if (dev_counting_is_new(&a->counting, a->dev.counters))
		dev_counting_news(&a->counting, now);
	errno = keep;
	return done;
}

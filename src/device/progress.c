/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The heart. An acknowledgement costs a packet of its own unless the
 * application's answer can take it along, so a round made by a polling
 * application may put acknowledgements off until its next call. That pays
 * only when the call comes soon: one that did not come within 50 us turns
 * deferral off for a while.
 */
#include "device/progress.h"

#include "device/adapter.h"
#include "device/thread.h"
#include "engine/qp.h"
#include "util/clock.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>

#define DEV_POLLS_TO_YIELD 16 /* empty polls before the processor is given away */
#define DEV_HASTE_MOST 4 /* that often halved */
#define DEV_MET_NS 500ull /* a yield in which somebody ran lasts so long at least, */
#define DEV_STRANGER_NS 100000ull /* and with who has other things to do this and more */
#define DEV_YIELDS_ASK 16
#define DEV_POSTS_CROWD 16 /* posts without a poll: a program that fills many queues, then polls */
#define DEV_POLL_WEIGHT 4 /* so many short looks are one */
#define DEV_SHORT_ROUNDS 32 /* or messages between two whole ones, which acknowledge */
#define DEV_VAIN_POLLS 4 /* that an acknowledgement waits for after a short round */
#define DEV_DEFER_POLL_NS 4000ull /* an acknowledgement waits for an answer beside polls */
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

/* Whoever makes this round is the only one who looks after the adapter, and an application's thread
 * that may answer next. */
static bool is_answerer(struct dev_adapter *a, enum dev_driver by)
{
	int owner = atomic_load(&a->own.owner);
	unsigned waiters = atomic_load(&a->own.waiters);

	return (by == DEV_BY_APP && owner == DEV_OWN_APP && !waiters) ||
	       (by == DEV_BY_WAITER && owner == DEV_OWN_WAITER && waiters == 1);
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
static enum eng_acks acks(struct dev_adapter *a, enum dev_driver by, uint64_t now, int received)
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
static void deferred_in_vain(struct dev_adapter *a)
{
	if (!a->own.trusted)
		a->defer_penalty = DEV_DEFER_PENALTY;
}

static void judge_deferral(struct dev_adapter *a, uint64_t now)
{
	uint64_t since = atomic_load_explicit(&a->deferred_since, memory_order_relaxed);

	/* A post without a round may have taken it along long ago. */
	if (since && now - since > DEV_DEFER_NS && a->machine->acks_pending(&a->dev))
		deferred_in_vain(a);
}

static void note_deferral(struct dev_adapter *a, bool defer, uint64_t now)
	UT_REQUIRES(a->dev.lock)
{
	uint64_t since = atomic_load_explicit(&a->deferred_since, memory_order_relaxed);
	bool waits = defer && a->machine->acks_pending(&a->dev);

	if (waits && !since)
		a->dev.counters[ENG_C_acks_deferred]++;
	if (waits != (since != 0))
		atomic_store(&a->deferred_since, waits ? now : 0);
}

/*
 * A message alone costs a system call at each end, a train of them the same. One that is posted
 * behind many unanswered ones is in no hurry: the next poll, the post that fills a train or the
 * answer takes it along. If none of them came in time, the next ones are not made to wait.
 */
static bool hold(struct dev_adapter *a, uint64_t now, bool posted) UT_REQUIRES(a->dev.lock)
{
	bool again = a->held_since && now - a->held_since > DEV_DEFER_NS;

	if (again)
		a->hold_penalty = DEV_HOLD_PENALTY;
	else if (posted && a->hold_penalty)
		a->hold_penalty--;
	if (!posted || a->hold_penalty || atomic_load(&a->own.waiters) ||
	    !a->machine->patient(&a->dev, a->crowd || a->posts > DEV_POSTS_CROWD)) {
		a->held_since = 0;
		return false;
	}
	if (!a->held_since) {
		a->held_since = now;
		a->held_at = atomic_load_explicit(&a->own.ticks, memory_order_relaxed);
	}
	return true;
}

/*
 * One more of those that wait, without a round and the clock: whether they have waited long the
 * thread's tick tells, and how many there may be the machine.
 */
static bool hold_more(struct dev_adapter *a, struct eng_qp *qp) UT_REQUIRES(a->dev.lock)
{
	if (!a->held_since || dev_thread_is_this() ||
	    a->held_at != atomic_load_explicit(&a->own.ticks, memory_order_relaxed) ||
	    atomic_load_explicit(&a->own.waiters, memory_order_relaxed) ||
	    atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed) || !a->machine->more(qp))
		return false;
	a->posts++;
	return true;
}

/* A poll. Who posted much before it will do so before the next one. */
static void end_of_posts(struct dev_adapter *a)
{
	if (a->posts)
		a->crowd = a->posts > DEV_POSTS_CROWD;
	a->posts = 0;
}

/* Who posts now may have polled since the last post without coming here. */
static void look_for_polls(struct dev_adapter *a)
{
	if (!atomic_load_explicit(&a->dev.reaped, memory_order_relaxed))
		return;
	atomic_store_explicit(&a->dev.reaped, false, memory_order_relaxed);
	end_of_posts(a);
}

static struct ut_stage *dev_stage(struct dev_adapter *a)
{
	return a->link ? a->link->rx_stage : a->streams->rx_stage;
}

/* Polls in vain, in short looks, until a poller gives way. */
static unsigned patience(struct dev_adapter *a)
{
	return DEV_POLLS_TO_YIELD * DEV_POLL_WEIGHT >>
	       atomic_load_explicit(&a->haste, memory_order_relaxed);
}

/* --- without a round --- */

int dev_express_none(struct dev_adapter *a, bool *ret_whole)
{
	return -EAGAIN;
}

bool dev_posted_none(struct eng_qp *qp, bool crowd)
{
	return false;
}

bool dev_soon_none(struct eng_qp *qp)
{
	return false;
}

bool dev_alone_none(struct eng_qp *qp, bool app)
{
	return false;
}

/*
 * Most polls of a ping-pong find nothing or one message, and the time of a round is the time in which
 * a message is not seen. So an application that polls goes without: no look at the clock, at sockets,
 * timers and managers, all of which wait for the next whole round, some microseconds at most.
 */
static bool may_be_short(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	return a->calm && a->shorts < DEV_SHORT_ROUNDS && !a->defer_penalty &&
	       atomic_load_explicit(&a->own.owner, memory_order_relaxed) == DEV_OWN_APP &&
	       !atomic_load_explicit(&a->own.waiters, memory_order_relaxed) &&
	       !atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed) &&
	       dev_stage(a)->own;
}

/*
 * What judge_deferral() does with the clock: whether an acknowledgement that was put off by a short
 * round lay there while the thread's tick went by, and how many polls in vain it waits. After that no
 * answer is on its way, and a sender with a short queue stands still until it hears.
 */
static void look_at_put_off(struct dev_adapter *a, bool found) UT_REQUIRES(a->dev.lock)
{
	uint32_t tick = atomic_load_explicit(&a->own.ticks, memory_order_relaxed);

	if (a->put_off && a->put_off_at != tick)
		deferred_in_vain(a);
	a->vain = found ? 0 : a->vain + 1;
	if (a->vain >= DEV_VAIN_POLLS)
		a->machine->acknowledge(&a->dev);
	a->put_off = a->machine->acks_pending(&a->dev);
	a->put_off_at = tick;
}

/*
 * Programs that poll memory do not poll their completions, so that an acknowledgement may have come
 * long ago that only the thread would look at, when it gets a processor. What else has come with it
 * wants a round.
 */
static bool alone(struct dev_adapter *a, struct eng_qp *qp) UT_REQUIRES(a->dev.lock)
{
	bool app = !dev_thread_is_this(), whole = false;

	if (a->machine->alone(qp, app))
		return true;
	if (!app || !a->machine->soon(qp))
		return false;
	if (a->machine->express(a, &whole) < 0) {
		a->machine->receive(a, ut_now());
		whole = true;
	}
	return a->machine->alone(qp, app) && !whole && !a->machine->acks_pending(&a->dev);
}

bool dev_posted(struct eng_dev *dev, struct eng_qp *qp)
{
	struct dev_adapter *a = dev_adapter_of(dev);

	eng_dev_held(&a->dev);
	if (!a->wired || dev_is_foreign(dev))
		return false;
	look_for_polls(a);
	if (hold_more(a, qp) || alone(a, qp))
		return true;
	if (!may_be_short(a) || dev_thread_is_this() ||
	    !a->machine->posted(qp, a->posts > DEV_POSTS_CROWD))
		return false;
	a->posts++;
	a->shorts++;
	if (a->put_off)
		look_at_put_off(a, true);
	return true;
}

/* True: that was all, *ret_done things. False: a round is due; *ret_done have been received. */
static bool short_round(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock)
{
	/* Who gives the processor away between polls comes so seldom that each must be whole. */
	bool yields = atomic_load_explicit(&a->idle_polls, memory_order_relaxed) >= patience(a);
	bool whole = false;
	int n;

	*ret_done = 0;
	if (yields || !may_be_short(a))
		return false;
	n = a->machine->express(a, &whole);
	if (n < 0)
		return false;
	*ret_done = n;
	if (whole)
		return false;
	a->shorts += n ? (uint32_t)n : 1;
	if (n)
		dev_own_received(a, DEV_BY_APP, (uint32_t)n);
	if (n || a->put_off)
		look_at_put_off(a, n > 0);
	return true;
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
	if (!atomic_load_explicit(&a->own.woke, memory_order_relaxed))
		return DEV_LOOK;
	atomic_store_explicit(&a->own.woke, false, memory_order_relaxed);
	return DEV_LOOK_CHEAP;
}

int dev_run(struct dev_adapter *a, enum dev_driver by)
{
	return dev_run_look(a, by, DEV_LOOK);
}

/* All there was to do, in *ret_done things; or a round is due, *ret_done have been received. */
static bool without_round(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock)
{
	bool yes = short_round(a, ret_done);

	atomic_store_explicit(&a->short_look, yes && !*ret_done, memory_order_relaxed);
	if (yes)
		end_of_posts(a);
	return yes;
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
		end_of_posts(a);
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

	if (a->held_since)
		deadline = a->held_since + DEV_DEFER_NS;
	else
		deadline = a->machine->busy(&a->dev) ? now : a->machine->deadline(&a->dev);
	a->calm = deadline > now && !a->held_since;
	dev_own_after(a, by, deadline < next ? deadline : next);
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
	if (by == DEV_BY_APP && without_round(a, &early))
		return early;
	a->shorts = 0;
	keep = errno;
	now = ut_now();
	judge_deferral(a, now);
	dev_stage(a)->own = by == DEV_BY_THREAD ? 0 : now;
	if (by == DEV_BY_APP)
		a->own.last_round = now;
	posted = is_for_posts(a, by);
	if (by == DEV_BY_APP && !posted)
		look = look_of_poll(a);
	received = posted || early ? early : take_in(a, now, look);
	kicked = kick_pending(a);
	done = received + kicked + look_for_errors(a, by, now);
	if (!hold(a, now, posted)) {
		how = kicked ? ENG_ACKS_NOW : acks(a, by, now, received);
		done += a->machine->transmit(&a->dev, now, how);
	}
	note_deferral(a, how != ENG_ACKS_NOW, now);
	a->put_off = false;
	a->vain = 0;

	if (received)
		dev_own_received(a, by, (uint32_t)received);
	if (by == DEV_BY_APP && !kicked)
		dev_own_polled(a, now);
	if (by == DEV_BY_APP && done > DEV_LONG_ROUND)
		dev_own_busy(a, ut_now() - now);
	set_deadline(a, by, now);
	errno = keep;
	return done;
}

int dev_progress(struct eng_dev *dev)
{
	/* What was posted while the background thread held the lock is its work. */
	return dev_run(dev_adapter_of(dev), dev_thread_is_this() ? DEV_BY_THREAD : DEV_BY_APP);
}

/* --- giving way --- */

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) < 0 ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

/*
 * Who spins beside its partner on one processor waits for a scheduler tick (4 ms) unless it gives
 * way; on idle processors a yield costs less than the receive call that just found nothing. Was
 * the partner there, just behind a yield in which somebody ran for a moment, it shares this
 * processor, and the next wait gives way sooner. (A stranger would have run for a slice of his.)
 * A yield may be slow by itself; so after one that was, the scheduler is asked about the next, and
 * about one in a few when it has said yes often enough.
 */
static void give_way(struct dev_adapter *a)
{
	bool ask = atomic_load_explicit(&a->slow_yield, memory_order_relaxed), slow;
	bool sure = atomic_load_explicit(&a->haste, memory_order_relaxed) == DEV_HASTE_MOST &&
		    ++a->yields % DEV_YIELDS_ASK;
	long n = ask && !sure ? switches() : 0;
	uint64_t before = ut_now(), took;

	atomic_store_explicit(&a->gives_way, true, memory_order_relaxed);
	sched_yield();
	atomic_store_explicit(&a->gives_way, false, memory_order_relaxed);
	took = ut_now() - before;
	slow = took >= DEV_MET_NS && took < DEV_STRANGER_NS;
	atomic_store_explicit(&a->met, ask && slow && (sure || switches() != n),
			      memory_order_relaxed);
	atomic_store_explicit(&a->slow_yield, slow, memory_order_relaxed);
}

static void found(struct dev_adapter *a)
{
	unsigned haste = atomic_load_explicit(&a->haste, memory_order_relaxed), before = haste;

	if (atomic_load_explicit(&a->met, memory_order_relaxed))
		haste += haste < DEV_HASTE_MOST;
	else
		haste -= haste > 0;
	atomic_store_explicit(&a->met, false, memory_order_relaxed);
	if (haste != before)
		atomic_store_explicit(&a->haste, haste, memory_order_relaxed);
}

void dev_polled(struct eng_dev *dev, int did)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	unsigned idle = atomic_load_explicit(&a->idle_polls, memory_order_relaxed);

	/* Who looks while another thread drives has looked all the same. */
	if (!atomic_load_explicit(&a->own.beat, memory_order_relaxed))
		atomic_store_explicit(&a->own.beat, true, memory_order_relaxed);
	if (did) {
		found(a);
		idle = 0;
	} else {
		idle += atomic_load_explicit(&a->short_look, memory_order_relaxed) ? 1
										   : DEV_POLL_WEIGHT;
		if (idle > patience(a)) {
			idle = patience(a);
			give_way(a);
		}
	}
	/* Two pollers may lose each other's count, which is no harm. */
	atomic_store_explicit(&a->idle_polls, idle, memory_order_relaxed);
}

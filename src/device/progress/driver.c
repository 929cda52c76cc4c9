/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/driver.h"

#include "device/adapter.h"
#include "device/progress/thread.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/sys.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>

#define POLLS_BESIDE 64 /* polls without a round, in one round of the thread that make an application the driver, too */
#define TICKS_AWAY 1   /* ticks without a poll until the thread takes the adapter back */
#define TICKS_AWAY_TRUSTED 200 /* the same under DAPPLE_PROGRESS=poll */
#define AWAY_NS 200000ull /* a poller that has not polled for so long looks elsewhere */
#define HAND_BACK_NS 50000ull /* a thread that posts is waited for so long */
#define MISSES 3       /* packets found behind a poller's back that make it untrusted */
#define GOOD_TICKS 64   /* ticks without one until the count of them starts anew */
#define STEADY_TICKS 1024 /* ticks without one until the next judgement lasts as short as the first one */
#define WARY_NS (50 * UT_MS) /* how long the first one lasts */
#define WARY_NS_MOST (10 * UT_S)
#define QUIET_TICKS 10 /* ticks beside a waiter before the thread sleeps for good */

void dev_driver_init(struct dev_driver_state *o)
{
	const char *progress = ut_env("DAPPLE_PROGRESS");

	ut_mutex_init(&o->lock);
	atomic_init(&o->current, DEV_DRIVER_THREAD);
	atomic_init(&o->link_fd, -1);
	atomic_init(&o->deadline, UT_NEVER);
	atomic_init(&o->leader_until, UT_NEVER);
	o->ep = -1;
	ut_lock(&o->lock);
	o->wake_fd = -1;
	ut_unlock(&o->lock);
	o->polls_to_drive = DEV_POLLS_TO_DRIVE;
	o->trusted = progress && !strcmp(progress, "poll");
}

void dev_driver_fini(struct dev_driver_state *o)
{
	ut_mutex_fini(&o->lock);
}

void dev_driver_watch(struct dev_adapter *a, bool on) UT_NO_TSA
{
	struct epoll_event ev = { .events = on ? EPOLLIN : 0, .data.u64 = a->serial };
	struct dev_driver_state *o = &a->driver;

	if (o->watched == on || o->ep < 0)
		return;
	epoll_ctl(o->ep, EPOLL_CTL_MOD, atomic_load(&o->link_fd), &ev);
	o->watched = on;
	a->machine->sleep(a, on, on);
}

bool dev_driver_attend(struct dev_adapter *a, bool rings, bool sockets)
{
	struct dev_driver_state *o = &a->driver;
	bool mine;

	ut_lock(&o->lock);
	mine = atomic_load(&o->current) == DEV_DRIVER_THREAD && o->ep >= 0;
	if (mine)
		mine = a->machine->attend(a, rings, sockets);
	ut_unlock(&o->lock);
	return mine;
}

uint64_t dev_driver_tick(struct dev_driver_state *o, uint64_t now)
{
	o->quiet = 0;
	if (o->ticking)
		return UT_NEVER;
	o->ticking = true;
	o->next_tick = now + DEV_TICK_NS;
	return o->next_tick;
}

static void to_thread(struct dev_adapter *a) UT_REQUIRES(a->driver.lock)
{
	a->driver.ticking = false;
	atomic_store(&a->driver.current, DEV_DRIVER_THREAD);
	dev_driver_watch(a, true);
}

int dev_driver_attach(struct dev_adapter *a, int link_fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = a->serial };
	struct dev_driver_state *o = &a->driver;
	int r = dev_thread_start();

	if (r < 0)
		return r;
	ut_lock(&o->lock);
	o->ep = dev_thread_epoll();
	if (ut_epoll_add(o->ep, link_fd, &ev) < 0) {
		r = -errno;
		o->ep = -1;
	} else {
		atomic_store(&o->link_fd, link_fd);
		o->watched = true;
	}
	ut_unlock(&o->lock);
	return r;
}

void dev_driver_detach(struct dev_adapter *a)
{
	struct dev_driver_state *o = &a->driver;

	ut_lock(&o->lock);
	if (o->ep >= 0)
		epoll_ctl(o->ep, EPOLL_CTL_DEL, atomic_load(&o->link_fd), NULL);
	o->ep = -1;
	o->watched = o->ticking = false;
	atomic_store(&o->link_fd, -1);
	ut_close(o->wake_fd);
	o->wake_fd = -1;
	ut_unlock(&o->lock);
}

/* Stores first, then reads: driver.h says why. */
void dev_driver_after(struct dev_adapter *a, enum dev_by by, uint64_t deadline)
{
	struct dev_driver_state *o = &a->driver;
	int driver;

	atomic_store(&o->deadline, deadline);
	if (by == DEV_BY_WAITER)
		atomic_store(&o->leader_until, deadline);
	if (by == DEV_BY_THREAD)
		return; /* the thread asks dev_driver_next() before it sleeps */
	driver = atomic_load(&o->current);
	if (driver == DEV_DRIVER_THREAD ||
	    (driver == DEV_DRIVER_WAITER && deadline < atomic_load(&o->leader_until)))
		dev_thread_wake_by(deadline);
}

static void to_app(struct dev_adapter *a, uint64_t now)
{
	struct dev_driver_state *o = &a->driver;
	uint64_t told = UT_NEVER;

	if (atomic_load(&o->current) != DEV_DRIVER_THREAD)
		return;
	ut_lock(&o->lock);
	if (atomic_load(&o->current) == DEV_DRIVER_THREAD && o->ep >= 0) {
		atomic_store(&o->current, DEV_DRIVER_APP);
		dev_driver_watch(a, false);
		told = dev_driver_tick(o, now);
	}
	ut_unlock(&o->lock);
	dev_thread_wake_by(told);
}

void dev_driver_polled(struct dev_adapter *a, uint64_t now)
{
	struct dev_driver_state *o = &a->driver;

	o->polls++;
	o->last_poll = now;
	if (o->polls_to_drive == DEV_POLLS_WARY && now >= o->wary_until)
		o->polls_to_drive = DEV_POLLS_TO_DRIVE;
	atomic_store_explicit(&o->poller, (uint64_t)pthread_self(), memory_order_relaxed);
	dev_beat(o);
	if (o->polls >= o->polls_to_drive)
		to_app(a, now);
}

void dev_driver_busy(struct dev_adapter *a, uint64_t ns)
{
	struct dev_driver_state *o = &a->driver;

	o->last_poll += ns;
	if (atomic_load_explicit(&o->poller, memory_order_relaxed) == (uint64_t)pthread_self())
		atomic_store_explicit(&o->beat, true, memory_order_relaxed);
}

/* Takes the adapter back from a polling thread that leaves packets unread. received: the thread's tick has found some. */
static void judge_poller(struct dev_adapter *a, uint64_t now, bool received)
{
	struct dev_driver_state *o = &a->driver;

	if (o->trusted)
		return;
	/* The application may have polled since the thread looked at the clock and waited for the lock. */
	if (received && now > o->last_poll && now - o->last_poll > AWAY_NS) {
		o->good_ticks = 0;
		/* One such find may be the scheduler's doing. */
		if (++o->misses < MISSES)
			return;
		o->polls_to_drive = DEV_POLLS_WARY;
		o->wary_ns = o->wary_ns ? 2 * o->wary_ns : WARY_NS;
		if (o->wary_ns > WARY_NS_MOST)
			o->wary_ns = WARY_NS_MOST;
		o->wary_until = now + o->wary_ns;
		o->misses = 0;
		o->seen_by_app = o->seen_by_thread = 0;
		ut_lock(&a->driver.lock);
		if (atomic_load(&o->current) == DEV_DRIVER_APP)
			to_thread(a);
		ut_unlock(&a->driver.lock);
	} else if (++o->good_ticks >= GOOD_TICKS) {
		o->misses = 0;
		if (o->good_ticks >= STEADY_TICKS)
			o->wary_ns = 0;
	}
}

void dev_driver_judge(struct dev_driver_state *o)
{
	uint32_t all = o->seen_by_app + o->seen_by_thread;

	if (o->seen_by_app >= all - all / 4)
		o->polls_to_drive = DEV_POLLS_TO_DRIVE;
	o->seen_by_app = o->seen_by_thread = 0;
}

/*
 * A poller finds the lock taken while the thread works, which in a stream is nearly always: the poller
 * would never get the adapter, and both would be busy. Nor would a poller that yields after a poll or two,
 * since the thread gets the processor: both ends on one processor would pay two switches more per
 * message. The packets of such a round count as seen by the poller.
 */
static void look_beside(struct dev_adapter *a, uint64_t now, uint32_t packets)
{
	struct dev_driver_state *o = &a->driver;

	if (packets > o->seen_by_thread)
		packets = o->seen_by_thread;
	o->seen_by_thread -= packets;
	o->seen_by_app += packets;
	if (o->polls_to_drive != DEV_POLLS_WARY)
		to_app(a, now);
}

static bool serve_app(struct dev_adapter *a, uint64_t now) UT_REQUIRES(a->driver.lock)
{
	struct dev_driver_state *o = &a->driver;

	if (!o->ticking || now < o->next_tick)
		return false;
	atomic_fetch_add_explicit(&o->ticks, 1, memory_order_relaxed);
	o->away = atomic_exchange(&o->beat, false) ? 0 : o->away + 1;
	if (o->away < (o->trusted ? TICKS_AWAY_TRUSTED : TICKS_AWAY)) {
		o->next_tick = now + DEV_TICK_NS;
		return true;
	}
	o->away = 0;
	to_thread(a);
	return true;
}

static bool serve_waiter(struct dev_adapter *a, uint64_t now) UT_REQUIRES(a->driver.lock)
{
	struct dev_driver_state *o = &a->driver;
	uint64_t deadline = atomic_load(&o->deadline);

	if (o->ticking && now >= o->next_tick) {
		o->next_tick = now + DEV_TICK_NS;
		if (atomic_exchange(&o->beat, false))
			o->quiet = 0;
		else if (++o->quiet > QUIET_TICKS)
			o->ticking = false;
	}
	return deadline <= now && deadline < atomic_load(&o->leader_until);
}

/* A descriptor that stays readable without anything to read, or a deadline that
 * stays past, would keep a core busy: look by tick for a while instead. */
static void rest(struct dev_adapter *a, uint64_t now)
{
	struct dev_driver_state *o = &a->driver;

	o->idle_wakes = 0;
	ut_lock(&o->lock);
	if (atomic_load(&o->current) == DEV_DRIVER_THREAD) {
		atomic_store(&o->current, DEV_DRIVER_APP);
		atomic_store(&o->beat, false);
		dev_driver_watch(a, false);
		dev_driver_tick(o, now);
	}
	ut_unlock(&o->lock);
}

/* A round of the thread now would take the application's next one away, and what is posted meanwhile would be
 * the thread's work, too, for as long as more is posted than one round takes. */
static bool is_at_it(const struct dev_driver_state *o, uint64_t now)
{
	return o->last_round && now < o->last_round + AWAY_NS;
}

/*
 * What the application has posted while the thread had the lock is the work of the application's next call, which
 * follows soon if it is at it. The thread would copy by system calls, and as long as more is posted than one of its rounds
 * takes, all further posts would be its own, too. It makes the round if no call has come.
 */
static void hand_back(struct dev_adapter *a, bool claimed) UT_RELEASE(a->dev.lock)
{
	uint64_t now;

	if (!claimed || !is_at_it(&a->driver, now = ut_now())) {
		eng_dev_unlock(&a->dev);
		return;
	}
	ut_unlock(&a->dev.lock);
	for (uint64_t until = now + HAND_BACK_NS; atomic_load(&a->dev.n_pending) && now < until; now = ut_now())
		sched_yield();
	if (atomic_load(&a->dev.n_pending))
		eng_dev_run_pending(&a->dev);
}

int dev_driver_serve(struct dev_adapter *a, uint64_t now, bool readable)
{
	struct dev_driver_state *o = &a->driver;
	bool run, mine, claimed, yields;
	uint64_t before;
	int polls, since;
	int done;

	ut_lock(&a->driver.lock);
	switch (atomic_load(&o->current)) {
	case DEV_DRIVER_APP:
		run = serve_app(a, now) || readable;
		break;
	case DEV_DRIVER_WAITER:
		run = serve_waiter(a, now);
		break;
	default:
		run = readable || atomic_load(&o->deadline) <= now ||
		      atomic_load(&a->delayed_ack.since);
	}
	mine = atomic_load(&o->current) == DEV_DRIVER_THREAD;
	claimed = atomic_load(&o->current) == DEV_DRIVER_APP;
	ut_unlock(&a->driver.lock);
	if (!run)
		return 0;
	/* The driver is in a round just now: to wait for it would cost both threads a wake-up per tick. */
	if (!claimed)
		ut_lock(&a->dev.lock);
	else if (!ut_trylock_quick(&a->dev.lock))
		return 0;
	if (claimed && is_at_it(o, now)) {
		judge_poller(a, now, false);
		hand_back(a, claimed);
		return 0;
	}
	before = a->dev.counters[ENG_C_rx_pkts];
	polls = atomic_load_explicit(&a->yielding.idle_polls, memory_order_relaxed);
	yields = atomic_load_explicit(&a->yielding.yields, memory_order_relaxed);
	done = dev_run(a, DEV_BY_THREAD);
	since = atomic_load_explicit(&a->yielding.idle_polls, memory_order_relaxed);
	/* Less than before: a poll found something. */
	if (mine && (yields || (since >= polls && since - polls >= POLLS_BESIDE)))
		look_beside(a, now, (uint32_t)(a->dev.counters[ENG_C_rx_pkts] - before));
	if (claimed)
		judge_poller(a, now, a->dev.counters[ENG_C_rx_pkts] != before);
	hand_back(a, claimed);
	if (done || !mine)
		o->idle_wakes = 0;
	else if (++o->idle_wakes >= DEV_IDLE_WAKES)
		rest(a, now);
	return done;
}

uint64_t dev_driver_next(struct dev_adapter *a)
{
	struct dev_driver_state *o = &a->driver;
	uint64_t deadline, next;

	ut_lock(&o->lock);
	next = o->ticking ? o->next_tick : UT_NEVER;
	deadline = atomic_load(&o->deadline);
	switch (atomic_load(&o->current)) {
	case DEV_DRIVER_APP:
		break;
	case DEV_DRIVER_WAITER:
		if (deadline < atomic_load(&o->leader_until) && deadline < next)
			next = deadline;
		break;
	default:
		next = deadline;
	}
	ut_unlock(&o->lock);
	return next;
}

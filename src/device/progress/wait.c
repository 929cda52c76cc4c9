/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One waiter at a time leads: it watches the link beside its own descriptor and makes progress
 * itself, so that its event costs one wake-up. The others sleep on their own descriptors alone; their
 * events are raised by the leader or, once the leader has left, by the background thread. Waking
 * another waiter to lead would cost more than the rare second wake-up does.
 *
 * A leader that waits for an event of a channel sleeps on the link's own epoll set and on nothing else:
 * one call, which also takes the edge of the link's wake fd away, where a poll of that set beside
 * another descriptor costs half as much again, and a look behind it. A thread that raises an event for
 * the leader meanwhile writes wake_fd, a member of that set.
 *
 * A waiter is cancelled only inside ppoll() and epoll_pwait(), where it holds no lock; the cleanup
 * handler gives the lead back.
 */
#include "device/progress/wait.h"

#include "device/adapter.h"
#include "device/progress/fast.h"
#include "device/progress/thread.h"
#include "engine/chan.h"
#include "engine/event.h"
#include "engine/semfd.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/sys.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#define SLEEP_LEAST_NS (2 * UT_MS) /* nearer limits than this are the leader's own */
#define SLEEP_EVENTS 8

struct waiter {
	struct dev_adapter *a;
	struct eng_chan *chan; /* the wait ends with an event of this channel; NULL: with any progress */
	struct pollfd *fds; /* descriptors that the caller waits for, */
	unsigned n;         /* so many */
	uint64_t end;  /* the caller's limit, UT_NEVER: none */
	int wake_fd;   /* the driver's, while it leads */
	bool leads;
	bool on_set;   /* in epoll_pwait() */
	bool keeps_driver; /* the background thread has the adapter behind the wait if it had it before, */
	bool from_thread;  /* and it had */
	uint32_t polls, before; /* empty polls of other threads: by now, and when it began to lead */
};

/* Returns it, or -1: then the leader looks at the channel's descriptor. */
static int make_wake_fd(struct dev_driver_state *o) UT_REQUIRES(o->lock)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = eng_semfd_open();

	if (fd >= 0 && ut_epoll_add(atomic_load(&o->link_fd), fd, &ev) < 0) {
		ut_close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

/* Takes the lead unless another waiter has it or another thread is polling:
 * two threads on one link only get into each other's way. */
static void enter(struct waiter *w)
{
	struct dev_driver_state *o = &w->a->driver;

	ut_lock(&o->lock);
	atomic_fetch_add(&o->waiters, 1);
	w->leads = !o->leader && o->ep >= 0 &&
		   (atomic_load(&o->current) == DEV_DRIVER_THREAD || !atomic_load(&o->beat) ||
		    atomic_load(&o->poller) == (uint64_t)pthread_self());
	if (w->leads) {
		if (w->chan && o->wake_fd < 0)
			o->wake_fd = make_wake_fd(o);
		w->wake_fd = o->wake_fd;
		o->leader = true;
		w->from_thread = atomic_load(&o->current) == DEV_DRIVER_THREAD;
		atomic_store(&o->leader_until, 0);
		atomic_store(&o->current, DEV_DRIVER_WAITER);
		dev_driver_watch(w->a, false);
		/* The leader makes a round before it sleeps. */
		w->a->machine->sleep(w->a, true, false);
	}
	ut_unlock(&o->lock);
}

/* Gives the lead back: to the background thread if other waiters depend on it or it had the adapter before a brief wait,
 * else to its tick alone, since the caller will be back soon. Returns when the thread must look, UT_NEVER: it need not. */
static uint64_t give_back(struct waiter *w) UT_REQUIRES(w->a->driver.lock)
{
	struct dev_driver_state *o = &w->a->driver;

	o->leader = false;
	w->leads = false;
	if (atomic_load(&o->waiters) > 0 || (w->keeps_driver && w->from_thread)) {
		o->ticking = false;
		atomic_store(&o->current, DEV_DRIVER_THREAD);
		dev_driver_watch(w->a, true);
		/* A wake-up of the peer that was to go with the caller's response is the thread's now. */
		return atomic_load(&w->a->delayed_ack.since) ? 0 : atomic_load(&o->deadline);
	}
	atomic_store(&o->current, DEV_DRIVER_APP);
	w->a->machine->sleep(w->a, false, false);
	/* The caller counts as the poller, or its next wait would not lead. */
	atomic_store(&o->poller, (uint64_t)pthread_self());
	atomic_store(&o->beat, true);
	/* Nor has it been spinning: its next empty poll is the first. */
	atomic_store_explicit(&w->a->yielding.idle_polls, 0, memory_order_relaxed);
	atomic_store_explicit(&o->woke, true, memory_order_relaxed);
	return dev_driver_tick(&w->a->driver, o->ticking ? 0 : ut_now());
}

/* Another waiter of the channel may lead next. */
static void leave_chan(struct waiter *w)
{
	if (w->leads && w->chan && eng_chan_attend(w->chan, false))
		eng_semfd_down(w->wake_fd);
}

static void leave(void *arg)
{
	struct waiter *w = arg;
	struct dev_driver_state *o = &w->a->driver;
	uint64_t told = UT_NEVER;

	leave_chan(w);
	/* Cancelled, maybe with events in its hands. */
	if (w->on_set)
		atomic_store_explicit(&o->took_events, true, memory_order_release);
	ut_lock(&w->a->driver.lock);
	atomic_fetch_sub(&o->waiters, 1);
	if (w->leads)
		told = give_back(w);
	ut_unlock(&w->a->driver.lock);
	dev_thread_wake_by(told);
}

/* Another thread has begun to poll: leave the link to it, and stay as one of
 * those that only wait. */
static void step_down(struct waiter *w)
{
	struct dev_driver_state *o = &w->a->driver;
	uint64_t told;

	leave_chan(w);
	ut_lock(&o->lock);
	o->leader = false;
	w->leads = false;
	atomic_store(&o->current, DEV_DRIVER_APP);
	w->a->machine->sleep(w->a, false, false);
	atomic_store(&o->beat, true);
	told = dev_driver_tick(o, ut_now());
	ut_unlock(&o->lock);
	dev_thread_wake_by(told);
}

/* One round as the leader. Returns the number of things done. */
static int lead(struct waiter *w, enum dev_look look, uint64_t *until)
{
	struct dev_adapter *a = w->a;
	int done;

	if (w->chan && eng_chan_attend(w->chan, true))
		eng_semfd_down(w->wake_fd);
	ut_lock(&a->dev.lock);
	done = dev_run_look(a, DEV_BY_WAITER, look);
	w->polls = a->driver.polls;
	*until = atomic_load(&a->driver.leader_until);
	eng_dev_unlock(&a->dev);
	return done;
}

/* Bits of sleep_on(). */
#define READY_FDS 1  /* descriptors of the caller's */
#define READY_LINK 2

/* Sleeps on the caller's descriptors, and on the link if `link`. Returns bits of those that are ready, 0 at `until`, or -errno. */
static int sleep_on(struct waiter *w, bool link, uint64_t until)
{
	struct pollfd p[ENG_WAIT_FDS + 1];
	uint64_t now = until == UT_NEVER ? 0 : ut_now();
	struct timespec t = { 0 };
	int ready = 0;

	/* There is work that cannot be done yet, and the thread that prevents it may need this processor. */
	if (until <= now && link)
		sched_yield();
	if (until > now && until != UT_NEVER) {
		t.tv_sec = (time_t)((until - now) / UT_S);
		t.tv_nsec = (long)((until - now) % UT_S);
	}
	for (unsigned i = 0; i < w->n; i++)
		p[i] = w->fds[i];
	p[w->n] = (struct pollfd){ .fd = atomic_load(&w->a->driver.link_fd), .events = POLLIN };
	if (ppoll(p, w->n + link, until == UT_NEVER ? NULL : &t, NULL) < 0)
		return -errno;
	for (unsigned i = 0; i < w->n; i++) {
		w->fds[i].revents = p[i].revents;
		ready |= p[i].revents ? READY_FDS : 0;
	}
	return ready | (link && p[w->n].revents ? READY_LINK : 0);
}

/*
 * As sleep_on(), for a leader that has a wake_fd. A limit costs a timer that is set and taken back by
 * each sleep; one far away is left to the thread, whose timer is set once.
 */
static int sleep_on_set(struct waiter *w, uint64_t until)
{
	struct dev_driver_state *o = &w->a->driver;
	struct epoll_event ev[SLEEP_EVENTS];
	int r;

	if (until != UT_NEVER) {
		if (until < ut_now() + SLEEP_LEAST_NS)
			return sleep_on(w, true, until);
		atomic_store(&o->leader_until, UT_NEVER);
		/* See dev_driver_after(): the deadline may have become an earlier one. */
		dev_thread_wake_by(atomic_load(&o->deadline));
	}
	/* The events are not looked at: the next round asks the link, whose set may have changed meanwhile, and is told that some may
	 * have been taken that the set does not show again. */
	w->on_set = true;
	r = epoll_pwait(atomic_load(&o->link_fd), ev, SLEEP_EVENTS, -1, NULL);
	w->on_set = false;
	if (r < 0)
		return -errno;
	atomic_store_explicit(&o->took_events, true, memory_order_release);
	return r ? READY_LINK : 0;
}

static int rest(struct waiter *w, bool link, uint64_t until)
{
	if (link && w->chan && w->wake_fd >= 0)
		return sleep_on_set(w, until);
	return sleep_on(w, link, until);
}

/* Returns true if the caller has something to look for. */
static bool is_over(struct waiter *w, int done)
{
	if (!w->chan)
		return w->leads && done > 0;
	return w->leads ? !eng_chan_sleep(w->chan, w->wake_fd) : eng_chan_has(w->chan);
}

static int wait_loop(struct waiter *w)
{
	enum dev_look look = DEV_LOOK_CHEAP;
	unsigned idle = 0;
	uint64_t until = UT_NEVER;
	bool first = true;
	int r, done = 0;

	for (;;) {
		if (w->leads) {
			/* Progress first: it sends deferred acknowledgements, and what came
			 * before this moment does not make the link readable again. */
			done = lead(w, look, &until);
			if (first)
				w->before = w->polls;
			first = false;
		}
		if (is_over(w, done))
			return 0;
		look = DEV_LOOK;
		if (w->leads && w->polls >= w->before + DEV_POLLS_TO_DRIVE)
			step_down(w);
		if (w->leads && done > 0) {
			look = DEV_LOOK_CHEAP;
			idle = 0;
			continue;
		}
		if (!w->leads)
			until = UT_NEVER;
		else if (idle >= DEV_IDLE_WAKES && until > ut_now() + DEV_TICK_NS)
			until = ut_now() + DEV_TICK_NS;
		r = rest(w, w->leads && idle < DEV_IDLE_WAKES, until < w->end ? until : w->end);
		if (r < 0)
			return r;
		if (r & READY_FDS)
			return 0;
		if (r & READY_LINK)
			look = DEV_LOOK_WOKEN;
		if (!r && w->end != UT_NEVER && ut_now() >= w->end)
			return -ETIMEDOUT;
		/* Readable, yet nothing to read: do not spin on it. */
		idle = idle >= DEV_IDLE_WAKES ? 0 : r & READY_LINK ? idle + 1 : 0;
	}
}

static int wait_as(struct waiter *w)
{
	int r;

	if (dev_is_foreign(&w->a->dev))
		return -EIO;
	for (unsigned i = 0; i < w->n; i++)
		w->fds[i].revents = 0;
	/* Address changes are events too, and only the background thread is told of them. */
	r = dev_thread_start();
	if (r < 0)
		return r;
	enter(w);
	pthread_cleanup_push(leave, w);
	r = wait_loop(w);
	pthread_cleanup_pop(1);
	return r;
}

int dev_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until)
{
	struct waiter w = { .a = dev_adapter_of(dev), .fds = fds, .n = n, .end = until, .wake_fd = -1 };

	return wait_as(&w);
}

int dev_wait_comp(struct eng_dev *dev, struct eng_chan *chan)
{
	struct pollfd p = { .fd = chan->fd, .events = POLLIN };
	struct waiter w = { .a = dev_adapter_of(dev), .chan = chan, .fds = &p, .n = 1, .end = UT_NEVER, .wake_fd = -1 };

	return wait_as(&w);
}

int dev_wait_briefly(struct eng_dev *dev, uint64_t until)
{
	struct waiter w = { .a = dev_adapter_of(dev), .end = until, .wake_fd = -1, .keeps_driver = true };

	return wait_as(&w);
}

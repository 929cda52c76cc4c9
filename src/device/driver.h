/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who drives an adapter. Exactly one party watches the link's descriptor, so
 * that a packet wakes one thread and not two:
 *
 *   THREAD  the background thread has it in its epoll set and serves deadlines.
 *   APP     an application thread polls completion queues, or has just left a
 *           blocking wait: nobody watches; the background thread ticks once a
 *           millisecond, serves what is overdue, and takes the adapter back
 *           after a whole tick without a poll.
 *   WAITER  a thread blocked in wait() watches the link itself, and the deadline unless
 *           that is far away. The background thread is asleep, after ten quiet ticks
 *           until such a deadline.
 *
 *              4 empty polls                          wait()
 *     THREAD ----------------> APP <--------------------------> WAITER
 *        ^   <----------------    \  leaves / sees a poller      |  |
 *        |     tick, no poll       `---- (tick armed) -----------'  |
 *        `---------- leaves while others wait; wait() takes it -----'
 *
 * A program that polls memory for the data of a peer's Write and its queues only
 * now and then would starve itself under APP: the tick notices packets that
 * nobody looked for. From then on only being first to see the packets, beside a
 * thread that is woken for each, counts as evidence.
 *
 * In a stream the thread's rounds are long and follow one another, and a poller finds the lock
 * taken each time. So polls beside such a round hand the adapter over as well, and its
 * packets count as seen by the poller; and a poller's own long round is not time spent elsewhere.
 *
 * Evidence of polling is progress made by an application thread without
 * posted work. Posting alone is not: a program that posts and then sleeps in
 * its own poll() on a completion channel needs the background thread at once.
 *
 * All deadlines of the process meet in one timer (thread.h), armed lazily: a
 * timer that fires early costs one look, a deadline that moves away nothing.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include "util/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;
struct eng_chan;

#define DEV_TICK_NS 1000000ull
#define DEV_POLLS_TO_DRIVE 4 /* empty polls that make an application the driver */
#define DEV_POLLS_BESIDE 32 /* in one round of the thread do so too; one per event is no spinning */
#define DEV_POLLS_WARY UINT32_MAX /* none do, after it was found not to look */
#define DEV_TICKS_AWAY 1   /* ticks without a poll until the thread takes the adapter back */
#define DEV_TICKS_AWAY_TRUSTED 200 /* the same under DAPPLE_PROGRESS=poll */
#define DEV_AWAY_NS 200000ull /* without a poll for so long it looks elsewhere */
#define DEV_MISSES 3       /* such finds make it untrusted */
#define DEV_GOOD_TICKS 64   /* ticks without one until the others are forgotten */
#define DEV_TRUST_PACKETS 64 /* of so many the application must be first to see 3/4 */
#define DEV_QUIET_TICKS 10 /* ticks beside a waiter before the thread sleeps for good */
#define DEV_IDLE_WAKES 16  /* wake-ups for nothing before a descriptor is rested */

enum dev_driver_kind { DEV_DRIVER_THREAD, DEV_DRIVER_APP, DEV_DRIVER_WAITER };

/* Whose thread makes this round of progress. BY_CALL: an application's control call, which says
 * nothing about who will look next. */
enum dev_driver { DEV_BY_APP, DEV_BY_THREAD, DEV_BY_WAITER, DEV_BY_CALL };

/* How much a round asks of the system. DEV_LOOK_CHEAP: nothing that the link's descriptor will show as
 * well, since the caller sleeps on it next, or will be back may_post_direct. DEV_LOOK_WOKEN: first of all what the
 * caller was woken for, who has slept on it. */
enum dev_look { DEV_LOOK, DEV_LOOK_CHEAP, DEV_LOOK_WOKEN };

struct dev_driver_state {
	struct ut_mutex lock;
	_Atomic int owner;     /* enum dev_driver_kind; written under lock */
	_Atomic int link_fd;   /* -1 before attach; written once, under dev.lock */
	int ep;                /* the epoll set that has link_fd; written with it */
	_Atomic bool beat;     /* polled since the last tick */
	_Atomic uint32_t ticks; /* how many there were */
	bool watched UT_GUARDED_BY(lock); /* link_fd is armed in the thread's epoll set */
	bool ticking UT_GUARDED_BY(lock);
	uint64_t next_tick UT_GUARDED_BY(lock);
	unsigned quiet UT_GUARDED_BY(lock);
	unsigned away UT_GUARDED_BY(lock); /* ticks without a poll under APP */
	bool trusted; /* DAPPLE_PROGRESS=poll: the program says that it polls; constant */
	bool leader UT_GUARDED_BY(lock); /* a waiter watches the link */
	_Atomic unsigned waiters;        /* written under lock */
	unsigned idle_wakes;             /* the background thread's */
	/* In the link's set, for nobody but a leader that sleeps on that alone and is wanted
	 * (eng_chan_sleep); -1 before the first one. */
	int wake_fd UT_GUARDED_BY(lock);
	_Atomic bool woke; /* the application has just left a wait */

	/* What the last round of progress found, on the engine's clock; now or
	 * earlier = at once. Written under dev.lock. */
	_Atomic uint64_t deadline;
	/* The sleeping leader wakes by itself at this time. 0: it is about to look; UT_NEVER: the
	 * deadline is the thread's. */
	_Atomic uint64_t leader_until;

	/* dev.lock */
	uint32_t polls; /* empty polls since the thread last received something */
	uint32_t polls_to_drive; /* DEV_POLLS_TO_DRIVE or DEV_POLLS_WARY */
	uint32_t good_ticks, misses;
	uint32_t seen_by_app, seen_by_thread; /* packets since the last judgement */
	uint64_t last_poll;
	uint64_t last_round; /* made by an application thread: a poll or a post */
	_Atomic uint64_t poller; /* pthread_self() of the last one */
};

void dev_driver_init(struct dev_driver_state *o);
void dev_driver_fini(struct dev_driver_state *o);

/* The link exists: the background thread watches it. dev.lock held. 0 or -errno. */
int dev_driver_attach(struct dev_adapter *a, int link_fd);
/* The link is about to close; the thread does not look any more. */
void dev_driver_detach(struct dev_adapter *a);

/* Ends every round of progress: notes the deadline and sees that somebody is
 * awake for it. dev.lock held. */
void dev_driver_after(struct dev_adapter *a, enum dev_driver by, uint64_t deadline);
/* Who saw packets first. dev.lock held. */
void dev_driver_received(struct dev_adapter *a, enum dev_driver by, uint32_t n);
/* An application thread polled and had nothing posted. dev.lock held. */
void dev_driver_polled(struct dev_adapter *a, uint64_t now);
/* Its round took so long by itself, posted work or not: that was no time spent elsewhere.
 * dev.lock held. */
void dev_driver_busy(struct dev_adapter *a, uint64_t ns);

/* The background thread's turn with this adapter, process lock held. */
void dev_driver_serve(struct dev_adapter *a, uint64_t now, bool readable);
/* When the background thread must look again by itself. */
uint64_t dev_driver_next(struct dev_adapter *a);

/* For wait.c. The thread's epoll set reports the link, or does not. */
void dev_driver_watch(struct dev_adapter *a, bool on);
/* From here on somebody sleeps on the link's descriptor (link_ops.doze), or looks by himself. The
 * link is there as long as link_fd is. */
void dev_driver_sleep(struct dev_adapter *a, bool on, bool look);
/* The tick goes on, or starts: then returns when the thread must look, for
 * dev_thread_wake_by() after own.lock; else UT_NEVER. own.lock held. */
uint64_t dev_driver_tick(struct dev_driver_state *o, uint64_t now) UT_REQUIRES(o->lock);

/* eng_dev_ops.wait, .wait_comp */
int dev_driver_wait(struct dev_adapter *a, int fd, int also, uint64_t until);
int dev_driver_wait_comp(struct dev_adapter *a, struct eng_chan *chan);

#endif

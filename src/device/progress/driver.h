/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which thread drives an adapter. Exactly one party watches the link's descriptor, so that a packet wakes
 * one thread and not two:
 *
 *   THREAD  the background thread has the descriptor in its epoll set and serves deadlines.
 *   APP     an application thread polls completion queues, or has just left a blocking wait: no thread
 *           watches the descriptor; the background thread ticks once a millisecond, serves what is overdue,
 *           and takes the adapter back after a whole tick without a poll.
 *   WAITER  one thread blocked in wait(), the leader, watches the descriptor itself, and the deadline
 *           unless that is far away. The background thread sleeps, after ten quiet ticks until such a
 *           deadline.
 *
 *              4 empty polls                          wait()
 *     THREAD ----------------> APP <--------------------------> WAITER
 *        ^   <----------------    \  leaves / sees a poller      |  |
 *        |     tick, no poll       `---- (tick armed) -----------'  |
 *        `---------- leaves while others wait; wait() takes it -----'
 *
 * Where each thread sleeps:
 *
 *   background thread   in epoll_wait() on its own set, forever: the links of all adapters whose driver is
 *                       THREAD, address changes, and one timer for all deadlines of the process
 *                       (thread.c). It holds no lock there.
 *   leader              in epoll_pwait() on the link's set, if it waits for an event of a completion
 *                       channel; in ppoll() on the link's set and its own descriptor otherwise, or if
 *                       its limit is near (wait.c). No lock.
 *   other waiters       in ppoll() on their own descriptor alone. The driver of the moment makes that
 *                       readable, whichever it is. No lock.
 *   polling threads     nowhere; they yield (yield.h).
 *   posting threads     nowhere: a post tries dev.lock and never waits for it.
 *
 * Why no wake-up is lost. Each pair of threads below writes one word and then reads the other's, in
 * sequentially consistent order (no explicit order means that one), so at least one of the two sees
 * the other:
 *
 *   a round sets a deadline     stores `deadline`, then reads `current` and `leader_until`, and arms the
 *                               thread's timer unless another driver looks in time (dev_driver_after).
 *     the driver changes        stores `current` (the thread, the leader) or `leader_until` (the leader), then
 *                               reads `deadline`, or makes a round, which sets one.
 *   the timer fires             counts as unarmed before the deadlines are read (take_timer in thread.c); a
 *                               thread that sets a deadline meanwhile sees it unarmed and arms it again.
 *   a packet comes while        the descriptor is level-triggered for the thread, and the link says after
 *   the driver changes          sleep(on) whether anything has come: the leader makes a round between
 *                               sleep(on) and its sleep, the thread is told to look (look = true).
 *   the leader takes an event   sets `took_events` behind its sleep, or when it is cancelled in it, then makes a round or gives the
 *   that is shown once          lead back; each round reads that before it asks the link (link_streams.woken).
 *   an event is raised for      the leader says by eng_chan_sleep() that it sleeps, and looks again; the
 *   the leader's channel        thread that raises an event after that writes wake_fd, a member of the link's
 *                               set. Once the leader looks, eng_chan_attend() takes that back.
 *   a post finds dev.lock taken the poster lists its QP, then tries the lock; the holder lets go of it,
 *                               then looks for listed QPs (eng_dev_unlock).
 *   a message comes by shared   sleep(on) sets `on` in the process page, which a peer reads behind its last
 *   memory                      store (host/shm/ring.h).
 *   the thread spins            as before a sleep: attend(false) asks peers to wake it, and the descriptor shows all sockets
 *                               again; then it makes a round (attend.h).
 *   an acknowledgement is       `delayed_ack.since`: the thread serves it at once when it takes the adapter
 *   deferred                    over, and an APP's tick does at the latest.
 *
 * What counts as evidence of polling is a poll, or other progress made by an application thread without posted work.
 * Posting by itself is not: a program that posts and then sleeps in its own poll() on a completion channel needs the
 * background thread at once. But an application that drives and posts much without a poll in between, for a millisecond or
 * more, keeps the adapter.
 *
 * A program that polls memory for the data of a peer's Write, and its queues only now and then, would
 * starve itself under APP: the tick notices packets that no poll has looked for. From then on only being
 * first to see the packets, beside a thread that is woken for each, counts as evidence, until a time has passed that doubles with each
 * such judgement: on a processor that both share the thread is always first, also where the program has only computed for a while.
 *
 * In a stream the thread's rounds are long and follow one another, and a poller finds the lock taken each
 * time. So polls beside such a round hand the adapter over as well, and its packets count as seen by the
 * poller; and a poller's own long round is not time spent elsewhere.
 *
 * All deadlines of the process meet in one timer, armed lazily: a timer that fires early costs one look, a
 * deadline that moves away nothing.
 */
#ifndef DEVICE_PROGRESS_DRIVER_H
#define DEVICE_PROGRESS_DRIVER_H

#include "util/lock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;

#define DEV_TICK_NS 1000000ull
#define DEV_POLLS_TO_DRIVE 4 /* empty polls that make an application the driver */
#define DEV_POLLS_WARY UINT32_MAX /* none do, after a poller was found not to look */
#define DEV_IDLE_WAKES 16  /* wake-ups for nothing before a descriptor is rested */
#define DEV_TRUST_PACKETS 64 /* of so many the application must be first to see 3/4 */

enum dev_driver { DEV_DRIVER_THREAD, DEV_DRIVER_APP, DEV_DRIVER_WAITER };

/* The thread that makes a look at the adapter. DEV_BY_CALL: an application's control call, which says nothing
 * about which thread will look next. */
enum dev_by { DEV_BY_APP, DEV_BY_THREAD, DEV_BY_WAITER, DEV_BY_CALL };

struct dev_driver_state {
	struct ut_mutex lock;
	_Atomic int current;   /* enum dev_driver; written under lock */
	_Atomic int link_fd;   /* -1 before attach; written once, under dev.lock */
	int ep;                /* the epoll set that has link_fd; written with it */
	_Atomic bool beat;     /* polled, or posted in a batch, since the last tick */
	_Atomic uint32_t ticks; /* how many there were */
	bool watched UT_GUARDED_BY(lock); /* link_fd is armed in the thread's epoll set */
	bool ticking UT_GUARDED_BY(lock);
	uint64_t next_tick UT_GUARDED_BY(lock);
	unsigned quiet UT_GUARDED_BY(lock); /* ticks beside a waiter without a poll */
	unsigned away UT_GUARDED_BY(lock); /* ticks without a poll under APP */
	bool trusted; /* DAPPLE_PROGRESS=poll: the program says that it polls; constant */
	bool leader UT_GUARDED_BY(lock); /* a waiter watches the link */
	_Atomic unsigned waiters;        /* written under lock */
	unsigned idle_wakes;             /* the background thread's, */
	bool attended, rings;            /* as attend.h has it: at all, and its rings; */
	int polls_then;                  /* and the idle polls when it last asked */
	/* In the link's set, for a leader that sleeps on that set alone and waits for an event
	 * (eng_chan_sleep); -1 before the first one. */
	int wake_fd UT_GUARDED_BY(lock);
	_Atomic bool woke; /* the application has just left a wait */
	_Atomic bool took_events; /* a leader may have taken events of the link's set that no round knows of */

	/* What the last round found, on the engine's clock; now or earlier = at once. Written under
	 * dev.lock. */
	_Atomic uint64_t deadline;
	/* The sleeping leader wakes by itself at this time. 0: it is about to look; UT_NEVER: the
	 * deadline is the thread's. */
	_Atomic uint64_t leader_until;

	/* dev.lock */
	uint32_t polls; /* empty polls since the thread last received something */
	uint32_t polls_to_drive; /* DEV_POLLS_TO_DRIVE or DEV_POLLS_WARY */
	uint32_t good_ticks, misses;
	uint64_t wary_ns, wary_until; /* how long a poller is not trusted, and until when */
	uint32_t seen_by_app, seen_by_thread; /* packets since the last judgement */
	uint64_t last_poll;  /* some polls ago at most; the tick judges by it */
	uint64_t last_round; /* likewise, and made by an application thread: a poll or a post */
	_Atomic uint64_t poller; /* pthread_self() of the last one */
};

void dev_driver_init(struct dev_driver_state *o);
void dev_driver_fini(struct dev_driver_state *o);

/* The link exists: the background thread watches it. dev.lock held. Returns 0 or -errno. */
int dev_driver_attach(struct dev_adapter *a, int link_fd);
/* The link is about to close; the thread does not look any more. No lock held. */
void dev_driver_detach(struct dev_adapter *a);

/* Ends every round: takes the deadline, and sees that a thread is awake for it. dev.lock held. */
void dev_driver_after(struct dev_adapter *a, enum dev_by by, uint64_t deadline);
/* An application thread polled, or made a round with nothing posted. dev.lock held. */
void dev_driver_polled(struct dev_adapter *a, uint64_t now);
/* Its round took so long by itself, posted work or not: that was no time spent elsewhere.
 * dev.lock held. */
void dev_driver_busy(struct dev_adapter *a, uint64_t ns);

/* So many packets were seen: ends a judgement on the poller. dev.lock held. */
void dev_driver_judge(struct dev_driver_state *o);

/* An application thread polls, or posts a batch: evidence of polling also while another thread drives. */
static inline void dev_beat(struct dev_driver_state *o)
{
	if (!atomic_load_explicit(&o->beat, memory_order_relaxed))
		atomic_store_explicit(&o->beat, true, memory_order_relaxed);
}

/* Returns whether a leader has slept on the link's set, and taken events there, since the last call: those that the set shows once
 * are the round's to look for (link_streams.woken). dev.lock held. */
static inline bool dev_driver_took_events(struct dev_driver_state *o)
{
	return atomic_load_explicit(&o->took_events, memory_order_relaxed) && atomic_exchange(&o->took_events, false);
}

/* An application thread has polled (polls), or posted, without a round. dev.lock held. */
static inline void dev_driver_seen(struct dev_driver_state *o, bool polls, uint64_t now)
{
	o->last_round = now;
	if (polls)
		o->last_poll = now;
}

/* Which thread saw packets first. dev.lock held. */
static inline void dev_driver_received(struct dev_driver_state *o, enum dev_by by, uint32_t n)
{
	if (by == DEV_BY_APP)
		o->seen_by_app += n;
	else if (by == DEV_BY_THREAD) {
		o->seen_by_thread += n;
		o->polls = 0;
	}
	if (o->seen_by_app + o->seen_by_thread >= DEV_TRUST_PACKETS)
		dev_driver_judge(o);
}

/* The background thread's turn with this adapter. Returns the number of things done. dev_process_lock held. */
int dev_driver_serve(struct dev_adapter *a, uint64_t now, bool readable);
/* Returns when the background thread must look again by itself, UT_NEVER: when it is told. */
uint64_t dev_driver_next(struct dev_adapter *a);

/* The thread drives the adapter, and looks at its rings, and at the sockets that its descriptor does not show, so that they
 * need not wake it. Neither: it is about to sleep, and makes a round first. Returns false if it does not drive the adapter, or
 * there is nothing to look at. No lock but dev_process_lock held. */
bool dev_driver_attend(struct dev_adapter *a, bool rings, bool sockets);

/* The thread's epoll set reports the link, or does not. a->driver.lock held. */
void dev_driver_watch(struct dev_adapter *a, bool on);
/* The tick goes on, or starts: then returns when the thread must look, for dev_thread_wake_by() after
 * the lock; else UT_NEVER. */
uint64_t dev_driver_tick(struct dev_driver_state *o, uint64_t now) UT_REQUIRES(o->lock);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/fast.h"

#include "device/adapter.h"
#include "device/progress/thread.h"
#include "engine/pending.h"
#include "util/clock.h"

#include <errno.h>

#define ACK_EMPTY_POLLS 4 /* empty polls after which a delayed acknowledgement is sent */
#define ACK_RECEIVED 16   /* messages likewise: a requester that fills its queue goes on before the responder has nothing left to do */
#define CLOCK_EVERY 64u   /* polls or posts without a round until the clock is read; a power of two */

/* The adapter can be driven by this process. */
static inline bool is_drivable(const struct dev_adapter *a)
{
	return a->wired && !dev_is_foreign(&a->dev);
}

/* Returns true if `driver` drives the adapter, and no request waits. Waiting threads do not matter: under APP none leads, and each is
 * woken by its own descriptor. */
static inline bool undisturbed(struct dev_adapter *a, enum dev_driver driver) UT_REQUIRES(a->dev.lock)
{
	return atomic_load_explicit(&a->driver.current, memory_order_relaxed) == (int)driver &&
	       !atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed);
}

static inline bool may_be_fast(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	return a->rounds.without < a->rounds.most &&
	       atomic_load_explicit(&a->driver.ticks, memory_order_relaxed) == a->rounds.tick &&
	       undisturbed(a, DEV_DRIVER_APP);
}

/*
 * As dev_acks_note(), without the clock: that an acknowledgement has waited long shows in empty polls (idle: this was one). After so many
 * of those no response is on its way, and a peer with a short queue stands still until it is acknowledged. received: messages, which may
 * each wait for one.
 */
static void note_acks(struct dev_adapter *a, bool idle, uint32_t received) UT_REQUIRES(a->dev.lock)
{
	struct dev_delayed_ack *d = &a->delayed_ack;

	d->empty_polls = idle ? d->empty_polls + 1 : 0;
	d->received += received;
	if (d->empty_polls >= ACK_EMPTY_POLLS || d->received >= ACK_RECEIVED)
		a->machine->acknowledge(&a->dev, ENG_ACKS_NOW);
	d->by_fast = a->machine->acks_pending(&a->dev);
	if (!d->by_fast)
		d->received = 0;
}

/* --- a post --- */

static __attribute__((noinline)) enum proto_posted post_timed(struct dev_adapter *a, struct eng_qp *qp, unsigned how)
	UT_REQUIRES(a->dev.lock)
{
	return a->machine->post(qp, how, ut_now_coarse());
}

static inline enum proto_posted post(struct dev_adapter *a, struct eng_qp *qp, unsigned how) UT_REQUIRES(a->dev.lock);
static inline enum proto_posted post(struct dev_adapter *a, struct eng_qp *qp, unsigned how)
{
	enum proto_posted r;

	if (!dev_thread_is_this())
		how |= PROTO_POST_BY_APP | (may_be_fast(a) ? PROTO_POST_SEND : 0);
	if (dev_posts_in_batch(&a->coalescing))
		how |= PROTO_POST_BATCH;
	if (a->coalescing.batch)
		how |= PROTO_POST_MANY;
	if (a->rounds.timed_posts && (how & PROTO_POST_BY_APP))
		return post_timed(a, qp, how);
	r = a->machine->post(qp, how, 0);
	if (r != PROTO_NEEDS_TIME)
		return r;
	a->rounds.timed_posts = true;
	return post_timed(a, qp, how);
}

/* Takes in what has come. Returns true if a round is due for some of it. */
static bool receive(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	bool whole = false;

	if (a->machine->fast(&a->dev, &whole) < 0)
		a->machine->receive(a, ut_now(), false);
	else if (!whole)
		return a->machine->acks_pending(&a->dev);
	else
		a->machine->finish(&a->dev, ut_now());
	return true;
}

/*
 * A program that polls memory does not poll its completions, so an acknowledgement may have come long
 * ago that only the background thread would look at, when it gets a processor. What else has come with it
 * needs a round.
 */
static __attribute__((noinline)) enum proto_posted post_after_acks(struct dev_adapter *a, struct eng_qp *qp)
	UT_REQUIRES(a->dev.lock)
{
	bool round = receive(a);
	enum proto_posted r = post(a, qp, 0);

	if (r != PROTO_EXECUTED || !round)
		return r;
	return may_be_fast(a) ? PROTO_SENT : PROTO_NEEDS_ROUND;
}

/* A poll that took completions without a look at the adapter separates the posts before it from those after it,
 * as every poll does (dev_posts_end). */
static void look_for_polls(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	if (!atomic_load_explicit(&a->dev.reaped, memory_order_relaxed))
		return;
	atomic_store_explicit(&a->dev.reaped, false, memory_order_relaxed);
	dev_posts_end(&a->coalescing);
}

/* More polls or posts without a round, or messages of them. The background thread asks at its tick when there was the last one. */
static inline void count_without(struct dev_adapter *a, uint32_t n, bool polls) UT_REQUIRES(a->dev.lock)
{
	uint32_t before = a->rounds.without;

	a->rounds.without += n;
	if (__builtin_expect((before ^ a->rounds.without) >= CLOCK_EVERY, 0))
		dev_driver_seen(&a->driver, polls, ut_now());
}

/* A post has left without a round. */
static inline void note_sent(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	dev_posts_count(&a->coalescing, &a->driver);
	a->rounds.idle = 0; /* an answer may come */
	count_without(a, 1, false);
	if (a->delayed_ack.by_fast)
		note_acks(a, false, 0);
}

bool dev_post_fast(struct eng_dev *dev, struct eng_qp *qp)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	enum proto_posted r;

	eng_dev_held(&a->dev);
	if (!is_drivable(a))
		return false;
	look_for_polls(a);
	if (a->coalescing.since && dev_coalesce_join(a, qp))
		return true;
	r = post(a, qp, dev_thread_is_this() ? 0 : PROTO_POST_ACKS);
	if (r == PROTO_AFTER_ACKS)
		r = post_after_acks(a, qp);
	if (r != PROTO_SENT)
		return r == PROTO_EXECUTED;
	note_sent(a);
	return true;
}

bool dev_post_now(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_send_wr *wr)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	enum proto_posted r;
	unsigned how;

	eng_dev_held(&a->dev);
	if (a->coalescing.since || dev_thread_is_this())
		return false;
	look_for_polls(a);
	how = (may_be_fast(a) ? PROTO_POST_SEND : 0) | (dev_posts_in_batch(&a->coalescing) ? PROTO_POST_BATCH : 0);
	r = a->machine->post_now(qp, wr, how);
	if (r == PROTO_SENT)
		note_sent(a);
	return r != PROTO_NEEDS_ROUND;
}

/* --- a poll --- */

/* No link can take the pending requests, and callers repeat while queue pairs are pending. */
static __attribute__((cold)) int drop_pending(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	while (eng_dev_pop_pending(&a->dev))
		;
	return 0;
}

/* What look_fast() found. */
struct looked {
	int n;      /* received */
	bool whole; /* a round is due */
};

/* A round is not worth it (DEV_ROUNDS_IDLE). */
static bool stands_aside(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	return a->rounds.idle == DEV_ROUNDS_IDLE && dev_turn.idle < DEV_ASIDE_POLLS && ++a->rounds.spared % DEV_ASIDE_LOOKS;
}

/* A poll without a round, if that is enough. */
static inline struct looked look_fast(struct dev_adapter *a) UT_REQUIRES(a->dev.lock)
{
	struct looked r = { .whole = false };

	/* A thread that yields between polls polls so seldom that each must be a round. */
	if (!is_drivable(a) || !may_be_fast(a) || dev_is_yield_due(&a->yielding))
		return (struct looked){ .whole = true };
	r.n = a->machine->fast(&a->dev, &r.whole);
	if (__builtin_expect(r.n < 0, 0))
		return (struct looked){ .whole = !stands_aside(a) };
	return r;
}

/* The poll without a round is all. */
static inline void looked(struct dev_adapter *a, int n) UT_REQUIRES(a->dev.lock)
{
	dev_posts_end(&a->coalescing);
	count_without(a, n ? (uint32_t)n : 1, true);
	if (n)
		dev_driver_received(&a->driver, DEV_BY_APP, (uint32_t)n);
	if (n || a->delayed_ack.by_fast)
		note_acks(a, !n, (uint32_t)n);
}

/* Ends what look_fast() began. */
__attribute__((always_inline)) static inline int finish(struct dev_adapter *a, struct looked l, enum dev_look look) UT_REQUIRES(a->dev.lock)
{
	int did;

	atomic_store_explicit(&a->yielding.fast_look, !l.whole && !l.n && !a->yielding.asks, memory_order_relaxed);
	if (!l.whole) {
		looked(a, l.n);
		return l.n;
	}
	if (!is_drivable(a))
		return drop_pending(a);
	did = dev_round(a, DEV_BY_APP, look, l.n);
	a->rounds.idle += !did && a->rounds.idle < DEV_ROUNDS_IDLE;
	return did;
}

/* Apart, so that a poll that makes no round saves no registers for it. */
static __attribute__((noinline)) int poll_whole(struct dev_adapter *a, struct looked l, const struct eng_cq *cq) UT_RELEASE(a->dev.lock)
{
	int did = finish(a, l, DEV_LOOK);

	eng_dev_poll_end(&a->dev);
	return dev_polled(&a->dev, did, cq);
}

int dev_poll(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct looked l;

	if (!eng_dev_poll_begin(&a->dev, p))
		return dev_polled(dev, 0, cq);
	l = look_fast(a);
	if (l.whole || a->yielding.asks)
		return poll_whole(a, l, cq);
	looked(a, l.n);
	eng_dev_poll_end(&a->dev);
	dev_beat(&a->driver);
	return l.n ? dev_polled_found(&a->yielding, l.n) : dev_polled_fast(&a->yielding, cq);
}

/* --- a wake-up --- */

/*
 * The thread that sleeps on the adapter's descriptor was nearly always woken for one message. It takes that message and
 * returns; all else waits for the round before its next sleep, except for the acknowledgement (dev_acks() in
 * deferred.h).
 */
static bool wake_fast(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock)
{
	bool whole = false;
	uint64_t now;
	int n;

	if (!a->rounds.quiescent || a->delayed_ack.penalty || !undisturbed(a, DEV_DRIVER_WAITER) ||
	    atomic_load_explicit(&a->driver.waiters, memory_order_relaxed) != 1)
		return false;
	now = ut_now();
	a->stage->pages_checked_at = now;
	n = a->machine->fast(&a->dev, &whole);
	if (n <= 0)
		return false;
	*ret_done = n;
	if (whole)
		return false;
	dev_driver_received(&a->driver, DEV_BY_WAITER, (uint32_t)n);
	a->machine->acknowledge(&a->dev, ENG_ACKS_QUIETLY);
	dev_acks_note(a, true, now);
	return true;
}

/* --- the background thread, which spins --- */

int dev_run_rings(struct dev_adapter *a)
{
	bool whole = false;
	int n;

	eng_dev_held(&a->dev);
	if (!is_drivable(a))
		return -EAGAIN;
	/* Loads from the application's memory and stores to it are its own threads'. */
	a->stage->pages_checked_at = 0;
	a->rounds.most = 0;
	n = a->machine->fast(&a->dev, &whole);
	if (n < 0)
		return n;
	a->rounds.without += (uint32_t)n;
	if (whole || !a->rounds.quiescent || a->rounds.without >= DEV_ROUND_EVERY ||
	    atomic_load_explicit(&a->dev.n_pending, memory_order_relaxed))
		return dev_round(a, DEV_BY_THREAD, DEV_LOOK, n);
	if (!n)
		return 0;
	dev_driver_received(&a->driver, DEV_BY_THREAD, (uint32_t)n);
	a->rounds.idle = 0;
	if (a->machine->acks_pending(&a->dev))
		a->machine->acknowledge(&a->dev, ENG_ACKS_NOW);
	return n;
}

/* --- all of them --- */

int dev_run_look(struct dev_adapter *a, enum dev_by by, enum dev_look look)
{
	int done = 0;

	eng_dev_held(&a->dev);
	if (by == DEV_BY_APP)
		return finish(a, look_fast(a), look);
	if (!is_drivable(a))
		return drop_pending(a);
	return by == DEV_BY_WAITER && look == DEV_LOOK_WOKEN && wake_fast(a, &done) ? done : dev_round(a, by, look, done);
}

int dev_run(struct dev_adapter *a, enum dev_by by)
{
	return dev_run_look(a, by, DEV_LOOK);
}

int dev_progress(struct eng_dev *dev)
{
	struct dev_adapter *a = dev_adapter_of(dev);

	eng_dev_held(&a->dev);
	/* What was posted while the background thread held the lock is the thread's work. */
	return dev_run(a, dev_thread_is_this() ? DEV_BY_THREAD : DEV_BY_APP);
}

void dev_drive(struct eng_dev *dev)
{
	dev_run(dev_adapter_of(dev), DEV_BY_CALL);
}

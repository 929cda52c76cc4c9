/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/progress/yield.h"

#include "device/adapter.h"
#include "device/progress/wait.h"
#include "util/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#define NONE 1 /* empty polls count from none again; not 0, which says that something was found */
#define BACKOFF_MOST 5 /* so often the polls before a yield are halved at most */
#define MET_NS 500ull /* a yield in which another thread ran lasts so long at least, */
#define STRANGER_POLLS 2048 /* empty polls after a yield beside strangers until they count, */
#define WAIT_POLLS 512 /* and after a brief wait */
#define YIELDS_ASK 16 /* one yield of so many asks the scheduler when the answer is known */

__thread struct dev_turn dev_turn __attribute__((tls_model("initial-exec")));

static long switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) < 0 ? 0 : u.ru_nvcsw + u.ru_nivcsw;
}

/*
 * If a message is there just behind a yield in which another thread ran for a moment, that thread was the
 * peer and shares this processor, and the next wait yields sooner. (A stranger would have run for a
 * whole slice.) A yield may be slow by itself; so after a slow one the scheduler is asked about the
 * next, and about one in YIELDS_ASK when it has said yes often enough.
 *
 * Returns the value from which empty polls count now. Where the peer may have run, each empty poll yields. If
 * no thread ran, the processor is this thread's own, and a message that comes during the next yield would
 * only be seen later for it. A stranger that ran had a whole slice: a program that polls hundreds of queues
 * in turn must not give away one for each of them.
 */
static int give_way(struct dev_yielding *y)
{
	bool ask = atomic_load_explicit(&y->slow, memory_order_relaxed), slow;
	bool sure = atomic_load_explicit(&y->backoff, memory_order_relaxed) == BACKOFF_MOST &&
		    ++y->count % YIELDS_ASK;
	long n = ask && !sure ? switches() : 0;
	uint64_t before = ut_now(), took;
	bool met;

	atomic_store_explicit(&y->yields, true, memory_order_relaxed);
	sched_yield();
	atomic_store_explicit(&y->yields, false, memory_order_relaxed);
	took = ut_now() - before;
	slow = took >= MET_NS && took < DEV_STRANGER_NS;
	met = ask && slow && (sure || switches() != n);
	atomic_store_explicit(&y->met, met, memory_order_relaxed);
	atomic_store_explicit(&y->slow, slow, memory_order_relaxed);
	dev_yield_took(y, took);
	if (took >= DEV_STRANGER_NS)
		return -STRANGER_POLLS;
	return slow && (!ask || met) ? (int)dev_polls_before_yield(y) : NONE;
}

void dev_yield_took(struct dev_yielding *y, uint64_t ns)
{
	unsigned waits = atomic_load_explicit(&y->waits_least, memory_order_relaxed);

	if (ns < DEV_STRANGER_NS)
		waits = 0;
	else if (!waits)
		waits = DEV_BRIEF_WAITS_LEAST;
	else if (waits < DEV_BRIEF_WAITS_MOST)
		waits *= 2;
	atomic_store_explicit(&y->waits_least, waits, memory_order_relaxed);
	atomic_store_explicit(&y->waits, waits, memory_order_relaxed);
}

bool dev_wait_instead(struct dev_yielding *y)
{
	unsigned left = atomic_load_explicit(&y->waits, memory_order_relaxed);

	if (left)
		atomic_store_explicit(&y->waits, left - 1, memory_order_relaxed);
	return left > 0;
}

/* The next wait yields, or sleeps, sooner if the peer has answered in this one. */
static void note_wait(struct dev_yielding *y, bool answered)
{
	unsigned backoff = atomic_load_explicit(&y->backoff, memory_order_relaxed), before = backoff;

	if (answered)
		backoff += backoff < BACKOFF_MOST;
	else
		backoff -= backoff > 0;
	if (backoff != before)
		atomic_store_explicit(&y->backoff, backoff, memory_order_relaxed);
}

void dev_yield_found(struct dev_yielding *y)
{
	note_wait(y, atomic_load_explicit(&y->met, memory_order_relaxed));
	atomic_store_explicit(&y->met, false, memory_order_relaxed);
	atomic_store_explicit(&y->idle_polls, 0, memory_order_relaxed);
}

/* As in give_way(): a message that came while this thread slept is the peer's, which may need this processor. Returns as
 * give_way(). A poll is no cancellation point, and leaves errno alone. */
static int wait_briefly(struct eng_dev *dev, struct dev_yielding *y)
{
	int keep = errno, state, r;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	r = dev_wait_briefly(dev, ut_now() + DEV_BRIEF_WAIT_NS);
	pthread_setcancelstate(state, NULL);
	errno = keep;
	note_wait(y, !r);
	return r ? -WAIT_POLLS : 0;
}

void dev_turn_note(const struct eng_cq *cq)
{
	struct dev_turn *t = &dev_turn;

	t->polls++;
	t->idle++;
	if (cq == t->from) {
		t->over = true;
		t->length = t->polls;
		t->most = 2 * t->length;
	} else if (t->polls < t->most) {
		return;
	} else {
		t->from = cq;
		t->most = t->most < DEV_ROUND_MOST ? 2 * t->most + 1 : DEV_ROUND_MOST;
	}
	t->polls = 0;
}

/* Returns true if the thread may give way. */
static bool may_give_way(void)
{
	bool may = dev_turn.over || dev_turn.length <= DEV_POLLS_TO_YIELD;

	dev_turn.over = dev_turn.over && !may;
	return may;
}

static __attribute__((noinline)) int idle_long(struct eng_dev *dev, struct dev_yielding *y)
{
	int idle = !may_give_way() ? NONE : dev_wait_instead(y) ? wait_briefly(dev, y) : give_way(y);

	atomic_store_explicit(&y->idle_polls, idle, memory_order_relaxed);
	return 0;
}

int dev_polled(struct eng_dev *dev, int did, const struct eng_cq *cq)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct dev_yielding *y = &a->yielding;
	int idle = atomic_load_explicit(&y->idle_polls, memory_order_relaxed);

	dev_beat(&a->driver);
	if (did)
		return dev_polled_found(y, did);
	idle += atomic_load_explicit(&y->fast_look, memory_order_relaxed) ? 1 : DEV_POLL_WEIGHT;
	dev_turn_note(cq);
	if (idle > (int)dev_polls_before_yield(y))
		return idle_long(dev, y);
	atomic_store_explicit(&y->idle_polls, idle, memory_order_relaxed);
	return 0;
}

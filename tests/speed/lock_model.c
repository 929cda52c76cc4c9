/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A frequent lock, in every interleaving (explore.h): the source of util/lock itself, with a futex and a fence of other threads
 * that are steps of the model.
 *
 *	sleepers	threads that take the lock, and sleep for it
 *	a poster	a thread that publishes something, tries the lock, and leaves what it published to its holder if it fails
 *	asleep		threads that sleep already when the plain mode begins
 *
 * Three threads from the beginning in `full` alone.
 *
 * One thread holds the lock at a time, none sleeps for ever, and all that was published is seen. The plain mode begins again
 * after two releases. Without the fences of other threads the search must find how a wake-up and a publication are lost.
 */
#define UT_MUTEX_STREAK 2u

#include "model_atomics.h"

#include <unistd.h>

static long model_futex(volatile void *word, int what, uint32_t value);

#define syscall(nr, word, what, value, timeout, ...) ((void)(timeout), model_futex(word, what, value))
#include "support/shims/lock.c"
#undef syscall

#include "support/check.h"

#include <stdio.h>

static struct {
	struct ut_mutex lock;
	_Atomic uint32_t published;
	bool held;
	unsigned asleep, taken; /* threads that sleep on the lock; turns */
	bool two_asleep;        /* the lock is held, and two threads sleep for it, at the beginning */
	unsigned want;          /* turns */
} w;

bool ut_barrier_has_process(void)
{
	return true;
}

void ut_barrier_process(void)
{
	mc_fence_all();
}

static unsigned waking; /* sleepers that may go on */

static bool may_wake(void)
{
	return waking > 0;
}

/* One step compares and sleeps, or wakes one. */
static long model_futex(volatile void *word, int what, uint32_t value)
{
	mc_fence(true); /* as a system call is */
	if (what == FUTEX_WAKE_PRIVATE) {
		mc_point("futex wake");
		waking += w.asleep > waking;
		return 0;
	}
	if (mc_load(word, sizeof(uint32_t)) != value)
		return -1;
	w.asleep++;
	mc_until(may_wake, "sleeps on the lock");
	waking--;
	w.asleep--;
	return 0;
}

static void inside(void)
{
	mc_must(!w.held, "two holders");
	w.held = true;
	mc_point("holds the lock");
	w.held = false;
}

static void turn(void)
{
	ut_lock(&w.lock);
	inside();
	w.taken++;
	ut_unlock(&w.lock);
}

/* As eng_dev_unlock() and eng_dev_run_pending(). */
static void serve(void)
{
	while (atomic_load(&w.published) && ut_trylock(&w.lock)) {
		inside();
		atomic_store_explicit(&w.published, 0, memory_order_relaxed);
		ut_unlock(&w.lock);
	}
}

static void once(void)
{
	turn();
}

static void twice(void)
{
	turn();
	turn();
}

/* Wakes the first of two sleepers, and has so many turns before that one goes on that the plain mode begins. */
static void waker(void) UT_NO_TSA; /* it holds the lock from the beginning */
static void waker(void)
{
	ut_unlock(&w.lock);
	turn();
}

static void asleep(void) UT_NO_TSA; /* as ut_lock() */
static void asleep(void)
{
	mc_until(may_wake, "sleeps on the lock");
	waking--;
	w.asleep--;
	ut_mutex_sleep(&w.lock);
	inside();
	w.taken++;
	ut_unlock(&w.lock);
}

static void holder(void)
{
	turn();
	serve();
}

static void poster(void)
{
	atomic_exchange(&w.published, 1);
	serve();
}

static void reset(void)
{
	ut_mutex_init_frequent(&w.lock);
	w.published = 0;
	w.held = false;
	w.asleep = w.taken = waking = 0;
	if (!w.two_asleep)
		return;
	w.lock = (struct ut_mutex){ .word = 2, .mode = UT_MUTEX_CONTENDED };
	w.asleep = 2;
}

static uint64_t state(void)
{
	return w.taken << 24 | (uint64_t)w.held << 23 | waking << 16 | w.asleep << 8 | w.lock.streak;
}

static bool all_done(void)
{
	return w.taken == w.want && !w.published && !w.lock.word;
}

static const struct mc_model two = { "two sleepers", 2, { once, twice }, reset, state, all_done };
static const struct mc_model three = { "three sleepers", 3, { once, once, once }, reset, state, all_done };
static const struct mc_model awoken = { "two that sleep", 3, { waker, asleep, asleep }, reset, state, all_done };
static const struct mc_model posted = { "a poster", 2, { holder, poster }, reset, state, all_done };

static void search(const struct mc_model *m, unsigned turns, bool want)
{
	unsigned long states;
	bool good;

	w.want = turns;
	good = mc_explore(m, want, &states);
	printf("# %s, %s: %lu states, %s\n", m->name, mc_no_fences ? "without fences" : "as it is", states,
	       good ? "all end well" : "a way that does not");
	fflush(stdout);
	CHECK(good == want);
}

int main(int argc, char **argv)
{
	(void)argv;
	mc_watch(&w.lock.word, sizeof(w.lock.word), "word");
	mc_watch(&w.lock.mode, sizeof(w.lock.mode), "mode");
	mc_watch(&w.published, sizeof(w.published), "published");
	search(&two, 3, true);
	search(&posted, 1, true);
	w.two_asleep = true;
	search(&awoken, 3, true);
	w.two_asleep = false;
	if (argc > 1)
		search(&three, 3, true);
	mc_no_fences = true;
	search(&two, 3, false);
	search(&posted, 1, false);
	return 0;
}

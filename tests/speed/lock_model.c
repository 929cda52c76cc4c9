/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A frequent lock, in every interleaving (explore.h): the source of util/lock itself, with a futex and a fence of other threads
 * that are steps of the model.
 *
 *	sleepers	threads that take the lock, and sleep for it
 *	a poster	a thread that publishes something, tries the lock, and leaves what it published to its holder if it fails
 *	asleep		threads that sleep already when the plain mode begins
 *	owner		a thread that owns the lock when the search begins, and takes turns, posts, or tries the lock again while it holds it
 *	quick		a thread that tries the lock without having published anything
 *
 * Three threads that all begin at the beginning in `full` alone.
 *
 * One thread holds the lock at a time, none sleeps for ever, and all that was published is seen. The plain mode and the owner's way
 * begin again after two releases. Without the fences of other threads the search must find how a wake-up and a publication are
 * lost, and two holders.
 */
#define UT_MUTEX_STREAK 2u
#define UT_MUTEX_SELF() ((uintptr_t)mc_self())

#include "model_atomics.h"

#include <time.h>
#include <unistd.h>

static long model_futex(volatile void *word, int what, uint32_t value, const struct timespec *most);

#define syscall(nr, word, what, value, timeout, ...) model_futex(word, what, value, timeout)
#include "support/shims/lock.c"
#undef syscall

#include "support/check.h"

#include <stdio.h>

static struct {
	struct ut_mutex lock;
	_Atomic uint32_t published;
	bool held;
	unsigned asleep[2], waking[2]; /* threads that sleep on `word` and on `inside`; of them those that may go on */
	unsigned taken;         /* turns */
	bool two_asleep;        /* the lock is held, and two threads sleep for it, at the beginning */
	bool owned;             /* the first thread owns the lock, at the beginning */
	bool bare;              /* `word` is always released by an atomic instruction, and the owner's way does not begin again */
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

static bool word_may_wake(void)
{
	return w.waking[0] > 0;
}

static bool inside_may_wake(void)
{
	return w.waking[1] > 0;
}

static bool has_entered(void)
{
	return w.lock.inside != UT_MUTEX_ENTERING;
}

static void go_to_sleep(int on)
{
	w.asleep[on]++;
	mc_until(on ? inside_may_wake : word_may_wake, "sleeps on the lock");
	w.waking[on]--;
	w.asleep[on]--;
}

/* One step compares and sleeps, or wakes one. A sleep that has an end lasts as long as it has a reason. */
static long model_futex(volatile void *word, int what, uint32_t value, const struct timespec *most)
{
	int on = word == (volatile void *)&w.lock.inside;

	mc_fence(true); /* as a system call is */
	if (what == FUTEX_WAKE_PRIVATE) {
		mc_point("futex wake");
		w.waking[on] += w.asleep[on] > w.waking[on];
		return 0;
	}
	if (mc_load(word, sizeof(uint32_t)) != value)
		return -1;
	if (most)
		mc_until(has_entered, "waits for the owner's next step");
	else
		go_to_sleep(on);
	return 0;
}

static void hold(void)
{
	mc_must(!w.held, "two holders");
	w.held = true;
	mc_point("holds the lock");
	w.held = false;
}

static void turn(void)
{
	ut_lock(&w.lock);
	hold();
	w.taken++;
	ut_unlock(&w.lock);
}

/* As eng_dev_unlock() and eng_dev_run_pending(). */
static void serve(void)
{
	while (atomic_load(&w.published) && ut_trylock(&w.lock)) {
		hold();
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
	mc_until(word_may_wake, "sleeps on the lock");
	w.waking[0]--;
	w.asleep[0]--;
	ut_mutex_sleep(&w.lock, false);
	hold();
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

/* As a poll, and the tick of the background thread. */
static void quick(void)
{
	if (!ut_trylock_quick(&w.lock))
		return;
	hold();
	ut_unlock(&w.lock);
	serve();
}

/* A handler of a signal or of fork() that comes while the thread holds the lock. */
static void owner_again(void) UT_NO_TSA;
static void owner_again(void)
{
	ut_lock(&w.lock);
	mc_must(!ut_trylock(&w.lock), "held twice");
	hold();
	w.taken++;
	ut_unlock(&w.lock);
	serve();
}

static void thrice(void)
{
	turn();
	turn();
	turn();
}

static void reset(void)
{
	ut_mutex_init_frequent(&w.lock);
	w.published = 0;
	w.held = false;
	w.taken = 0;
	for (int i = 0; i < 2; i++)
		w.asleep[i] = w.waking[i] = 0;
	if (w.owned)
		w.lock.bias = w.lock.owner = 1;
	if (w.bare)
		w.lock.mode = UT_MUTEX_ATOMIC;
	if (!w.two_asleep)
		return;
	w.lock = (struct ut_mutex){ .word = 2, .mode = UT_MUTEX_CONTENDED };
	w.asleep[0] = 2;
}

static uint64_t state(void)
{
	uint64_t h = w.taken << 4 | w.held;

	for (int i = 0; i < 2; i++)
		h = h << 4 | w.asleep[i] << 2 | w.waking[i];
	return ((h << 8 | w.lock.streak) << 8 | w.lock.turns) << 8 | w.lock.last << 4 | w.lock.owner;
}

static bool all_done(void)
{
	return w.taken == w.want && !w.published && !w.lock.word && !w.lock.inside;
}

static const struct mc_model two = { "two sleepers", 2, { once, twice }, reset, state, all_done };
static const struct mc_model three = { "three sleepers", 3, { once, once, once }, reset, state, all_done };
static const struct mc_model awoken = { "two that sleep", 3, { waker, asleep, asleep }, reset, state, all_done };
static const struct mc_model posted = { "a poster", 2, { holder, poster }, reset, state, all_done };
static const struct mc_model owned = { "an owner, and a sleeper", 2, { thrice, once }, reset, state, all_done };
static const struct mc_model again = { "an owner that tries again, and a sleeper", 2, { owner_again, once }, reset, state, all_done };
static const struct mc_model owned_posted = { "an owner, and a poster", 2, { holder, poster }, reset, state, all_done };
static const struct mc_model posts_too = { "an owner that posts, and a poster", 2, { poster, poster }, reset, state, all_done };
static const struct mc_model with_quick = { "an owner, a poster, and a quick one", 3, { holder, poster, quick }, reset, state, all_done };
static const struct mc_model posts_quick = { "an owner that posts, a poster, and a quick one", 3, { poster, poster, quick }, reset, state, all_done };

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
	mc_watch(&w.lock.bias, sizeof(w.lock.bias), "bias");
	mc_watch(&w.lock.inside, sizeof(w.lock.inside), "inside");
	mc_watch(&w.published, sizeof(w.published), "published");
	search(&two, 3, true);
	search(&posted, 1, true);
	w.two_asleep = true;
	search(&awoken, 3, true);
	w.two_asleep = false;
	w.owned = true;
	search(&owned, 4, true);
	search(&again, 2, true);
	search(&owned_posted, 1, true);
	search(&posts_too, 0, true);
	w.bare = true;
	search(&with_quick, 1, true);
	search(&posts_quick, 0, true);
	w.bare = false;
	mc_no_fences = true;
	search(&owned, 4, false);
	search(&owned_posted, 1, false);
	mc_no_fences = w.owned = false;
	if (argc > 1)
		search(&three, 3, true);
	mc_no_fences = true;
	search(&two, 3, false);
	search(&posted, 1, false);
	return 0;
}

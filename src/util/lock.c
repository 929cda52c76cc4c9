/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* An owner goes in within some instructions, unless it has lost its processor between them. */
#define ENTERING_NS 50000

/* Returns the mode of the same epoch in which a release is atomic. */
static uint32_t contended(uint32_t mode)
{
	return (mode & ~(uint32_t)UT_MUTEX_STATE) | UT_MUTEX_CONTENDED;
}

/*
 * Sees to it that every holder that releases the lock from now on does so by an atomic instruction or notices, and that the plain
 * stores of those that have not noticed are visible. Returns false if that was so since before the caller's last attempt.
 */
static bool end_plain(struct ut_mutex *l)
{
	uint32_t mode = atomic_load(&l->mode), changing = mode | UT_MUTEX_CHANGING;

	if (!(mode & UT_MUTEX_PLAIN))
		return false;
	if (mode != changing && !atomic_compare_exchange_strong(&l->mode, &mode, changing))
		return true;
	ut_barrier_process();
	/* Its epoch tells whether it is still the same change, which any thread may complete. */
	atomic_compare_exchange_strong(&l->mode, &changing, contended(changing));
	return true;
}

/* For at most so long where `ns` is not 0. */
static void sleep_while(_Atomic uint32_t *word, uint32_t value, long ns)
{
	const struct timespec most = { .tv_nsec = ns };

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &most : NULL, NULL, 0);
}

/*
 * Closes the owner's way, for a holder of word: the owner goes in no more. Returns false while the owner is inside, which then
 * wakes those that sleep on `inside` when it leaves.
 */
static bool shut_out(struct ut_mutex *l)
{
	if (!atomic_load_explicit(&l->bias, memory_order_relaxed))
		return ut_mutex_owner_is_out(l);
	atomic_store_explicit(&l->bias, 0, memory_order_relaxed);
	ut_barrier_process();
	/* An owner that is on its way in has read `bias` before or will read it; it wakes no thread if it goes in. */
	while (atomic_load_explicit(&l->inside, memory_order_acquire) == UT_MUTEX_ENTERING)
		sleep_while(&l->inside, UT_MUTEX_ENTERING, ENTERING_NS);
	return ut_mutex_owner_is_out(l);
}

/* Ends a turn in which the owner was inside, so that it was none. Other threads may have failed to take word meanwhile, and the
 * owner as well, behind its leave. So the caller tries again unless it finds the owner inside even now. */
static bool give_back(struct ut_mutex *l)
{
	if (atomic_exchange(&l->word, 0) == 2)
		ut_mutex_wake(l);
	return atomic_load(&l->inside) == UT_MUTEX_INSIDE;
}

/* An owner on its way gets here from a handler of a signal or of fork(), and cannot wait for itself. */
static bool is_on_its_way(struct ut_mutex *l)
{
	return atomic_load_explicit(&l->bias, memory_order_relaxed) == UT_MUTEX_SELF();
}

static bool try_again(struct ut_mutex *l, bool taken)
{
	do {
		if (taken) {
			bool self = is_on_its_way(l);

			if (!self && shut_out(l))
				return true;
			if (give_back(l) || self)
				return false;
		} else {
			end_plain(l);
		}
		taken = ut_mutex_take(l);
	} while (taken || (atomic_load(&l->mode) & UT_MUTEX_PLAIN));
	return false;
}

bool ut_mutex_try_again(struct ut_mutex *l, bool taken)
{
	int kept = errno;
	bool r = (taken || (atomic_load(&l->mode) & UT_MUTEX_PLAIN)) && try_again(l, taken);

	errno = kept;
	return r;
}

/* A holder that is to release the lock by an atomic instruction. It needs no fence of other threads: it has seen the plain stores
 * of all holders before it. */
static void end_plain_held(struct ut_mutex *l)
{
	uint32_t mode = atomic_load(&l->mode);

	if ((mode & UT_MUTEX_STATE) == UT_MUTEX_PLAIN)
		atomic_compare_exchange_strong(&l->mode, &mode, contended(mode));
}

/* A thread that has slept takes the lock as 2, because other threads may sleep on it as well, and its release wakes the next one. The
 * plain mode may have begun before it went on. */
static void take_asleep(struct ut_mutex *l)
{
	while (atomic_exchange(&l->word, 2))
		if (!end_plain(l))
			sleep_while(&l->word, 2, 0);
	end_plain_held(l);
}

void ut_mutex_sleep(struct ut_mutex *l, bool taken)
{
	int kept = errno;

	if (!taken)
		take_asleep(l);
	while (!shut_out(l))
		sleep_while(&l->inside, UT_MUTEX_INSIDE, 0);
	errno = kept;
}

static void wake(_Atomic uint32_t *word)
{
	int kept = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = kept;
}

void ut_mutex_wake(struct ut_mutex *l)
{
	wake(&l->word);
}

/* The fence makes visible all that other threads published before they closed the owner's way. */
void ut_mutex_left(struct ut_mutex *l)
{
	atomic_store_explicit(&l->inside, UT_MUTEX_OUTSIDE, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	wake(&l->inside);
}

/*
 * The plain mode begins again, in the hands of a holder that still releases the lock by an atomic instruction. A thread that
 * slept before would not be woken by the next plain store: then it does not begin.
 */
static void begin_plain(struct ut_mutex *l)
{
	uint32_t mode = atomic_load(&l->mode), plain;

	l->streak = 0;
	if ((mode & UT_MUTEX_STATE) != UT_MUTEX_CONTENDED)
		return;
	plain = ((mode + UT_MUTEX_EPOCH) & ~(uint32_t)UT_MUTEX_STATE) | UT_MUTEX_PLAIN;
	atomic_store(&l->mode, plain);
	if (atomic_load(&l->word) != 1)
		atomic_compare_exchange_strong(&l->mode, &plain, contended(plain));
}

/* The plain store may have replaced the 2 of a thread that sleeps. What other threads published before they failed to take the lock
 * is visible behind the fence. */
void ut_mutex_noticed(struct ut_mutex *l)
{
	atomic_thread_fence(memory_order_seq_cst);
	ut_mutex_wake(l);
}

/* A streak of turns ends: the thread becomes the owner, or its way begins again. */
void ut_mutex_own(struct ut_mutex *l)
{
	l->turns = 0;
	if (l->owner && l->owner != l->last)
		return;
	l->owner = l->last;
	atomic_store_explicit(&l->bias, l->owner, memory_order_relaxed);
}

/* By an atomic instruction. */
void ut_mutex_release(struct ut_mutex *l)
{
	if (atomic_load_explicit(&l->mode, memory_order_relaxed) != UT_MUTEX_ATOMIC) {
		ut_mutex_count_turn(l);
		if (++l->streak >= UT_MUTEX_STREAK)
			begin_plain(l);
	}
	if (__builtin_expect(atomic_exchange(&l->word, 0) == 2, 0))
		ut_mutex_wake(l);
}

static int sleep_on(struct ut_cond *c, uint32_t seen, uint64_t until)
{
	struct timespec ts = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
	int kept = errno, r;

	r = syscall(SYS_futex, &c->changes, FUTEX_WAIT_BITSET_PRIVATE, seen,
		    until == UINT64_MAX ? NULL : &ts, NULL, FUTEX_BITSET_MATCH_ANY) ? errno : 0;
	errno = kept;
	return r == ETIMEDOUT ? -ETIMEDOUT : 0;
}

int ut_cond_wait(struct ut_cond *c, struct ut_mutex *l, uint64_t until) UT_NO_TSA
{
	uint32_t seen = atomic_load_explicit(&c->changes, memory_order_relaxed);
	int r;

	c->waiters++;
	ut_unlock(l);
	r = sleep_on(c, seen, until);
	ut_lock(l);
	c->waiters--;
	return r;
}

/* Between the two calls of pthread_setcanceltype() no lock is held and nothing is allocated, so
 * that the thread may end at any instruction. */
int ut_cond_wait_or_end(struct ut_cond *c, struct ut_mutex *l, uint64_t until) UT_NO_TSA
{
	uint32_t seen = atomic_load_explicit(&c->changes, memory_order_relaxed);
	int r, type;

	c->waiters++;
	ut_unlock(l);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
	r = sleep_on(c, seen, until);
	pthread_setcanceltype(type, &type);
	ut_lock(l);
	c->waiters--;
	return r;
}

void ut_cond_wake(struct ut_cond *c)
{
	int kept = errno;

	syscall(SYS_futex, &c->changes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = kept;
}

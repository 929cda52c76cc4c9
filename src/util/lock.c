/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

bool ut_mutex_try_again(struct ut_mutex *l)
{
	do {
		end_plain(l);
		if (ut_mutex_take(l))
			return true;
	} while (atomic_load(&l->mode) & UT_MUTEX_PLAIN);
	return false;
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
void ut_mutex_sleep(struct ut_mutex *l)
{
	int kept = errno;

	while (atomic_exchange(&l->word, 2))
		if (!end_plain(l))
			syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	end_plain_held(l);
	errno = kept;
}

void ut_mutex_wake(struct ut_mutex *l)
{
	int kept = errno;

	syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = kept;
}

/*
 * The plain mode begins again, in the hands of a holder that still releases the lock by an atomic instruction. A thread that
 * slept before would not be woken by the next plain store: then it does not begin.
 */
void ut_mutex_begin_plain(struct ut_mutex *l)
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

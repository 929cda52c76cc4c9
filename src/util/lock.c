/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A thread that has slept takes the lock as 2, because other threads may sleep on it as well. */
void ut_mutex_sleep(struct ut_mutex *l)
{
	int kept = errno;

	while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire))
		syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = kept;
}

void ut_mutex_wake(struct ut_mutex *l)
{
	int kept = errno;

	syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = kept;
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

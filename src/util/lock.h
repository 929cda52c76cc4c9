/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A mutex that clang's thread safety analysis understands, and the annotations with which a struct
 * names the lock that guards a field. The order of all locks is in docs/locking.md.
 *
 * It is a word and a futex: one atomic instruction takes it and one releases it, inline. A pthread
 * mutex needs some forty instructions more, and a message takes a dozen locks. Taking, a failed
 * attempt and releasing are sequentially consistent: if a thread publishes something in that order
 * too and then fails to take the lock, the holder sees it after it has released the lock.
 */
#ifndef UTIL_LOCK_H
#define UTIL_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__clang__) && __clang_major__ >= 19
#define UT_TSA(x) __attribute__((x))
#else
#define UT_TSA(x)
#endif

#define UT_CAPABILITY(n) UT_TSA(capability(n))
/* The operand is a member name: parentheses or no address make clang lose it. */
#define UT_GUARDED_BY(l) UT_TSA(guarded_by(&l))
#define UT_REQUIRES(l) UT_TSA(requires_capability(l))
#define UT_ACQUIRE(l) UT_TSA(acquire_capability(l))
#define UT_TRY_ACQUIRE(l) UT_TSA(try_acquire_capability(true, l))
#define UT_RELEASE(l) UT_TSA(release_capability(l))
#define UT_EXCLUDES(l) UT_TSA(locks_excluded(l))
#define UT_NO_TSA UT_TSA(no_thread_safety_analysis)
/* Tells the analysis that the caller holds the lock, as the contract in prose says. */
#define UT_ASSERT_HELD(l) UT_TSA(assert_capability(l))

struct UT_CAPABILITY("mutex") ut_mutex {
	_Atomic uint32_t word; /* 0: free, 1: held, 2: held, and threads may sleep on it */
};

#define UT_MUTEX_INIT { 0 }

/* The slow halves of ut_lock() and ut_unlock(). errno is kept. */
void ut_mutex_sleep(struct ut_mutex *l);
void ut_mutex_wake(struct ut_mutex *l);

static inline void ut_mutex_init(struct ut_mutex *l)
{
	atomic_init(&l->word, 0);
}

static inline void ut_mutex_fini(struct ut_mutex *l)
{
	(void)l; /* nothing to free; stands where the other members are freed */
}

static inline bool ut_trylock(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock(struct ut_mutex *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(&l->word, &free, 1);
}

static inline void ut_lock(struct ut_mutex *l) UT_ACQUIRE(l) UT_NO_TSA;
static inline void ut_lock(struct ut_mutex *l)
{
	if (__builtin_expect(!ut_trylock(l), 0))
		ut_mutex_sleep(l);
}

static inline void ut_unlock(struct ut_mutex *l) UT_RELEASE(l) UT_NO_TSA;
static inline void ut_unlock(struct ut_mutex *l)
{
	if (__builtin_expect(atomic_exchange(&l->word, 0) == 2, 0))
		ut_mutex_wake(l);
}

/* What waiters sleep on until something under a mutex has changed. */
struct ut_cond {
	_Atomic uint32_t changes;
	uint32_t waiters; /* under the mutex; threads that were cancelled still count */
};

#define UT_COND_INIT { 0 }

static inline void ut_cond_init(struct ut_cond *c)
{
	atomic_init(&c->changes, 0);
	c->waiters = 0;
}

/*
 * Called with l held; releases it while the thread sleeps and takes it again. May return without a
 * change: the caller tests its condition again. Returns 0, or -ETIMEDOUT at `until` (ns of
 * CLOCK_MONOTONIC; UINT64_MAX: never). No cancellation point.
 */
int ut_cond_wait(struct ut_cond *c, struct ut_mutex *l, uint64_t until) UT_REQUIRES(l);
/* The same, as a cancellation point: a thread that is cancelled here does not hold the mutex. */
int ut_cond_wait_or_end(struct ut_cond *c, struct ut_mutex *l, uint64_t until) UT_REQUIRES(l);
/* Wakes those that sleep. errno is kept. */
void ut_cond_wake(struct ut_cond *c);
/* Wakes all waiters. Called with the mutex held. */
static inline void ut_cond_broadcast(struct ut_cond *c)
{
	atomic_fetch_add_explicit(&c->changes, 1, memory_order_relaxed);
	if (c->waiters)
		ut_cond_wake(c);
}

#endif

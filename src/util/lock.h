/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A mutex that clang's thread safety analysis understands, and the annotations with which a struct
 * names the lock that guards a field. The order of all locks is in docs/locking.md.
 *
 * It is a word and a futex: one atomic instruction takes it and one releases it, inline. A pthread
 * mutex needs some forty instructions more, and a message takes a dozen locks. Taking, a failed
 * attempt and releasing are sequentially consistent: if a thread publishes something in that order
 * too and then fails to take the lock, the holder sees it after it has released the lock.
 *
 * A frequent lock (ut_mutex_init_frequent) is released by a plain store as long as one thread at a time wants it: an atomic instruction
 * waits until all earlier stores have left the store buffer, and those of a message go to lines that the peer's processor
 * holds. Behind that store the holder reads `mode` again. A thread that finds the lock taken ends the plain mode, executes a
 * fence in the holder's place (barrier.h), and tries once more. So either that attempt sees the plain store, or the holder
 * sees the new mode, and what the other thread had published, and wakes it. After UT_MUTEX_STREAK releases by an atomic
 * instruction the plain mode begins again. tests/speed/lock_model.c goes through all orders of these steps.
 */
#ifndef UTIL_LOCK_H
#define UTIL_LOCK_H

#include "util/barrier.h"

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

/* How a lock is released: these bits of `mode`. The others count how often the plain mode has begun. */
enum {
	UT_MUTEX_ATOMIC = 0,    /* by an atomic instruction, always */
	UT_MUTEX_CONTENDED = 1, /* by an atomic instruction, for a streak */
	UT_MUTEX_PLAIN = 2,     /* by a plain store */
	UT_MUTEX_CHANGING = 3,  /* by an atomic instruction; a holder may not know that yet */
	UT_MUTEX_STATE = 3,     /* mask of these two bits */
	UT_MUTEX_EPOCH = 4,     /* the count's unit */
};

#ifndef UT_MUTEX_STREAK /* tests have a shorter one */
#define UT_MUTEX_STREAK 512u /* a contended frequent lock costs at most one fence of other threads in so many turns */
#endif

struct UT_CAPABILITY("mutex") ut_mutex {
	_Atomic uint32_t word; /* 0: free, 1: held, 2: held, and threads may sleep on it */
	_Atomic uint32_t mode;
	uint32_t streak; /* releases since a thread has contended; the holder's */
};

#define UT_MUTEX_INIT { 0 }

/* The slow parts of the functions below. errno is kept. */
void ut_mutex_sleep(struct ut_mutex *l);
void ut_mutex_wake(struct ut_mutex *l);
bool ut_mutex_try_again(struct ut_mutex *l);
void ut_mutex_begin_plain(struct ut_mutex *l);
void ut_mutex_noticed(struct ut_mutex *l);

static inline void ut_mutex_init(struct ut_mutex *l)
{
	*l = (struct ut_mutex)UT_MUTEX_INIT;
}

/* A lock that threads take for every message, and one thread at a time as a rule. It must outlive ut_unlock() by any thread. */
static inline void ut_mutex_init_frequent(struct ut_mutex *l)
{
	ut_mutex_init(l);
	if (ut_barrier_has_process())
		atomic_init(&l->mode, UT_MUTEX_PLAIN);
}

static inline void ut_mutex_fini(struct ut_mutex *l)
{
	(void)l; /* nothing to free; stands where the other members are freed */
}

static inline bool ut_mutex_take(struct ut_mutex *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(&l->word, &free, 1);
}

static inline bool ut_trylock(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock(struct ut_mutex *l)
{
	if (ut_mutex_take(l))
		return true;
	return atomic_load(&l->mode) & UT_MUTEX_PLAIN && ut_mutex_try_again(l);
}

/* The same for a thread that has published nothing which a holder should see: a failed attempt is ordered with nothing, costs
 * a frequent lock no fence, and may be due to a holder that has just released the lock. */
static inline bool ut_trylock_quick(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock_quick(struct ut_mutex *l)
{
	return ut_mutex_take(l);
}

static inline void ut_lock(struct ut_mutex *l) UT_ACQUIRE(l) UT_NO_TSA;
static inline void ut_lock(struct ut_mutex *l)
{
	if (__builtin_expect(!ut_mutex_take(l), 0))
		ut_mutex_sleep(l);
}

static inline void ut_unlock(struct ut_mutex *l) UT_RELEASE(l) UT_NO_TSA;
static inline void ut_unlock(struct ut_mutex *l)
{
	uint32_t mode = atomic_load_explicit(&l->mode, memory_order_relaxed);

	if ((mode & UT_MUTEX_STATE) == UT_MUTEX_PLAIN) {
		atomic_store_explicit(&l->word, 0, memory_order_release);
		ut_barrier_light();
		if (__builtin_expect(atomic_load_explicit(&l->mode, memory_order_relaxed) != mode, 0))
			ut_mutex_noticed(l);
		return;
	}
	if (mode && __builtin_expect(++l->streak >= UT_MUTEX_STREAK, 0))
		ut_mutex_begin_plain(l);
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

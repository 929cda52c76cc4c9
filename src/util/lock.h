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
 * A frequent lock (ut_mutex_init_frequent) is taken for every message, and an atomic instruction waits until all earlier stores
 * have left the store buffer, which go to lines that the peer's processor holds. So such a lock has two cheaper ways. In each a
 * thread that finds the lock in another's hands executes a fence in the other's place (barrier.h).
 *
 *	by its owner	The first thread that takes the lock UT_MUTEX_STREAK times in a row owns it from then on: `bias` names the
 *			owner, who takes and releases the lock by plain stores to `inside`, and reads `bias` behind each. Any other
 *			thread takes `word`, clears `bias`, executes the fence, and waits until `inside` is free: the owner either
 *			was inside before, or sees that `bias` has gone and takes `word` as well. After as many turns in a row the
 *			owner's way begins again. The owner stays the same, since one that loses its processor between two
 *			steps may store to `inside` at any later time.
 *	plain		`word` is taken by an atomic instruction, and released by a plain store, behind which the holder reads `mode`
 *			again. A thread that finds `word` taken ends this mode, executes the fence, and tries once more. So either
 *			that attempt sees the plain store, or the holder sees the new mode, and what the other thread had published, and
 *			wakes it. After UT_MUTEX_STREAK releases by an atomic instruction the plain mode begins again.
 *
 * tests/speed/lock_model.c goes through all orders of these steps.
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

/* Identifies a running thread. */
#ifndef UT_MUTEX_SELF
#define UT_MUTEX_SELF() ((uintptr_t)__builtin_thread_pointer())
#endif

/* The owner's steps: values of `inside`. */
enum {
	UT_MUTEX_OUTSIDE = 0,
	UT_MUTEX_ENTERING = 1, /* the owner goes in or, if `bias` has gone, back out */
	UT_MUTEX_INSIDE = 2,   /* the owner holds the lock */
};

struct UT_CAPABILITY("mutex") ut_mutex {
	_Atomic uint32_t word; /* 0: free, 1: held, 2: held, and threads may sleep on it */
	_Atomic uint32_t mode;
	_Atomic uintptr_t bias;  /* the owner while its way is open, else 0; changed by the holder of word */
	_Atomic uint32_t inside; /* the owner's */
	/* Of the holder of word. */
	uint32_t streak; /* releases since a thread has contended */
	uint32_t turns;  /* releases in a row by `last` */
	uintptr_t last, owner;
};

#define UT_MUTEX_INIT { 0 }

/* The slow parts of the functions below. errno is kept. taken: the caller holds word. */
void ut_mutex_sleep(struct ut_mutex *l, bool taken);
void ut_mutex_wake(struct ut_mutex *l);
bool ut_mutex_try_again(struct ut_mutex *l, bool taken);
void ut_mutex_release(struct ut_mutex *l);
void ut_mutex_noticed(struct ut_mutex *l);
void ut_mutex_own(struct ut_mutex *l);
void ut_mutex_left(struct ut_mutex *l);

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

/* The owner's way. Returns false if it is not open to this thread, or if the thread is inside. */
static inline bool ut_mutex_enter(struct ut_mutex *l)
{
	uintptr_t self = UT_MUTEX_SELF();

	if (atomic_load_explicit(&l->bias, memory_order_relaxed) != self ||
	    atomic_load_explicit(&l->inside, memory_order_relaxed) != UT_MUTEX_OUTSIDE)
		return false;
	atomic_store_explicit(&l->inside, UT_MUTEX_ENTERING, memory_order_relaxed);
	ut_barrier_light();
	if (__builtin_expect(atomic_load_explicit(&l->bias, memory_order_relaxed) != self, 0)) {
		ut_mutex_left(l);
		return false;
	}
	atomic_store_explicit(&l->inside, UT_MUTEX_INSIDE, memory_order_relaxed);
	return true;
}

static inline bool ut_mutex_take(struct ut_mutex *l)
{
	uint32_t free = 0;

	return atomic_compare_exchange_strong(&l->word, &free, 1);
}

/* For the holder of word. False: the owner may be inside, or may still go in. */
static inline bool ut_mutex_owner_is_out(struct ut_mutex *l)
{
	return !atomic_load_explicit(&l->bias, memory_order_relaxed) &&
	       atomic_load_explicit(&l->inside, memory_order_acquire) != UT_MUTEX_INSIDE;
}

static inline bool ut_trylock(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock(struct ut_mutex *l)
{
	bool taken;

	if (ut_mutex_enter(l))
		return true;
	taken = ut_mutex_take(l);
	return (taken && ut_mutex_owner_is_out(l)) || ut_mutex_try_again(l, taken);
}

/* The same for a thread that has published nothing which a holder should see: a failed attempt is ordered with nothing, costs
 * a frequent lock no fence, and may be due to a holder that has just released the lock. */
static inline bool ut_trylock_quick(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock_quick(struct ut_mutex *l)
{
	if (ut_mutex_enter(l))
		return true;
	if (atomic_load_explicit(&l->inside, memory_order_relaxed) == UT_MUTEX_INSIDE || !ut_mutex_take(l))
		return false;
	return ut_mutex_owner_is_out(l) || ut_mutex_try_again(l, true);
}

static inline void ut_lock(struct ut_mutex *l) UT_ACQUIRE(l) UT_NO_TSA;
static inline void ut_lock(struct ut_mutex *l)
{
	bool taken;

	if (ut_mutex_enter(l))
		return;
	taken = ut_mutex_take(l);
	if (__builtin_expect(!taken || !ut_mutex_owner_is_out(l), 0))
		ut_mutex_sleep(l, taken);
}

/* The turn of a holder of word ends. */
static inline void ut_mutex_count_turn(struct ut_mutex *l)
{
	uintptr_t self = UT_MUTEX_SELF();

	if (l->last != self) {
		l->last = self;
		l->turns = 0;
	} else if (__builtin_expect(++l->turns >= UT_MUTEX_STREAK, 0)) {
		ut_mutex_own(l);
	}
}

static inline void ut_unlock(struct ut_mutex *l) UT_RELEASE(l) UT_NO_TSA;
static inline void ut_unlock(struct ut_mutex *l)
{
	uint32_t mode;

	/* Then this thread is the owner: where another one holds word, the owner is out. */
	if (atomic_load_explicit(&l->inside, memory_order_relaxed) == UT_MUTEX_INSIDE) {
		atomic_store_explicit(&l->inside, UT_MUTEX_OUTSIDE, memory_order_release);
		ut_barrier_light();
		if (__builtin_expect(!atomic_load_explicit(&l->bias, memory_order_relaxed), 0))
			ut_mutex_left(l);
		return;
	}
	mode = atomic_load_explicit(&l->mode, memory_order_relaxed);
	if ((mode & UT_MUTEX_STATE) != UT_MUTEX_PLAIN) {
		ut_mutex_release(l);
		return;
	}
	ut_mutex_count_turn(l);
	atomic_store_explicit(&l->word, 0, memory_order_release);
	ut_barrier_light();
	if (__builtin_expect(atomic_load_explicit(&l->mode, memory_order_relaxed) != mode, 0))
		ut_mutex_noticed(l);
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

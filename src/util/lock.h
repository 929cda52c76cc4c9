/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A mutex that clang's thread safety analysis understands, and the words with
 * which a struct says which lock guards which field. Other compilers see
 * plain pthread mutexes. The order of all locks is in docs/locking.md.
 */
#ifndef UTIL_LOCK_H
#define UTIL_LOCK_H

#include <pthread.h>
#include <stdbool.h>

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
/* Tells the analysis what the reader was told in prose: the caller has it. */
#define UT_ASSERT_HELD(l) UT_TSA(assert_capability(l))

struct UT_CAPABILITY("mutex") ut_mutex {
	pthread_mutex_t m;
};

static inline void ut_mutex_init(struct ut_mutex *l)
{
	pthread_mutex_init(&l->m, NULL);
}

static inline void ut_mutex_fini(struct ut_mutex *l)
{
	pthread_mutex_destroy(&l->m);
}

static inline void ut_lock(struct ut_mutex *l) UT_ACQUIRE(l) UT_NO_TSA;
static inline void ut_lock(struct ut_mutex *l)
{
	pthread_mutex_lock(&l->m);
}

static inline bool ut_trylock(struct ut_mutex *l) UT_TRY_ACQUIRE(l) UT_NO_TSA;
static inline bool ut_trylock(struct ut_mutex *l)
{
	return pthread_mutex_trylock(&l->m) == 0;
}

static inline void ut_unlock(struct ut_mutex *l) UT_RELEASE(l) UT_NO_TSA;
static inline void ut_unlock(struct ut_mutex *l)
{
	pthread_mutex_unlock(&l->m);
}

#endif

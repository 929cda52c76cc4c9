/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The lock of what every transfer meets, endpoints and EVDs: one atomic instruction to take it and one
 * to let go of it, inline. A pthread mutex takes forty instructions more, four times per message.
 */
#ifndef DAT_PROVIDER_LOCK_H
#define DAT_PROVIDER_LOCK_H

#include "util/lock.h"

#include <stdatomic.h>
#include <stdint.h>

struct UT_CAPABILITY("mutex") dpr_lock {
	_Atomic uint32_t word; /* 0: free, 1: held, 2: held, and somebody may sleep on it (futex) */
};

/* In lock.c; errno is kept. */
void dpr_lock_sleep(struct dpr_lock *l);
void dpr_lock_wake(struct dpr_lock *l);

static inline void dpr_lock_init(struct dpr_lock *l)
{
	atomic_init(&l->word, 0);
}

static inline void dpr_lock(struct dpr_lock *l) UT_ACQUIRE(l) UT_NO_TSA;
static inline void dpr_lock(struct dpr_lock *l)
{
	uint32_t free = 0;

	if (__builtin_expect(!atomic_compare_exchange_strong_explicit(&l->word, &free, 1,
								      memory_order_acquire,
								      memory_order_relaxed), 0))
		dpr_lock_sleep(l);
}

static inline void dpr_unlock(struct dpr_lock *l) UT_RELEASE(l) UT_NO_TSA;
static inline void dpr_unlock(struct dpr_lock *l)
{
	if (__builtin_expect(atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2, 0))
		dpr_lock_wake(l);
}

#endif

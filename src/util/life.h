/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A word in shared memory that says whether its process is still the one that wrote it, without a
 * system call of who asks.
 *
 * A process number proves nothing: its program may have been replaced (execve), or the number
 * given away. But the kernel keeps a promise to each thread: when it ends, in whatever way, and before
 * its address space is let go of, FUTEX_OWNER_DIED is set in the words of its robust list that hold
 * its number (set_robust_list(2), Documentation/locking/robust-futexes.rst). The background thread
 * lives as long as its process and address space do, has no lock that is robust, and so has its list
 * for this. As long as it lives the word holds its number.
 */
#ifndef UTIL_LIFE_H
#define UTIL_LIFE_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>

struct ut_life {
	struct robust_list node; /* read by the kernel: addresses of the owner's */
	_Atomic uint32_t owner;  /* a thread's number, and what the kernel adds; 0: nobody promises */
};

enum ut_life_says {
	UT_LIFE_NOTHING, /* find out in another way */
	UT_LIFE_HERE,    /* when it was read: the same process, and the same address space */
	UT_LIFE_GONE,    /* for good */
};

/* By any process that maps it. */
static inline enum ut_life_says ut_life(const struct ut_life *l)
{
	uint32_t owner = atomic_load_explicit(&l->owner, memory_order_acquire);

	if (owner & FUTEX_OWNER_DIED)
		return UT_LIFE_GONE;
	return owner ? UT_LIFE_HERE : UT_LIFE_NOTHING;
}

/* *l lies in memory that stays mapped until ut_life_remove(), and says nothing while no thread promises. */
void ut_life_add(struct ut_life *l);
/* Says nothing any more. One that was not added by this process is left alone. */
void ut_life_remove(struct ut_life *l);

/* Called by the thread that promises, one at a time, as it begins and before it ends. It takes no robust mutex
 * of pthread's in between. */
void ut_life_begin(void);
void ut_life_end(void);
/* In a child of fork(), where that thread is not, and whose words are the parent's. */
void ut_life_forget(void);

#endif

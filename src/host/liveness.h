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
#ifndef HOST_LIVENESS_H
#define HOST_LIVENESS_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct host_life {
	struct robust_list node; /* read by the kernel: addresses of the owner's */
	_Atomic uint32_t owner;  /* a thread's number, and what the kernel adds; 0: nobody promises */
};

enum host_life_says {
	HOST_LIFE_NOTHING, /* find out in another way */
	HOST_LIFE_HERE,    /* when it was read: the same process, and the same address space */
	HOST_LIFE_GONE,    /* for good */
};

/* By any process that maps it. */
static inline enum host_life_says host_life(const struct host_life *l)
{
	uint32_t owner = atomic_load_explicit(&l->owner, memory_order_acquire);

	if (owner & FUTEX_OWNER_DIED)
		return HOST_LIFE_GONE;
	return owner ? HOST_LIFE_HERE : HOST_LIFE_NOTHING;
}

/* *l lies in memory that stays mapped until host_life_remove(), and says nothing while no thread promises. */
void host_life_add(struct host_life *l);
/* Says nothing any more. One that was not added by this process is left alone. */
void host_life_remove(struct host_life *l);

/* Called by the thread that promises, one at a time, as it begins and before it ends. It takes no robust mutex
 * of pthread's in between. */
void host_life_begin(void);
void host_life_end(void);
/* In a child of fork(), where that thread is not, and whose words are the parent's. */
void host_life_forget(void);

/* --- pidfds --- */

/* A descriptor that becomes readable when this process ends, to be given away and then closed; -errno. */
int host_self_pidfd(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The word of liveness: a word in shared memory that says whether the process that wrote it still has the same address
 * space, without a system call of the reader.
 *
 * A process number proves nothing: its program may have been replaced (execve), or the number reused. But when a
 * thread ends, in whatever way, and before its address space is released, the kernel sets FUTEX_OWNER_DIED in the
 * words of its robust list that hold its number (set_robust_list(2), Documentation/locking/robust-futexes.rst). The
 * background thread lives as long as its process and address space do, and takes no robust mutex, so its list is free
 * for this. As long as it lives the word holds its number.
 */
#ifndef HOST_LIVENESS_H
#define HOST_LIVENESS_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct host_life {
	struct robust_list node; /* read by the kernel: addresses of this process */
	_Atomic uint32_t owner;  /* the thread's number, and what the kernel adds; 0: there is no such thread */
};

enum host_life_says {
	HOST_LIFE_NOTHING, /* not known: to be found out in another way */
	HOST_LIFE_HERE,    /* when it was read: the same process, and the same address space */
	HOST_LIFE_GONE,    /* for good */
};

/* Reads the word, in any process that maps it. */
static inline enum host_life_says host_life(const struct host_life *l)
{
	uint32_t owner = atomic_load_explicit(&l->owner, memory_order_acquire);

	if (owner & FUTEX_OWNER_DIED)
		return HOST_LIFE_GONE;
	return owner ? HOST_LIFE_HERE : HOST_LIFE_NOTHING;
}

/* Adds a word, in memory that stays mapped until host_life_remove(). It says HOST_LIFE_NOTHING while there is no
 * background thread. */
void host_life_add(struct host_life *l);
/* From here on it says HOST_LIFE_NOTHING. A word that was not added by this process is left alone. */
void host_life_remove(struct host_life *l);

/* Called by the background thread as it begins and before it ends, by one thread at a time. It takes no robust mutex of
 * pthread's in between. */
void host_life_begin(void);
void host_life_end(void);
/* In a child of fork(), which has no such thread, and whose words are the parent's. */
void host_life_forget(void);

/* --- pidfds --- */

/* Returns a descriptor that becomes readable when this process ends, to be passed and then closed; or -errno. */
int host_self_pidfd(void);

#endif

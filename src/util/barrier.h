/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Barriers for other threads: membarrier(2). Where two threads each store one word and then load the other's, both need a
 * full fence between the two, so that at least one sees the other's store. If one of them gets there often and the other
 * seldom, the frequent thread makes do with a compiler barrier, and the rare one executes, between its store and its load,
 * a full fence on behalf of every thread that runs. A fence waits until all earlier stores have left the store buffer, and
 * stores to lines that another processor holds take as long as the message itself.
 *
 * A thread must know that the other one will do so before it leaves its fence away: hence the two questions, which the
 * process asks once.
 */
#ifndef UTIL_BARRIER_H
#define UTIL_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>

/* Returns true if ut_barrier_process() works in this process. The first call of this or ut_barrier_has_host() announces the
 * process to the kernel, which takes some 15 ms for each of the two if it has several threads. errno is kept, as by all of these. */
bool ut_barrier_has_process(void);
/* A full fence in every thread of this process that runs, before it returns: about 1 us and an interrupt of each. */
void ut_barrier_process(void);

/* The same for all processes of the machine that have asked ut_barrier_has_host(): true means that the fences which others
 * execute by ut_barrier_host() reach this process, and that it may call that itself. */
bool ut_barrier_has_host(void);
void ut_barrier_host(void);

/* The frequent thread's part of a fence: the compiler keeps the order. */
static inline void ut_barrier_light(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

#endif

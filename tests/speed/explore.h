/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every interleaving of a few threads, for real sources whose atomics are redirected here: each
 * access to a watched word, each system call, each step that the model names is a point where any
 * other thread may go on. Stores wait in a buffer of their thread, as on x86 (TSO), until they are
 * flushed at any later moment; a full fence or a sequentially consistent store flushes them.
 *
 * Threads are coroutines. A state that was reached before - the same memory, buffers and pasts of
 * all threads - is not searched again, so the search is exhaustive and ends.
 */
#ifndef TESTS_SPEED_EXPLORE_H
#define TESTS_SPEED_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_THREADS 3

struct mc_model {
	const char *name;
	int threads;
	void (*thread[MC_THREADS])(void);
	void (*reset)(void);
	uint64_t (*state)(void); /* the state beside watched words and the threads' pasts */
	bool (*good)(void);      /* when all threads have ended */
};

/* True: all ways end, and end well. Otherwise the steps that lead there are printed if say. */
bool mc_explore(const struct mc_model *m, bool say, unsigned long *ret_states);

/* A shared word of 4 or 8 bytes; all of them before the first search. */
void mc_watch(void *word, size_t size, const char *name);
/* Fences do nothing: a model must fail then, or it proves nothing. */
extern bool mc_no_fences;

/* --- for the threads --- */
void mc_point(const char *what);
/* Waits; until() looks at memory only. */
void mc_until(bool (*until)(void), const char *what);
/* Something that must be so. */
void mc_must(bool so, const char *what);
bool mc_inside(void);
/* The thread's number, from 1 on; 0: the explorer itself. */
unsigned mc_self(void);

uint64_t mc_load(const volatile void *at, size_t size);
void mc_store(volatile void *at, uint64_t v, size_t size, bool full);
void mc_fence(bool full);
/* Atomic instructions, which flush. Return the value before; the second stores `v` if that is `want`. */
uint64_t mc_exchange(volatile void *at, uint64_t v, size_t size);
uint64_t mc_compare(volatile void *at, uint64_t want, uint64_t v, size_t size);
/* A full fence of each thread, one after the other, as membarrier(2) has it. */
void mc_fence_all(void);
long mc_note(long value);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocation with a fault point: a test sets a countdown, and the n-th allocation from then on
 * fails, once or always. Outside tests the check is one load of a variable that is never written.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/*
 * Test hook. The n-th call of ut_fault() from now on (1 = the next) returns true, with `sticky` all
 * later ones as well. n = 0 ends it.
 */
void ut_fault_arm(unsigned n, int sticky);

/* True while a countdown runs. */
extern atomic_bool ut_fault_armed;
/* Counts down. Returns true at its end. */
bool ut_fault_counted(void);

/* Returns true if the operation of the caller shall fail; each wrapped call asks once. */
static inline bool ut_fault(void)
{
	return __builtin_expect(atomic_load_explicit(&ut_fault_armed, memory_order_relaxed), 0) &&
	       ut_fault_counted();
}

static inline bool ut_out_of_memory(void)
{
	if (!ut_fault())
		return false;
	errno = ENOMEM;
	return true;
}

/* All return memory for free(), or NULL with errno ENOMEM. */

/* Not initialised. */
static inline void *ut_malloc(size_t size)
{
	return ut_out_of_memory() ? NULL : malloc(size);
}

/* Zeroed. */
static inline void *ut_zalloc(size_t size)
{
	return ut_out_of_memory() ? NULL : calloc(1, size);
}

static inline void *ut_calloc(size_t n, size_t size)
{
	return ut_out_of_memory() ? NULL : calloc(n, size);
}

/* As realloc(): p is still valid if NULL is returned. */
static inline void *ut_realloc(void *p, size_t size)
{
	return ut_out_of_memory() ? NULL : realloc(p, size);
}

static inline char *ut_strdup(const char *s)
{
	return ut_out_of_memory() ? NULL : strdup(s);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocation with a fault point: a test sets a countdown, and the n-th allocation from then on
 * fails, once or always. Outside tests the check is one load of a variable that is never written.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stddef.h>

/* All return memory for free(), or NULL with errno ENOMEM. */

/* Not initialised. */
void *ut_malloc(size_t size);
/* Zeroed. */
void *ut_zalloc(size_t size);
void *ut_calloc(size_t n, size_t size);
/* As realloc(): p is still valid if NULL is returned. */
void *ut_realloc(void *p, size_t size);
char *ut_strdup(const char *s);

/*
 * Test hook. The n-th call of ut_fault() from now on (1 = the next) returns true, with `sticky` all
 * later ones as well. n = 0 turns it off.
 */
void ut_fault_arm(unsigned n, int sticky);
/* Returns true if the operation of the caller shall fail; each wrapped call asks once. */
int ut_fault(void);

#endif

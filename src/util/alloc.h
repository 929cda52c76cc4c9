/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocation with a fault point: a test sets the countdown and the n-th
 * allocation from then on fails, once or for good. Outside tests the check is
 * one load of a variable that is never written.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stddef.h>

/* Memory as it comes, or NULL with errno ENOMEM. Freed with free(). */
void *ut_malloc(size_t size);
/* Zeroed memory, or NULL with errno ENOMEM. Freed with free(). */
void *ut_zalloc(size_t size);
void *ut_calloc(size_t n, size_t size);
void *ut_realloc(void *p, size_t size);
char *ut_strdup(const char *s);

/*
 * Test hook. The n-th call (1 = the next) of ut_fault() answers "fail";
 * sticky keeps failing after that. 0 turns it off.
 */
void ut_fault_arm(unsigned n, int sticky);
/* True when this operation is to fail; every wrapped call asks once. */
int ut_fault(void);

#endif

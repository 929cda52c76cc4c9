/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Allocation with a fault point (util/faultpoint.h) in front: a test makes the n-th allocation fail
 * as it fails when the system has no memory.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include "util/faultpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

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

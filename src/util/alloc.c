/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/alloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int fault_on;
static atomic_uint fault_left;
static atomic_int fault_sticky;

void ut_fault_arm(unsigned n, int sticky)
{
	atomic_store(&fault_sticky, sticky);
	atomic_store(&fault_left, n);
	atomic_store(&fault_on, n != 0);
}

int ut_fault(void)
{
	if (__builtin_expect(!atomic_load_explicit(&fault_on, memory_order_relaxed), 1))
		return 0;
	if (atomic_load(&fault_left) > 1) {
		atomic_fetch_sub(&fault_left, 1);
		return 0;
	}
	if (!atomic_load(&fault_sticky))
		atomic_store(&fault_on, 0);
	return 1;
}

static int refuse(void)
{
	if (!ut_fault())
		return 0;
	errno = ENOMEM;
	return 1;
}

void *ut_malloc(size_t size)
{
	return refuse() ? NULL : malloc(size);
}

void *ut_zalloc(size_t size)
{
	return refuse() ? NULL : calloc(1, size);
}

void *ut_calloc(size_t n, size_t size)
{
	return refuse() ? NULL : calloc(n, size);
}

void *ut_realloc(void *p, size_t size)
{
	return refuse() ? NULL : realloc(p, size);
}

char *ut_strdup(const char *s)
{
	return refuse() ? NULL : strdup(s);
}

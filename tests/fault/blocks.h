/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocks and descriptors in use; for one file of a program whose linker leads
 * the calls of our code here (--wrap). */
#ifndef TESTS_FAULT_BLOCKS_H
#define TESTS_FAULT_BLOCKS_H

#include "support/check.h"
#include "support/entries.h"

#include <stdatomic.h>

static atomic_long blocks;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);

void *__wrap_malloc(size_t n)
{
	blocks++;
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	blocks++;
	return __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	blocks += !p;
	return __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	blocks++;
	return __real_aligned_alloc(align, n);
}

void __wrap_free(void *p)
{
	blocks -= p != NULL;
	__real_free(p);
}

#endif

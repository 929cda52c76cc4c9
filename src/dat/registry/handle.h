/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a handle to the table of its provider, or to nothing.
 *
 * The first word of an object points to its provider's table. So a handle is good when it is
 * aligned, can be read, and its first word is one of the tables that are in use now: that
 * refuses NULL, small numbers, wild pointers, memory of something else, and (as long as the
 * provider or the allocator overwrites the first word) freed objects.
 *
 * "Can be read" is asked of the kernel once per page: a cache remembers pages that held a good
 * object. A call that frees an object or closes an IA may be followed by an unmapping, so it ends
 * the trust in all pages by starting a new generation; the next use asks again. A hit costs a
 * load and a compare for the page, and another two for the table.
 */
#ifndef DAT_REGISTRY_HANDLE_H
#define DAT_REGISTRY_HANDLE_H

#include "dat/registry/dreg.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Below this a handle is the number of an IA and never a pointer. */
#define DREG_MAX_IAS 65536u

#define DREG_PAGE_BITS 12 /* or a divisor of the real page */
#define DREG_PAGES 256u
#define DREG_GENERATION_BITS 20
#define DREG_GENERATIONS (1u << DREG_GENERATION_BITS)
#define DREG_TABLES 1024u /* places, of which three quarters may be filled */

extern _Atomic uint64_t dreg_pages[DREG_PAGES]; /* page << DREG_GENERATION_BITS | generation */
extern _Atomic uint32_t dreg_generation;
extern _Atomic(uintptr_t) dreg_tables[DREG_TABLES];

/* Count a table in and out; 0 or -ENOSPC. Under dreg_lock. */
int dreg_table_use(const DAT_PROVIDER *table, bool extensions);
void dreg_table_drop(const DAT_PROVIDER *table);
/* Whether an IA of this table told of extensions. */
bool dreg_table_extensions(const DAT_PROVIDER *table);

/* After a call that may have given memory back. */
void dreg_new_generation(void);

/* The careful way, and the cache filled if the answer is good. */
const DAT_PROVIDER *dreg_object_slow(DAT_HANDLE handle);

static inline uintptr_t dreg_table_place(uintptr_t table)
{
	return (table >> 4 ^ table >> 13) % DREG_TABLES;
}

static inline bool dreg_table_known(uintptr_t table)
{
	uintptr_t at = dreg_table_place(table);
	uintptr_t found = atomic_load_explicit(&dreg_tables[at], memory_order_acquire);

	if (__builtin_expect(found == table, 1))
		return found != 0;
	/* 1 stands where a table was; no table is at address 1. */
	for (unsigned i = 1; found && i < DREG_TABLES; i++) {
		at = (at + 1) % DREG_TABLES;
		found = atomic_load_explicit(&dreg_tables[at], memory_order_acquire);
		if (found == table)
			return found > 1;
	}
	return false;
}

/* Sanitizers would report that a freed object is looked at; that is the point. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uintptr_t
dreg_first_word(DAT_HANDLE handle)
{
	return *(volatile uintptr_t *)handle;
}

static inline _Atomic uint64_t *dreg_page_place(uint64_t page)
{
	return &dreg_pages[(page ^ page >> 8) % DREG_PAGES];
}

/* NULL if the handle is no object of a provider in use. IAs have numbers: see ia.h. */
static inline const DAT_PROVIDER *dreg_object(DAT_HANDLE handle)
{
	uintptr_t a = (uintptr_t)handle;
	uint64_t page = a >> DREG_PAGE_BITS;
	uint64_t tag = page << DREG_GENERATION_BITS |
		       atomic_load_explicit(&dreg_generation, memory_order_acquire);
	uintptr_t table;

	/* An unaligned pointer never gets into the cache but shares pages with good ones. */
	if (__builtin_expect(a % sizeof(void *) != 0 ||
			     atomic_load_explicit(dreg_page_place(page), memory_order_relaxed) != tag,
			     0))
		return dreg_object_slow(handle);
	table = dreg_first_word(handle);
	return __builtin_expect(dreg_table_known(table), 1) ? (const DAT_PROVIDER *)table : NULL;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From a handle to the table of its provider.
 *
 * The first word of an object points to its provider's table. So a handle is valid if it is aligned
 * and readable, and its first word is a table now in use. That refuses NULL, small numbers, wild
 * pointers, addresses of other data, and freed objects whose first word was overwritten.
 *
 * A system call tests whether a page is readable; a cache records pages that held a valid object. A
 * call that frees an object or closes an IA may unmap memory, so it starts a new generation, in
 * which every page is checked again. A hit costs a load and a compare for the page, and another two
 * for the table.
 */
#ifndef DAT_REGISTRY_HANDLE_H
#define DAT_REGISTRY_HANDLE_H

#include "dat/registry/dreg.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Below this a handle is the number of an IA. */
#define DREG_MAX_IAS 65536u

#define DREG_PAGE_BITS 12 /* of a page, or of a divisor of its size */
#define DREG_PAGES 256u
#define DREG_GENERATION_BITS 20
#define DREG_GENERATIONS (1u << DREG_GENERATION_BITS)
#define DREG_TABLES 1024u /* of a hash table that is filled to three quarters at most */

extern _Atomic uint64_t dreg_pages[DREG_PAGES]; /* page << DREG_GENERATION_BITS | generation */
extern _Atomic uint32_t dreg_generation;
extern _Atomic(uintptr_t) dreg_tables[DREG_TABLES];

/* Adds and removes a user of a table. Returns 0 or -ENOSPC. Called with dreg_lock held. */
int dreg_table_use(const DAT_PROVIDER *table, bool extensions);
void dreg_table_drop(const DAT_PROVIDER *table);
/* Returns true if an IA of this table has extensions. */
bool dreg_table_extensions(const DAT_PROVIDER *table);

/* Starts a new generation, in which every page is checked again. Called after a call that may have
 * unmapped memory. */
void dreg_new_generation(void);

/* As dreg_object, but tests the page by a system call and records it in the cache. */
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
	/* 1 marks where a table was. */
	for (unsigned i = 1; found && i < DREG_TABLES; i++) {
		at = (at + 1) % DREG_TABLES;
		found = atomic_load_explicit(&dreg_tables[at], memory_order_acquire);
		if (found == table)
			return found > 1;
	}
	return false;
}

/* Sanitizers would report the read of a freed object, which is intended. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static inline uintptr_t
dreg_first_word(DAT_HANDLE handle)
{
	return *(volatile uintptr_t *)handle;
}

static inline _Atomic uint64_t *dreg_page_place(uint64_t page)
{
	return &dreg_pages[(page ^ page >> 8) % DREG_PAGES];
}

/* Returns the table of an object, or NULL if the handle is not an object of a provider in use. An
 * IA has a number (ia.h). */
static inline const DAT_PROVIDER *dreg_object(DAT_HANDLE handle)
{
	uintptr_t a = (uintptr_t)handle;
	uint64_t page = a >> DREG_PAGE_BITS;
	uint64_t tag = page << DREG_GENERATION_BITS |
		       atomic_load_explicit(&dreg_generation, memory_order_acquire);
	uintptr_t table;

	/* An unaligned pointer shares its page with valid ones. */
	if (__builtin_expect(a % sizeof(void *) != 0 ||
			     atomic_load_explicit(dreg_page_place(page), memory_order_relaxed) != tag,
			     0))
		return dreg_object_slow(handle);
	table = dreg_first_word(handle);
	return __builtin_expect(dreg_table_known(table), 1) ? (const DAT_PROVIDER *)table : NULL;
}

#endif

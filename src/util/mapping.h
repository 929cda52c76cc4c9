/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mappings of the application in which plain loads and stores are safe, as the kernel lists them.
 *
 * Buffers that are used in turn - the receives of a shared receive queue, the pool of a message library - lie on thousands of pages,
 * and none of them has been reached lately when its turn comes: each costs a system call. They lie in few mappings. So where such
 * calls are frequent, the kernel is asked for the mapping instead, which takes some 3.5 us and holds for UT_MAPPING_NS. A program that
 * unmaps or protects memory which is still registered may fault in that time, as on a page that was reached lately.
 */
#ifndef UTIL_MAPPING_H
#define UTIL_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UT_MAPPINGS 4u
#define UT_MAPPING_NS 2000000ull

struct ut_mappings {
	struct ut_mapping {
		uintptr_t at, end;
		uint64_t until;
	} v[UT_MAPPINGS];
	unsigned last, next; /* the one that was found last, and the one that ends for the next */
	uint64_t counted_until; /* calls are counted from UT_MAPPING_NS before */
	unsigned calls, enough; /* so many, and how many make the kernel be asked; 0: as many as at first */
};

/*
 * The mapping around an address, if it is private, of no file (which could become shorter), of ordinary pages, readable and writable.
 * Returns false if it is not, and where the kernel does not say: before Linux 6.11, without /proc, without a descriptor.
 */
bool ut_mapping_of(const void *p, struct ut_mapping *ret);

/* Returns true if len bytes at p lie in one that is known at that time (ut_now()'s clock). */
static inline bool ut_mappings_have(struct ut_mappings *o, const void *p, size_t len, uint64_t now)
{
	uintptr_t at = (uintptr_t)p, end = at + len;

	for (unsigned i = 0; i < UT_MAPPINGS; i++) {
		unsigned k = (o->last + i) % UT_MAPPINGS;

		if (o->v[k].at <= at && end <= o->v[k].end && at <= end && o->v[k].until >= now) {
			o->last = k;
			return true;
		}
	}
	return false;
}

/* len bytes at p are in none, and cost a system call. Returns true if they lie in one now. */
bool ut_mappings_missed(struct ut_mappings *o, const void *p, size_t len, uint64_t now);

#endif

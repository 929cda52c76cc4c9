/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Areas of the application's memory in which plain loads and stores are safe: whole mappings, as the kernel lists them.
 *
 * Buffers that are used in turn - the receives of a shared receive queue, the pool of a message library - lie on thousands of pages,
 * and none of them has been reached lately when its turn comes: each costs a system call. They lie in few mappings. So where such
 * calls are frequent, the kernel is asked for the mapping instead, which takes some 3.5 us and holds for UT_AREA_NS.
 *
 * A mapping is taken if it is private, of no file (which could become shorter), of ordinary pages, readable and writable; on Linux
 * before 6.11, without /proc and without a descriptor none is. In an area a program that unmaps or protects memory which is still
 * registered may fault within UT_AREA_NS, as on a page that was reached lately.
 */
#ifndef UTIL_AREA_H
#define UTIL_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UT_AREAS 4u
#define UT_AREA_NS 2000000ull

struct ut_areas {
	struct ut_area {
		uintptr_t at, end;
		uint64_t until;
	} v[UT_AREAS];
	unsigned last, next; /* the one that was found last, and the one that ends for the next */
	uint64_t counted_until; /* calls are counted from UT_AREA_NS before */
	unsigned calls, enough; /* so many, and how many make the kernel be asked; 0: UT_AREA_CALLS */
};

/* Returns true if len bytes at p lie in an area at that time (ut_now()'s clock). */
static inline bool ut_areas_have(struct ut_areas *o, const void *p, size_t len, uint64_t now)
{
	uintptr_t at = (uintptr_t)p, end = at + len;

	for (unsigned i = 0; i < UT_AREAS; i++) {
		unsigned k = (o->last + i) % UT_AREAS;

		if (o->v[k].at <= at && end <= o->v[k].end && at <= end && o->v[k].until >= now) {
			o->last = k;
			return true;
		}
	}
	return false;
}

/* len bytes at p are in none, and cost a system call. Returns true if they lie in one now. */
bool ut_areas_missed(struct ut_areas *o, const void *p, size_t len, uint64_t now);

#endif

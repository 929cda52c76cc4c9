/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sentences of refused calls. A room lists its refusals in one table of rows
 *
 *   R(NAME, errno without its E, object, cause, remedy)
 *
 * and returns the row's errno through one function of its own, which hands the sentence to `dapple why`:
 *
 *   OBJECT refused: CAUSE (WHERE): the call fails with ERRNO; REMEDY; dapple explain REFUSED says more
 *
 * A program may repeat a refused call without end: of each row a process says the first eight, then those whose
 * number is a power of two.
 */
#ifndef UTIL_REFUSE_H
#define UTIL_REFUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define UT_REFUSAL_MAX 540

struct ut_refusal {
	int err; /* positive */
	const char *errname, *object, *cause, *remedy;
};

/* A row as an element of an array that the enumeration indexes. */
#define UT_REFUSAL(index, e, what, why, help) \
	[index] = { .err = E##e, .errname = "E" #e, .object = what, .cause = why, .remedy = help },

/* Composes the sentence; where names the objects of this call ("QP 0x000012 of dpl_ro_lo"). times counts the
 * refusals of this row. Returns false, and composes nothing, if this one is not to be said. errno is kept.
 * Called from any thread, with any lock held. */
bool ut_refusal_text(const struct ut_refusal *r, atomic_uint *times, const char *where, char text[UT_REFUSAL_MAX]);

#endif

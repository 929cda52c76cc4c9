/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/refuse.h"

#include <errno.h>
#include <stdio.h>

#define ALWAYS 8

static bool due(atomic_uint *times)
{
	unsigned n = atomic_fetch_add_explicit(times, 1, memory_order_relaxed) + 1;

	return n <= ALWAYS || !(n & (n - 1));
}

bool ut_refusal_text(const struct ut_refusal *r, atomic_uint *times, const char *where, char text[UT_REFUSAL_MAX])
{
	int keep = errno;

	if (!due(times))
		return false;
	snprintf(text, UT_REFUSAL_MAX, "%s refused: %s (%s): the call fails with %s; %s; dapple explain REFUSED says more", r->object, r->cause, where,
		 r->errname, r->remedy);
	errno = keep;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/area.h"

#include "util/reach.h"

#define CALLS 4u        /* so many in UT_AREA_NS are frequent; */
#define CALLS_MOST 256u /* where the last answer was no area: a question costs as much as seven of them */
#define CALL_BYTES 16384u /* a longer piece is a call more for each of these: its pages are made present one by one */

bool ut_areas_missed(struct ut_areas *o, const void *p, size_t len, uint64_t now)
{
	struct ut_area a = { .until = now + UT_AREA_NS };
	bool found;

	if (now > o->counted_until) {
		o->counted_until = now + UT_AREA_NS;
		o->calls = 0;
	}
	o->calls += 1 + (unsigned)(len / CALL_BYTES < CALLS_MOST ? len / CALL_BYTES : CALLS_MOST);
	if (o->calls < (o->enough ? o->enough : CALLS))
		return false;
	o->calls = 0;
	found = ut_reach_mapping(p, &a.at, &a.end);
	o->enough = found ? CALLS : CALLS_MOST;
	if (!found)
		return false;
	o->v[o->next] = a;
	o->last = o->next;
	o->next = (o->next + 1) % UT_AREAS;
	return ut_areas_have(o, p, len, now);
}

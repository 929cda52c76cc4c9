/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sample is off by the time between its readings, some 20 ns; over BASE that is the slope's error. The straight line
 * goes through the newest sample and one that is between one and two BASE old.
 */
#include "util/ticks.h"

#include "util/syscall.h"

#include <fcntl.h>
#include <string.h>

#define BASE UT_S
#define TRIES 5
#define SHORTEST (100 * UT_US)

#if defined(__x86_64__)
#define CLOCK_SOURCE "tsc\n"
#else
#define CLOCK_SOURCE ""
#endif

bool ut_ticks_are_even(void)
{
	char name[32] = "";
	int fd = (int)UT_SYS(SYS_openat, AT_FDCWD, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
			     O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	UT_SYS(SYS_read, fd, name, sizeof(name) - 1);
	ut_close(fd);
	return *CLOCK_SOURCE && !strcmp(name, CLOCK_SOURCE);
}

struct ut_ticks_sample ut_ticks_sample(void)
{
	struct ut_ticks_sample best = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = ut_ticks(), ns = ut_now(), took = ut_ticks() - before;

		if (took < least) {
			least = took;
			best = (struct ut_ticks_sample){ before + took / 2, ns };
		}
	}
	return best;
}

static void settle(struct ut_ticks_clock *c)
{
	uint64_t ticks = c->last.ticks - c->from.ticks;

	if (ticks)
		c->ns_per_tick = (double)(c->last.ns - c->from.ns) / (double)ticks;
}

void ut_ticks_clock_begin(struct ut_ticks_clock *c)
{
	*c = (struct ut_ticks_clock){ .from = ut_ticks_sample(), .ns_per_tick = 1 };
	do
		c->last = ut_ticks_sample();
	while (c->last.ns - c->from.ns < SHORTEST);
	c->next = c->from;
	settle(c);
}

void ut_ticks_clock_sync(struct ut_ticks_clock *c)
{
	c->last = ut_ticks_sample();
	if (c->last.ns - c->next.ns >= BASE) {
		c->from = c->next;
		c->next = c->last;
	}
	settle(c);
}

uint64_t ut_ticks_clock_ns(const struct ut_ticks_clock *c, uint64_t ticks)
{
	return c->from.ns + (uint64_t)(int64_t)((double)(int64_t)(ticks - c->from.ticks) * c->ns_per_tick);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A counter of the processor: cheaper to read than the clock, the same on all processors of a host and for all of its
 * processes, and of a constant frequency that it does not tell. A reader translates by samples of both.
 *
 * Where the processor has no such counter, ut_ticks() is the clock, and ut_ticks_are_even() returns false.
 */
#ifndef UTIL_TICKS_H
#define UTIL_TICKS_H

#include "util/clock.h"

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t ut_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return ut_now();
#endif
}

/* Returns true if the kernel itself measures time by this counter: it goes evenly, and all processors agree. */
bool ut_ticks_are_even(void);

/* The counter and ut_now() at one moment. */
struct ut_ticks_sample {
	uint64_t ticks, ns;
};
struct ut_ticks_sample ut_ticks_sample(void);

/* Translates ticks of about now; to be kept up to date. */
struct ut_ticks_clock {
	struct ut_ticks_sample from, next, last;
	double ns_per_tick;
};

/* Begins; takes a tenth of a millisecond. */
void ut_ticks_clock_begin(struct ut_ticks_clock *c);
/* Takes another sample. */
void ut_ticks_clock_sync(struct ut_ticks_clock *c);
/* Returns the time on ut_now()'s clock. */
uint64_t ut_ticks_clock_ns(const struct ut_ticks_clock *c, uint64_t ticks);

#endif

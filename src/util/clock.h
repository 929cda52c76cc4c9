/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of the library: CLOCK_MONOTONIC in nanoseconds, read without a system call (vDSO). */
#ifndef UTIL_CLOCK_H
#define UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define UT_US 1000ull
#define UT_MS 1000000ull
#define UT_S 1000000000ull

static inline uint64_t ut_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

/* The same as of the kernel's last tick, 1 to 10 ms ago at most: an eighth of the time to read. */
static inline uint64_t ut_now_coarse(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/clock.h"

#include <time.h>

int64_t ulp_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

int64_t ulp_now_ms(void)
{
	return ulp_now_ns() / 1000000;
}

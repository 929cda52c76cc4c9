/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/clock.h"

#include <time.h>

int64_t ulp_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/rng.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

uint64_t ut_rng_seed(void)
{
	uint64_t seed = 0;
	int keep = errno;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		seed = (uint64_t)t.tv_nsec << 32 ^ (uint64_t)t.tv_sec ^
		       (uint64_t)getpid() << 17 ^ (uint64_t)(uintptr_t)&seed;
	}
	errno = keep;
	return seed;
}

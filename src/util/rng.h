/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Seeded random numbers (the splitmix64 generator). A protocol machine is
 * given a seed, so a run can be replayed; a real adapter seeds from the
 * kernel. Not for secrets that must survive an attacker who sees outputs.
 */
#ifndef UTIL_RNG_H
#define UTIL_RNG_H

#include <stdint.h>

struct ut_rng {
	uint64_t state;
};

static inline uint64_t ut_rng_u64(struct ut_rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Uniform enough in [0, n); n > 0. */
static inline uint32_t ut_rng_below(struct ut_rng *r, uint32_t n)
{
	return (uint32_t)(((ut_rng_u64(r) >> 32) * n) >> 32);
}

/* A seed from the kernel; never fails (falls back to clock and addresses). */
uint64_t ut_rng_seed(void);

#endif

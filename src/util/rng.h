/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Seeded random numbers (the splitmix64 generator). A protocol machine gets its seed as an argument,
 * so that a run can be replayed; an adapter takes the seed from the kernel. An attacker who sees
 * outputs can compute the next ones: not for secrets.
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

/* In [0, n), n > 0. The bias is at most n / 2^32. */
static inline uint32_t ut_rng_below(struct ut_rng *r, uint32_t n)
{
	return (uint32_t)(((ut_rng_u64(r) >> 32) * n) >> 32);
}

/* Returns a seed from the kernel, or one made of clock and addresses if the kernel has none yet. */
uint64_t ut_rng_seed(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/qpn.h"

#include "util/clock.h"
#include "util/rng.h"

#define ROUNDS 4

void eng_qpns_begin(struct eng_qpns *q, uint64_t key, uint64_t now)
{
	*q = (struct eng_qpns){ .key = key, .next = (uint32_t)(now / (UT_MS / ENG_QPNS_PER_MS)) };
}

/* Each step - times an odd number, plus a number, upper bits into lower ones - is a permutation of the masked bits. */
uint32_t eng_qpn_at(const struct eng_qpns *q, uint32_t count, uint32_t mask)
{
	unsigned half = (unsigned)(__builtin_popcount(mask) + 1) / 2;
	struct ut_rng rng = { .state = q->key };

	count &= mask;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t k = ut_rng_u64(&rng);

		count = (count * ((uint32_t)k | 1) + (uint32_t)(k >> 32)) & mask;
		count ^= count >> half;
	}
	return count;
}

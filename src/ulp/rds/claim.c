/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/claim.h"

#define MASK 0x7fffffffu
#define CLAIMED (1ull << 31)

static uint32_t highest(uint64_t w)
{
	return (uint32_t)(w >> 33);
}

static uint64_t word_of(uint32_t high, uint64_t low)
{
	return (uint64_t)high << 33 | (low & 0xffffffffu);
}

/* Numbers wrap. */
static bool is_after(uint32_t a, uint32_t b)
{
	return ((a - b) & MASK) < (MASK + 1) / 2 && a != b;
}

uint32_t rds_claim_next(uint32_t number)
{
	number = (number + 1) & MASK;
	return number ? number : 1;
}

bool rds_claim(_Atomic uint64_t *word, uint32_t number)
{
	uint64_t w = atomic_load(word), to;
	uint32_t high;

	do {
		if ((w & MASK) == number && w & CLAIMED)
			return false;
		high = !highest(w) || is_after(number, highest(w)) ? number : highest(w);
		to = word_of(high, (w & MASK) == number ? w | CLAIMED : w);
	} while (!atomic_compare_exchange_weak(word, &w, to));
	return true;
}

void rds_claim_doubt(_Atomic uint64_t *word, uint32_t number)
{
	uint64_t w = atomic_load(word), to;

	do {
		to = word_of(highest(w), number | (highest(w) == number ? CLAIMED : 0));
	} while (!atomic_compare_exchange_weak(word, &w, to));
}

void rds_claim_settle(_Atomic uint64_t *word)
{
	uint64_t w = atomic_load(word);

	while (w & MASK && !atomic_compare_exchange_weak(word, &w, word_of(highest(w), 0)))
		;
}

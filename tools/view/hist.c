/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "hist.h"

/* Below two octaves of HIST_PER_OCTAVE each value has a bucket; above, the upper bits of the value choose. */
static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < 2 * HIST_PER_OCTAVE)
		return (unsigned)v;
	shift = 63u - (unsigned)__builtin_clzll(v) - 5;
	if ((shift + 1) * HIST_PER_OCTAVE + HIST_PER_OCTAVE > HIST_BUCKETS)
		return HIST_BUCKETS - 1;
	return shift * HIST_PER_OCTAVE + (unsigned)(v >> shift);
}

/* The greatest value of a bucket. */
static uint64_t value_of(unsigned b)
{
	unsigned shift = b / HIST_PER_OCTAVE;

	if (b < 2 * HIST_PER_OCTAVE)
		return b;
	shift--;
	return ((uint64_t)(b - shift * HIST_PER_OCTAVE + 1) << shift) - 1;
}

void hist_add(struct hist *h, uint64_t ns)
{
	h->bucket[bucket_of(ns)]++;
	h->n++;
	h->sum += ns;
	if (ns > h->most)
		h->most = ns;
}

uint64_t hist_at(const struct hist *h, double share)
{
	uint64_t seen = 0, wanted = (uint64_t)(share * (double)h->n);

	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += h->bucket[b];
		if (seen > wanted || (seen && seen == h->n))
			return value_of(b) < h->most ? value_of(b) : h->most;
	}
	return h->most;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A histogram of times with a relative error of 1/32 at most, as HdrHistogram has it: 32 buckets for each power of two. */
#ifndef VIEW_HIST_H
#define VIEW_HIST_H

#include <stdint.h>

#define HIST_PER_OCTAVE 32
#define HIST_BUCKETS (HIST_PER_OCTAVE * 40)

struct hist {
	uint64_t n, sum, most;
	uint32_t bucket[HIST_BUCKETS];
};

void hist_add(struct hist *h, uint64_t ns);
/* Returns the time that `share` (0 to 1) of the entries do not exceed; 0 without entries. */
uint64_t hist_at(const struct hist *h, double share);

#endif

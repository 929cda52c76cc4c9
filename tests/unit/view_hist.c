/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The histogram of dapple top: a percentile is off by a thirty-second at most, whatever the values. */
#include "../../tools/view/hist.h"

#include "support/check.h"
#include "util/rng.h"

#include <stdlib.h>
#include <string.h>

#define N 20000

static struct hist h;
static uint64_t values[N];

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void check_all(void)
{
	static const double shares[] = { 0, 0.01, 0.5, 0.9, 0.99, 0.999 };

	qsort(values, N, sizeof(values[0]), compare);
	memset(&h, 0, sizeof(h));
	for (unsigned i = 0; i < N; i++)
		hist_add(&h, values[i]);
	CHECK(h.n == N && h.most == values[N - 1]);
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint64_t want = values[(unsigned)(shares[i] * N)], got = hist_at(&h, shares[i]);

		CHECK(got >= want && got <= want + want / 32 + 1);
	}
	CHECK(hist_at(&h, 1) == values[N - 1]);
}

int main(void)
{
	struct ut_rng rng = { .state = 11 };

	CHECK(hist_at(&h, 0.5) == 0);
	for (unsigned i = 0; i < N; i++)
		values[i] = i;
	check_all();
	for (unsigned shift = 10; shift < 40; shift += 7) {
		for (unsigned i = 0; i < N; i++)
			values[i] = ut_rng_u64(&rng) & ((1ull << shift) - 1);
		check_all();
	}
	for (unsigned i = 0; i < N; i++)
		values[i] = 64;
	check_all();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Larger copies from and to the application's memory: right, and an error for pages that are gone. */
#include "support/check.h"
#include "util/reach.h"
#include "util/rng.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u
#define PAGES 16u

static uint8_t *pages(void)
{
	uint8_t *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static bool all_readable(const struct iovec *v, int n)
{
	for (int i = 0; i < n; i++)
		if (!ut_reach(v[i].iov_base, v[i].iov_len, UT_REACH_READ))
			return false;
	return true;
}

/* Never touched, odd bounds, several pieces; then holes, in the middle and at the ends. */
static void readable(void)
{
	uint8_t *p = pages(), *q = pages();
	struct iovec v[2] = { { p + 100, 5 * PAGE + 1 }, { q + PAGE - 1, 2 } };

	if (!all_readable(v, 2)) {
		fprintf(stderr, "this kernel cannot be asked for pages, everything else is kept\n");
		munmap(p, PAGES * PAGE);
		munmap(q, PAGES * PAGE);
		return;
	}
	CHECK(mprotect(p, PAGES * PAGE, PROT_READ) == 0 && all_readable(v, 2));
	CHECK(mprotect(q + PAGE, PAGE, PROT_NONE) == 0 && !all_readable(v, 2));
	CHECK(all_readable(v, 1));
	CHECK(munmap(p + 5 * PAGE, PAGE) == 0 && !all_readable(v, 1));
	v[0].iov_len = 5 * PAGE - 100;
	CHECK(all_readable(v, 1));
	CHECK(munmap(p, PAGE) == 0);
	errno = 4711;
	CHECK(!all_readable(v, 1) && errno == 4711);
	munmap(p, PAGES * PAGE);
	munmap(q, PAGES * PAGE);
}

/* Pieces cut at random on both sides. */
static int cut(struct ut_rng *r, uint8_t *mem, uint32_t len, struct iovec *v)
{
	int n = 0;

	while (len) {
		uint32_t k = 1 + (uint32_t)ut_rng_below(r, n == 15 || len < 2 ? len : len / 2 + 1);

		if (n == 15)
			k = len;
		v[n++] = (struct iovec){ mem, k };
		mem += k;
		len -= k;
	}
	return n;
}

static void put(void)
{
	uint8_t *from = pages(), *to = pages();
	struct iovec a[16], b[16];
	struct ut_rng r = { 11 };
	int got;

	for (uint32_t i = 0; i < PAGES * PAGE; i++)
		from[i] = (uint8_t)ut_rng_below(&r, 256);
	for (int round = 0; round < 500; round++) {
		uint32_t len = 1 + (uint32_t)ut_rng_below(&r, PAGES * PAGE - 1);
		int n = cut(&r, from, len, a), m = cut(&r, to, len, b);

		memset(to, 0, PAGES * PAGE);
		got = ut_reach_put(a, n, b, m);
		CHECK(got == 0 || got == -EPERM || got == -ENOSYS);
		CHECK(got < 0 || (!memcmp(from, to, len) && !to[len]));
	}
	if (got < 0)
		return; /* refused here, and said so */
	a[0] = (struct iovec){ from, PAGES * PAGE };
	b[0] = (struct iovec){ to, PAGES * PAGE };
	CHECK(mprotect(to + 3 * PAGE, PAGE, PROT_READ) == 0);
	errno = 4711;
	CHECK(ut_reach_put(a, 1, b, 1) == -EFAULT && errno == 4711);
	CHECK(munmap(to, PAGE) == 0 && ut_reach_put(a, 1, b, 1) == -EFAULT);
	munmap(to, PAGES * PAGE);
	munmap(from, PAGES * PAGE);
}

int main(void)
{
	readable();
	put();
	return 0;
}

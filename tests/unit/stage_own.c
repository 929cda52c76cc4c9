/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small copies in the application's own thread: right whatever the alignment and the pieces, and
 * still an error, not a crash, for pages that the kernel has not reached lately.
 */
#include "support/check.h"
#include "util/rng.h"
#include "util/stage.h"

#include <sys/mman.h>

#define PAGE 4096u
#define MS 1000000ull

static uint8_t *pages(size_t n)
{
	uint8_t *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Both ways, pieces of random places and sizes, the second time by plain copies. */
static void any_shape(struct ut_stage *s)
{
	uint8_t *mem = pages(8), want[512];
	struct ut_rng r = { 7 };

	for (int round = 0; round < 4000; round++) {
		struct iovec iov[4];
		size_t sum = 0;
		int n = 1 + (int)ut_rng_below(&r, 4);

		for (int i = 0; i < n; i++) {
			size_t len = ut_rng_below(&r, 120);

			iov[i] = (struct iovec){ mem + 2 * PAGE * (size_t)i + ut_rng_below(&r, 2 * PAGE - 120),
						 len };
			sum += len;
		}
		for (size_t i = 0; i < sum; i++)
			s->base[i] = want[i] = (uint8_t)ut_rng_below(&r, 256);
		CHECK(ut_stage_scatter_own(s, 0, iov, n) == (ssize_t)sum);
		memset(s->base, 0, sum);
		CHECK(ut_stage_gather_own(s, 0, iov, n) == (ssize_t)sum);
		CHECK(!memcmp(s->base, want, sum));
		s->own += MS / 64;
	}
	munmap(mem, 8 * PAGE);
}

static void gone(struct ut_stage *s)
{
	uint8_t *mem = pages(1);
	struct iovec iov = { mem, 64 };

	CHECK(ut_stage_scatter_own(s, 0, &iov, 1) == 64);
	CHECK(ut_stage_gather_own(s, 0, &iov, 1) == 64);
	munmap(mem, PAGE);
	s->own += 3 * MS;
	CHECK(ut_stage_scatter_own(s, 0, &iov, 1) == -EFAULT);
	CHECK(ut_stage_gather_own(s, 0, &iov, 1) == -EFAULT);
	/* A thread of ours never touches it, whatever was seen. */
	mem = pages(1);
	iov.iov_base = mem;
	CHECK(ut_stage_scatter_own(s, 0, &iov, 1) == 64);
	munmap(mem, PAGE);
	s->own = 0;
	CHECK(ut_stage_scatter_own(s, 0, &iov, 1) == -EFAULT);
}

/* Reached for reading is not reached for writing. */
static void read_only(struct ut_stage *s)
{
	uint8_t *mem = pages(1);
	struct iovec iov = { mem, 64 };

	s->own = 900 * MS;
	CHECK(mprotect(mem, PAGE, PROT_READ) == 0);
	CHECK(ut_stage_gather_own(s, 0, &iov, 1) == 64);
	CHECK(ut_stage_scatter_own(s, 0, &iov, 1) == -EFAULT);
	munmap(mem, PAGE);
}

int main(void)
{
	struct ut_stage s;

	CHECK(ut_stage_init(&s, 65536) == 0);
	s.own = 50 * MS;
	any_shape(&s);
	gone(&s);
	read_only(&s);
	ut_stage_fini(&s);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tables, deadlines and staging memory. */
#include "support/check.h"
#include "util/heap.h"
#include "util/idtab.h"
#include "util/rng.h"
#include "util/stage.h"

#include <sys/mman.h>

static void ids(void)
{
	struct ut_rng r = { 7 };
	struct ut_idtab t = { 0 };
	static char have[4096];
	uint32_t n = 0;

	for (int i = 0; i < 200000; i++) {
		uint32_t id = ut_rng_below(&r, sizeof(have));

		if (ut_rng_u64(&r) & 1) {
			CHECK(ut_idtab_add(&t, id, &have[id]) == (have[id] ? -EEXIST : 0));
			n += !have[id];
			have[id] = 1;
		} else {
			CHECK(ut_idtab_del(&t, id) == (have[id] ? &have[id] : NULL));
			n -= have[id];
			have[id] = 0;
		}
		CHECK(t.used == n);
		/* A number that was just added or taken away, one that was looked up lately, and a stranger. */
		for (int k = 0; k < 3; k++, id = ut_rng_below(&r, 8) + (k > 1) * sizeof(have))
			CHECK(ut_idtab_get_again(&t, id) == (id < sizeof(have) && have[id] ? &have[id] : NULL));
	}
	for (uint32_t id = 0; id < sizeof(have); id++)
		CHECK(ut_idtab_get(&t, id) == (have[id] ? &have[id] : NULL));
	ut_idtab_fini(&t);
}

static void deadlines(void)
{
	static struct ut_timer t[500];
	struct ut_rng r = { 9 };
	struct ut_heap h = { 0 };
	struct ut_timer *e;
	uint64_t last = 0;
	int n = 0;

	for (int i = 0; i < 500; i++)
		CHECK(ut_heap_reserve(&h) == 0);
	for (int i = 0; i < 5000; i++) {
		struct ut_timer *x = &t[ut_rng_below(&r, 500)];

		if (i % 3)
			ut_timer_set(&h, x, ut_rng_below(&r, 1000));
		else
			ut_timer_clear(&h, x);
	}
	for (int i = 0; i < 500; i++)
		n += ut_timer_queued(&t[i]);
	for (; (e = ut_heap_expired(&h, 999)); n--) {
		CHECK(e->at >= last);
		last = e->at;
	}
	CHECK(n == 0 && ut_heap_next(&h) == UT_NEVER);
	ut_heap_fini(&h);
}

static void stage(void)
{
	struct ut_stage s;
	char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec iov[2] = { { gone, 4 }, { gone + 4092, 8 } };

	CHECK(gone != MAP_FAILED && ut_stage_init(&s, 1) == 0);
	memcpy(gone, "abcd", 4);
	CHECK(ut_stage_gather(&s, 0, iov, 2) == 12 && memcmp(s.base, "abcd", 4) == 0);
	munmap(gone + 4096, 4096);
	CHECK(ut_stage_scatter(&s, 0, iov, 2) < 12);
	munmap(gone, 4096);
	CHECK(ut_stage_gather(&s, 0, iov, 2) == -EFAULT && ut_stage_scatter(&s, 0, iov, 2) == -EFAULT);
	ut_stage_fini(&s);
}

int main(void)
{
	ids();
	deadlines();
	stage();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small copies in the application's own thread: right whatever the alignment and the pieces, and
 * still an error, not a crash, for pages that the kernel has not reached lately.
 */
#include "support/check.h"
#include "util/crc.h"
#include "util/rng.h"
#include "util/stage.h"

#include <errno.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGE 4096u
#define MS 1000000ull
#define BIG 64u  /* pages of a piece */
#define MANY 16u /* pieces of a message */
#define RECEIVES 64u

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
		CHECK(ut_stage_scatter_user(s, 0, iov, n) == (ssize_t)sum);
		memset(s->base, 0, sum);
		CHECK(ut_stage_gather_user(s, 0, iov, n) == (ssize_t)sum);
		CHECK(!memcmp(s->base, want, sum));
		s->pages_checked_at += MS / 64;
	}
	munmap(mem, 8 * PAGE);
}

static void gone(struct ut_stage *s)
{
	uint8_t *mem = pages(1);
	struct iovec iov = { mem, 64 };

	CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == 64);
	CHECK(ut_stage_gather_user(s, 0, &iov, 1) == 64);
	munmap(mem, PAGE);
	s->pages_checked_at += 3 * MS;
	CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == -EFAULT);
	CHECK(ut_stage_gather_user(s, 0, &iov, 1) == -EFAULT);
	/* A thread of ours never touches it, whatever was seen. */
	mem = pages(1);
	iov.iov_base = mem;
	CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == 64);
	munmap(mem, PAGE);
	s->pages_checked_at = 0;
	CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == -EFAULT);
}

/*
 * Receives that follow one another by so many bytes, as a connection posts them in turn: each is still known when its turn comes
 * again, so that a message costs no system call.
 */
static void receives(struct ut_stage *s, size_t apart)
{
	size_t n = RECEIVES * apart / PAGE + 1;
	uint8_t *mem = pages(n);
	struct iovec iov = { mem, 64 };

	s->pages_checked_at += 3 * MS;
	for (unsigned i = 0; i < RECEIVES; i++) {
		iov.iov_base = mem + i * apart;
		CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == 64);
	}
	for (unsigned i = 0; i < RECEIVES; i++) {
		iov.iov_base = mem + i * apart;
		CHECK(ut_stage_may_store(s, &iov, 1));
	}
	munmap(mem, n * PAGE);
}

/* Reached for reading is not reached for writing. */
static void read_only(struct ut_stage *s)
{
	uint8_t *mem = pages(1);
	struct iovec iov = { mem, 64 };

	s->pages_checked_at = 900 * MS;
	CHECK(mprotect(mem, PAGE, PROT_READ) == 0);
	CHECK(ut_stage_gather_user(s, 0, &iov, 1) == 64);
	CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == -EFAULT);
	munmap(mem, PAGE);
}

/* A long gather with its sum, by loads and by calls: the same bytes, the same sum, and the same
 * error at a page that is gone in the middle. */
static void summed(struct ut_stage *s, uint64_t own)
{
	uint8_t *mem = pages(16);
	struct ut_rng r = { 11 };

	s->pages_checked_at = own;
	for (size_t i = 0; i < 16 * PAGE; i++)
		mem[i] = (uint8_t)ut_rng_below(&r, 256);
	for (int round = 0; round < 200; round++) {
		size_t a = ut_rng_below(&r, 3 * PAGE), b = ut_rng_below(&r, 9 * PAGE);
		struct iovec iov[2] = { { mem + a, b }, { mem + b, a } };
		uint32_t crc = (uint32_t)round;

		CHECK(ut_stage_gather_crc(s, 24, iov, 2, &crc) == (ssize_t)(a + b));
		CHECK(!memcmp(s->base + 24, mem + a, b) && !memcmp(s->base + 24 + b, mem + b, a));
		CHECK(crc == ut_crc32c((uint32_t)round, s->base + 24, a + b));
	}
	CHECK(munmap(mem + 8 * PAGE, PAGE) == 0);
	s->pages_checked_at += own ? 3 * MS : 0;
	for (size_t off = 0; off < 2; off++) {
		struct iovec iov[2] = { { mem + off, 2 * PAGE }, { mem + 6 * PAGE, 6 * PAGE } };
		uint32_t crc = 0;

		/* Fewer than asked: how many of the second piece is the kernel's affair. */
		CHECK(ut_stage_gather_crc(s, 0, iov, 2, &crc) <= (ssize_t)(4 * PAGE));
		CHECK(ut_stage_gather_crc(s, 0, iov, 2, &crc) >= (ssize_t)(2 * PAGE));
		iov[0].iov_base = mem + 8 * PAGE;
		CHECK(ut_stage_gather_crc(s, 0, iov, 1, &crc) == -EFAULT);
	}
	munmap(mem, 16 * PAGE);
}

/* A long message is loaded in pieces, and the kernel is asked for each of them once in 2 ms, wherever it
 * lies; adjoining pieces share one check. */
static void long_message(struct ut_stage *s)
{
	uint8_t *mem = pages(2 * MANY * BIG), *to = pages(BIG);
	struct iovec iov = { mem, BIG * PAGE };

	s->pages_checked_at = 1950 * MS;
	for (int round = 0; round < 3; round++)
		for (unsigned i = 0; i < MANY; i++) {
			iov.iov_base = mem + i * BIG * PAGE;
			CHECK(ut_stage_load_user(s, to, &iov, 1) == (ssize_t)(BIG * PAGE));
		}
	CHECK(s->next_span == 1);
	for (int round = 0; round < 3; round++)
		for (unsigned i = 0; i < UT_SPANS - 1; i++) {
			iov.iov_base = mem + (MANY + 1 + 2 * i) * BIG * PAGE;
			CHECK(ut_stage_load_user(s, to, &iov, 1) == (ssize_t)(BIG * PAGE));
		}
	CHECK(s->next_span == UT_SPANS);
	s->pages_checked_at += 3 * MS;
	CHECK(ut_stage_load_user(s, to, &iov, 1) == (ssize_t)(BIG * PAGE));
	CHECK(s->next_span == UT_SPANS + 1);
	munmap(mem, 2 * MANY * BIG * PAGE);
	munmap(to, BIG * PAGE);
}

/* The right to load and store directly: only the application's thread, only pages that are there,
 * and the answer holds for a moment. */
static void allowed(struct ut_stage *s)
{
	uint8_t *p = pages(4);
	struct iovec v[2] = { { p, PAGE }, { p + 2 * PAGE, PAGE } };
	uint64_t own = s->pages_checked_at;

	if (!ut_stage_may_load(s, v, 2)) {
		fprintf(stderr, "this kernel cannot be asked for pages: the kernel copies\n");
		munmap(p, 4 * PAGE);
		return;
	}
	CHECK(ut_stage_may_store(s, v, 2));
	s->pages_checked_at = 0;
	CHECK(!ut_stage_may_load(s, v, 2) && !ut_stage_may_store(s, v, 2));
	s->pages_checked_at = own + 100 * MS;
	CHECK(mprotect(p + 2 * PAGE, PAGE, PROT_READ) == 0);
	CHECK(ut_stage_may_load(s, v, 2) && ut_stage_may_store(s, v, 1) && !ut_stage_may_store(s, v, 2));
	CHECK(munmap(p, PAGE) == 0);
	s->pages_checked_at = own + 200 * MS;
	CHECK(!ut_stage_may_load(s, v, 1) && ut_stage_may_load(s, v + 1, 1));
	munmap(p + PAGE, 3 * PAGE);
	s->pages_checked_at = own;
}

/* A word that the processor is to change: asked for by the kernel, and by the thread of the application not again so soon. */
static void words(struct ut_stage *s)
{
	uint8_t *mem = pages(3), *file;
	int fd = memfd_create("words", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	file = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(file != MAP_FAILED);
	memset(mem, 0x5a, 2 * PAGE);
	for (int i = 0; i < 2; i++, s->pages_checked_at = s->pages_checked_at ? 0 : 900 * MS) {
		CHECK(ut_stage_word(s, 0, mem + 8) && ut_stage_word(s, 0, mem + 2 * PAGE) && ut_stage_word(s, 0, file));
		CHECK(mem[8] == 0x5a && mem[15] == 0x5a && !mem[2 * PAGE] && !file[0]);
		CHECK(!ut_stage_word(s, 0, file + PAGE));
		CHECK(mprotect(mem + PAGE, PAGE, PROT_READ) == 0 && !ut_stage_word(s, 0, mem + PAGE));
		CHECK(mprotect(mem + PAGE, PAGE, PROT_NONE) == 0 && !ut_stage_word(s, 0, mem + PAGE));
		CHECK(mem[8] == 0x5a);
	}
	munmap(mem, 3 * PAGE);
	CHECK(ut_stage_word(s, 0, mem) == (s->pages_checked_at != 0));
	s->pages_checked_at = 0;
	CHECK(!ut_stage_word(s, 0, mem));
	munmap(file, 2 * PAGE);
	close(fd);
}

/* --- mappings --- */

/* So many in turn that none is remembered when its turn comes again. */
static void in_turn(struct ut_stage *s, uint8_t *mem, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct iovec iov = { mem + i * PAGE, 64 };

		s->base[0] = (uint8_t)i;
		CHECK(ut_stage_scatter_user(s, 0, &iov, 1) == 64 && mem[i * PAGE] == (uint8_t)i);
		s->pages_checked_at += 100;
	}
}

/* Few calls, and the mapping is known: pages of it cost none, until UT_MAPPING_NS have passed. */
static void mapping(struct ut_stage *s)
{
	size_t n = 4 * UT_SEEN;
	uint8_t *mem = pages(n);
	struct iovec last = { mem + (n - 1) * PAGE, PAGE }, none = { mem + n * PAGE - 1, 2 };

	CHECK(mprotect(mem + (n - 1) * PAGE, PAGE, PROT_NONE) == 0);
	none.iov_base = mem + (n - 1) * PAGE - 1;
	in_turn(s, mem, 8);
	last.iov_base = mem + (n - 2) * PAGE;
	CHECK(ut_stage_in_mapping(s, last.iov_base, PAGE) && ut_stage_may_store(s, &last, 1) && ut_stage_may_load(s, &last, 1));
	CHECK(ut_stage_word(s, 0, last.iov_base));
	CHECK(!ut_stage_in_mapping(s, none.iov_base, 2) && !ut_stage_may_store(s, &none, 1) && !ut_stage_may_load(s, &none, 1));
	in_turn(s, mem, n - 1);
	s->pages_checked_at += UT_MAPPING_NS + 1;
	CHECK(!ut_stage_in_mapping(s, mem, 1));
	CHECK(munmap(mem, n * PAGE) == 0);
	last.iov_len = 64;
	for (int i = 0; i < 8; i++)
		CHECK(ut_stage_scatter_user(s, 0, &last, 1) == -EFAULT);
	/* Another thread's copies are the kernel's. */
	mem = pages(8);
	in_turn(s, mem, 8);
	CHECK(ut_stage_in_mapping(s, mem, 8 * PAGE));
	s->pages_checked_at = 0;
	CHECK(!ut_stage_in_mapping(s, mem, 1));
	munmap(mem, 8 * PAGE);
}

/* Mappings whose pages may be gone without a change of the mapping, or that are not to be written. */
static void no_mapping(struct ut_stage *s)
{
	int fd = memfd_create("pages", MFD_CLOEXEC), how;
	uint8_t *mem[4];

	CHECK(fd >= 0 && ftruncate(fd, 8 * PAGE) == 0);
	mem[0] = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	mem[1] = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	mem[2] = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mem[3] = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (how = 0; how < 4; how++) {
		struct ut_mapping m;

		CHECK(mem[how] != MAP_FAILED);
		errno = 4711;
		CHECK(!ut_mapping_of(mem[how], &m) && errno == 4711);
		s->mappings.enough = 0;
		for (int i = 0; i < 16; i++) {
			struct iovec iov = { mem[how] + i % 8 * PAGE, 64 };

			CHECK(ut_stage_gather_user(s, 0, &iov, 1) == 64);
			s->pages_checked_at += UT_MAPPING_NS / 100;
			CHECK(!ut_stage_in_mapping(s, iov.iov_base, 64));
		}
		munmap(mem[how], 8 * PAGE);
		CHECK(!ut_mapping_of(mem[how], &m) && errno == 4711);
	}
	close(fd);
}

/* Without a descriptor for the question the kernel copies. */
static void no_descriptor(struct ut_stage *s)
{
	struct rlimit was, none;
	uint8_t *mem = pages(16);

	CHECK(getrlimit(RLIMIT_NOFILE, &was) == 0);
	none = was;
	none.rlim_cur = 0;
	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	s->mappings.enough = 0;
	in_turn(s, mem, 16);
	CHECK(!ut_stage_in_mapping(s, mem, 1));
	CHECK(setrlimit(RLIMIT_NOFILE, &was) == 0);
	munmap(mem, 16 * PAGE);
}

static void mappings(struct ut_stage *s)
{
	uint8_t *mem = pages(1);
	struct ut_mapping m;
	bool known = ut_mapping_of(mem, &m);

	if (known)
		CHECK(m.at <= (uintptr_t)mem && (uintptr_t)mem + PAGE <= m.end);
	else
		fprintf(stderr, "this kernel does not say what a mapping is (before Linux 6.11): the kernel copies\n");
	munmap(mem, PAGE);
	if (known)
		mapping(s);
	s->pages_checked_at = 90 * MS;
	no_mapping(s);
	no_descriptor(s);
}

int main(void)
{
	struct ut_stage s;

	CHECK(ut_stage_init(&s, 65536) == 0);
	s.pages_checked_at = 50 * MS;
	mappings(&s);
	ut_stage_fini(&s);

	/* From here on by pages. */
	CHECK(ut_stage_init(&s, 65536) == 0);
	s.mappings.enough = UINT_MAX;
	long_message(&s);
	ut_stage_fini(&s);

	CHECK(ut_stage_init(&s, 65536) == 0);
	s.mappings.enough = UINT_MAX;
	s.pages_checked_at = 50 * MS;
	any_shape(&s);
	for (size_t apart = PAGE; apart <= 512 * PAGE; apart *= 2)
		receives(&s, apart);
	receives(&s, 4 * PAGE + 80);
	gone(&s);
	read_only(&s);
	allowed(&s);
	summed(&s, 950 * MS);
	summed(&s, 0);
	s.pages_checked_at = 900 * MS;
	words(&s);
	ut_stage_fini(&s);
	return 0;
}

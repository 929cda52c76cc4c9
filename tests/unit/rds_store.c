/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory that owner and standby of an RDS carrier share: slots of each size until all are in use, and again; their places, between
 * two processes that have the memory at different addresses; places and counts that are none.
 */
#include "ulp/rds/store.h"

#include "support/cases.h"
#include "support/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALLEST 512u
#define CLASSES 13
#define CLASS_ROOM (256ul << 20)
#define BIGGEST ((size_t)SMALLEST << (CLASSES - 1))
#define NR_BIGGEST (CLASS_ROOM / BIGGEST)

/* Each case has a memory of its own. */
static void apart(void (*run)(void))
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(!rds_store_make(-1));
		run();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_MSG(WIFEXITED(status) && !WEXITSTATUS(status), "status %x", status);
}

static size_t class_size(size_t len)
{
	size_t n = SMALLEST;

	while (n < len)
		n *= 2;
	return n;
}

/* --- sizes and places --- */

static void check_slot(const uint8_t *m, size_t len)
{
	uint64_t place = rds_store_place(m);

	CHECK(place && rds_store_at(place) == m);
	CHECK_MSG(rds_store_room(m) == class_size(len), "%zu for %zu", rds_store_room(m), len);
	/* Its octets have a place, and none of them begins a slot. */
	CHECK(rds_store_place(m + len - 1) == place + len - 1);
	for (size_t i = 1; i < rds_store_room(m); i = i * 3 + 1)
		CHECK(!rds_store_at(place + i));
	CHECK(!rds_store_at(place + rds_store_room(m))); /* it was never in use */
}

static void sizes(void)
{
	uint8_t *of[64];
	size_t len[64];
	unsigned nr = 0;

	CHECK(!rds_store_at(0) && !rds_store_place(NULL));
	for (unsigned c = 0; c < CLASSES; c++) {
		size_t edge = (size_t)SMALLEST << c;

		for (int d = c ? 1 : -1; d >= -1; d -= 2) { /* an octet more than the class before, and an octet less than this one */
			len[nr] = d > 0 ? edge / 2 + 1 : edge - 1;
			of[nr] = rds_store_get(len[nr]);
			check_slot(of[nr], len[nr]);
			memset(of[nr], (int)nr + 1, len[nr]);
			nr++;
		}
	}
	of[nr] = rds_store_get(1);
	len[nr] = 1;
	check_slot(of[nr], 1);
	*of[nr] = (uint8_t)(nr + 1);
	nr++;
	for (unsigned i = 0; i < nr; i++)
		for (size_t at = 0; at < len[i]; at++)
			CHECK(of[i][at] == (uint8_t)(i + 1));
	for (unsigned i = 0; i < nr; i++)
		rds_store_put(of[i]);
}

static void test_sizes(void)
{
	apart(sizes);
}

/* Larger than every slot: memory of this process. */
static void beyond(void)
{
	uint8_t *m = rds_store_get(BIGGEST + 1);

	CHECK(m && !rds_store_place(m) && !rds_store_room(m));
	memset(m, 1, BIGGEST + 1);
	rds_store_put(m);
	rds_store_put(NULL);
}

static void test_beyond(void)
{
	apart(beyond);
}

/* --- all in use --- */

static void full(void)
{
	uint8_t *of[NR_BIGGEST], *none;
	uint64_t first, last;

	for (unsigned i = 0; i < NR_BIGGEST; i++) {
		of[i] = rds_store_get(BIGGEST - i);
		CHECK(rds_store_place(of[i]) && (!i || of[i] == of[i - 1] + BIGGEST));
	}
	first = rds_store_place(of[0]);
	last = rds_store_place(of[NR_BIGGEST - 1]);
	CHECK(!rds_store_at(last + BIGGEST)); /* behind the whole memory */
	none = rds_store_get(BIGGEST);
	CHECK(none && !rds_store_place(none));
	rds_store_put(none);
	/* Every second one goes back, the last first; each is had again before there is none. */
	for (unsigned i = NR_BIGGEST; i; i -= 2)
		rds_store_put(of[i - 1]);
	for (unsigned i = 0; i < NR_BIGGEST / 2; i++) {
		uint64_t place = rds_store_place(of[i * 2 + 1] = rds_store_get(BIGGEST));

		CHECK(place >= first && place <= last);
	}
	none = rds_store_get(BIGGEST);
	CHECK(none && !rds_store_place(none));
	rds_store_put(none);
	for (unsigned i = 0; i < NR_BIGGEST; i++)
		for (unsigned j = 0; j < i; j++)
			CHECK(of[i] != of[j]);
}

static void test_full(void)
{
	apart(full);
}

/* The slots of the smallest class are all in use: the next class stands in, and no more than once. */
static void spills(void)
{
	unsigned nr = CLASS_ROOM / SMALLEST;
	void **of = malloc((nr + 1) * sizeof(*of));

	for (unsigned i = 0; i < nr; i++) {
		of[i] = rds_store_get(SMALLEST);
		CHECK(rds_store_room(of[i]) == SMALLEST);
	}
	of[nr] = rds_store_get(1);
	CHECK(rds_store_room(of[nr]) == 2 * SMALLEST && rds_store_at(rds_store_place(of[nr])) == of[nr]);
	rds_store_put(of[7]);
	CHECK(rds_store_get(100) == of[7]);
	for (unsigned i = 0; i <= nr; i++)
		rds_store_put(of[i]);
	/* Round and round: no slot more is ever used. */
	for (unsigned i = 0; i < 3 * nr; i++) {
		void *m = rds_store_get(1);

		CHECK(rds_store_room(m) == SMALLEST);
		rds_store_put(m);
	}
	free(of);
}

static void test_spills(void)
{
	apart(spills);
}

/* --- the next owner --- */

#define KEPT 100

static bool is_odd(void *m, void *arg)
{
	unsigned *seen = arg;
	uint32_t *at = m;

	CHECK(*at < KEPT);
	seen[*at]++;
	return *at % 2;
}

static void look(void *m, void *arg)
{
	unsigned *seen = arg;

	seen[*(uint32_t *)m]++;
}

static size_t len_of(unsigned i)
{
	return 4 + i * 7919 % 300000;
}

/* It has the memory at another address, and finds what the owner before has left; of the rest it makes use. */
static void next_owner(int fd, const uint64_t place[KEPT])
{
	unsigned looked[KEPT] = { 0 }, seen[KEPT] = { 0 };
	uint32_t *m;

	CHECK(mmap(NULL, 64ul << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED);
	CHECK(!rds_store_make(fd) && rds_store_fd() == fd);
	rds_store_look(look, looked);
	rds_store_each(is_odd, seen);
	for (uint32_t i = 0; i < KEPT; i++) {
		CHECK(looked[i] == 1 && seen[i] == 1);
		m = rds_store_at(place[i]);
		CHECK(m && *m == i && rds_store_place(m) == place[i] && rds_store_room(m) >= len_of(i));
	}
	/* The even ones are free, and had again before a new one; those that are in use are not touched. */
	for (uint32_t i = 0; i < KEPT; i += 2) {
		m = rds_store_get(len_of(i));
		CHECK(*m < KEPT && *m % 2 == 0);
		*m = KEPT + i;
	}
	for (uint32_t i = 1; i < KEPT; i += 2)
		CHECK(*(uint32_t *)rds_store_at(place[i]) == i);
}

static void two_processes(void)
{
	static uint64_t place[KEPT];
	const void *here = rds_store();
	int status, pipes[2];
	pid_t pid;

	for (uint32_t i = 0; i < KEPT; i++) {
		uint32_t *m = rds_store_get(len_of(i));

		place[i] = rds_store_place(m);
		*m = i;
	}
	CHECK(!pipe(pipes));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		next_owner(dup(rds_store_fd()), place);
		CHECK(rds_store() != here);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	for (uint32_t i = 0; i < KEPT; i++) /* what it has written is here */
		CHECK(*(uint32_t *)rds_store_at(place[i]) == i || i % 2 == 0);
}

static void test_two_processes(void)
{
	apart(two_processes);
}

/* --- what is none --- */

static unsigned nr_looked;

static void count(void *m, void *arg)
{
	CHECK(rds_store_place(m) && rds_store_at(rds_store_place(m)) == m);
	nr_looked++;
}

static bool never(void *m, void *arg)
{
	count(m, arg);
	return false;
}

/* The shared memory has anything: counts are bounded, and places are refused. */
static void garbage(void)
{
	uint64_t begin = rds_store_place(rds_store_get(1)), at;
	uint32_t *words = (uint32_t *)(void *)rds_store(), chance = 1;
	size_t nr = ((uintptr_t)rds_store_at(begin) - (uintptr_t)words) / sizeof(*words);

	/* All that lies before the slots, the counts of slots among it. */
	for (size_t i = 0; i < nr; i++)
		words[i] = UINT32_MAX;
	rds_store_look(count, NULL);
	CHECK(nr_looked == 2 * CLASS_ROOM / SMALLEST - NR_BIGGEST); /* 2^19 + 2^18 + ... 2^7 */
	nr_looked = 0;
	rds_store_each(never, NULL);
	CHECK(nr_looked == 2 * CLASS_ROOM / SMALLEST - NR_BIGGEST);
	for (unsigned i = 0; i < 1000; i++) {
		chance = chance * 1664525 + 1013904223;
		CHECK(rds_store_place(rds_store_get(chance >> 8 & 0x3fff)));
	}
	for (at = 0; at < begin; at += 509)
		CHECK(!rds_store_at(at));
	CHECK(!rds_store_at(begin + CLASSES * CLASS_ROOM) && !rds_store_at(UINT64_MAX) && !rds_store_at(1ull << 63));
	for (unsigned i = 0; i < 1000000; i++) {
		void *m;

		chance = chance * 1664525 + 1013904223;
		at = begin + (uint64_t)chance % (CLASSES * CLASS_ROOM);
		m = rds_store_at(at);
		CHECK(!m || (rds_store_place(m) == at && at % rds_store_room(m) == begin % rds_store_room(m)));
	}
}

static void test_garbage(void)
{
	apart(garbage);
}

/* --- two copies of a row --- */

static void rows(void)
{
	struct rds_store *s = rds_store();

	for (unsigned i = 0; i < RDS_SOCKS_MAX; i++)
		CHECK(!atomic_load(&s->socks[i].id));
	for (unsigned i = 0; i < RDS_STORE_CONNS; i++)
		CHECK(!atomic_load(&s->conns[i].used));
	/* The last of the rows and the first slot do not share octets. */
	memset(&s->conns[RDS_STORE_CONNS - 1], 0xff, sizeof(s->conns[0]));
	memset(&s->socks[RDS_SOCKS_MAX - 1], 0xff, sizeof(s->socks[0]));
	CHECK(rds_store_place(rds_store_get(1)) && !*(uint64_t *)rds_store_get(1));
	CHECK(!rds_store_place(s) && !rds_store_place(&s->conns[RDS_STORE_CONNS - 1]));
}

static void test_rows(void)
{
	apart(rows);
}

static const struct test_case cases[] = {
	{ "-", "slots of odd sizes", test_sizes },
	{ "-", "a message larger than every slot", test_beyond },
	{ "-", "all slots of a size in use, and again", test_full },
	{ "-", "slots of the next size stand in", test_spills },
	{ "-", "places between two processes", test_two_processes },
	{ "-", "anything in the shared memory", test_garbage },
	{ "-", "rows of sockets and connections", test_rows },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

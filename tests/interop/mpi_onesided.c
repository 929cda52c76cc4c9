/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MPI's one-sided communication, with every byte checked. The three kinds of window (own memory, memory of MPI,
 * attached later), the three ways to synchronise (fence, post and start, lock), and each operation: Put, Get,
 * Accumulate, Get_accumulate, Fetch_and_op, Compare_and_swap, a Put with gaps, and the two with a request.
 *
 * usage: mpi_onesided [ROUNDS [requests]]
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, faults, requests;

enum kind { WIN_CREATED, WIN_ALLOCATED, WIN_DYNAMIC, WIN_KINDS };

static const char *const kind_names[WIN_KINDS] = { "created", "allocated", "dynamic" };

/* A window whose memory is one part of n octets for each rank, then counters. `at` is where each rank's part 0 is. */
struct window {
	MPI_Win win;
	uint8_t *mem;
	MPI_Aint *at;
	size_t n, bytes;
	enum kind kind;
};

/* A library may send each octet between gaps by itself. */
enum { COUNTERS = 4, MOST_GAPS = 1024 };

static uint8_t pattern(size_t i, int from, int round)
{
	return (uint8_t)(i * 29 + (size_t)from * 13 + (size_t)round * 5 + (i >> 8));
}

static void fill(uint8_t *p, size_t n, int from, int round)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i, from, round);
}

static void check(const struct window *w, const uint8_t *p, int from, int round, const char *what)
{
	for (size_t i = 0; i < w->n; i++)
		if (p[i] != pattern(i, from, round)) {
			printf("rank %d: %s, window %s: corrupt octet %zu of %zu from rank %d: %02x, not %02x\n", rank,
			       what, kind_names[w->kind], i, w->n, from, p[i], pattern(i, from, round));
			faults++;
			return;
		}
}

static void equal(const struct window *w, int64_t got, int64_t want, const char *what)
{
	if (got == want)
		return;
	printf("rank %d: %s, window %s: corrupt value %lld, not %lld\n", rank, what, kind_names[w->kind],
	       (long long)got, (long long)want);
	faults++;
}

static void win_open(struct window *w, enum kind kind, size_t n)
{
	MPI_Aint own = 0;

	w->kind = kind;
	w->n = n;
	w->bytes = n * (size_t)size + COUNTERS * sizeof(int64_t);
	w->at = calloc((size_t)size, sizeof(*w->at));
	if (kind == WIN_ALLOCATED)
		MPI_Win_allocate((MPI_Aint)w->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->mem, &w->win);
	else
		w->mem = malloc(w->bytes);
	memset(w->mem, 0, w->bytes);
	if (kind == WIN_CREATED)
		MPI_Win_create(w->mem, (MPI_Aint)w->bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
	if (kind == WIN_DYNAMIC) {
		MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w->win);
		MPI_Win_attach(w->win, w->mem, (MPI_Aint)w->bytes);
		MPI_Get_address(w->mem, &own);
	}
	MPI_Allgather(&own, 1, MPI_AINT, w->at, 1, MPI_AINT, MPI_COMM_WORLD);
}

static void win_close(struct window *w)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (w->kind == WIN_DYNAMIC)
		MPI_Win_detach(w->win, w->mem);
	MPI_Win_free(&w->win);
	if (w->kind != WIN_ALLOCATED)
		free(w->mem);
	free(w->at);
}

static MPI_Aint part(const struct window *w, int target, int of)
{
	return w->at[target] + (MPI_Aint)(w->n * (size_t)of);
}

static MPI_Aint counter(const struct window *w, int target, int nr)
{
	return part(w, target, size) + (MPI_Aint)((size_t)nr * sizeof(int64_t));
}

static int64_t value(const struct window *w, int nr)
{
	int64_t v;

	memcpy(&v, w->mem + w->n * (size_t)size + (size_t)nr * sizeof(v), sizeof(v));
	return v;
}

/* Each rank writes its part at all others, and reads back what its right neighbour has of it. */
static void by_fence(struct window *w, int round)
{
	uint8_t *out = malloc(w->n), *back = malloc(w->n);
	int64_t add = rank + 1;

	fill(out, w->n, rank, round);
	MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win);
	for (int i = 0; i < size; i++) {
		MPI_Put(out, (int)w->n, MPI_BYTE, i, part(w, i, rank), (int)w->n, MPI_BYTE, w->win);
		MPI_Accumulate(&add, 1, MPI_INT64_T, i, counter(w, i, 0), 1, MPI_INT64_T, MPI_SUM, w->win);
	}
	MPI_Win_fence(0, w->win);
	for (int i = 0; i < size; i++)
		check(w, w->mem + w->n * (size_t)i, i, round, "Put by fence");
	equal(w, value(w, 0), (int64_t)(round + 1) * size * (size + 1) / 2, "Accumulate by fence");
	MPI_Win_fence(0, w->win);
	memset(back, 0xee, w->n);
	MPI_Get(back, (int)w->n, MPI_BYTE, (rank + 1) % size, part(w, (rank + 1) % size, rank), (int)w->n, MPI_BYTE,
		w->win);
	MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
	check(w, back, rank, round, "Get by fence");
	free(out);
	free(back);
}

/* The left neighbour posts, the right one starts. */
static void by_post(struct window *w, int round)
{
	uint8_t *out = malloc(w->n);
	int left = (rank + size - 1) % size, right = (rank + 1) % size;
	MPI_Group world, to, from;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &right, &to);
	MPI_Group_incl(world, 1, &left, &from);
	fill(out, w->n, rank + 100, round);
	MPI_Win_post(from, 0, w->win);
	MPI_Win_start(to, 0, w->win);
	MPI_Put(out, (int)w->n, MPI_BYTE, right, part(w, right, rank), (int)w->n, MPI_BYTE, w->win);
	MPI_Win_complete(w->win);
	MPI_Win_wait(w->win);
	check(w, w->mem + w->n * (size_t)left, left + 100, round, "Put by post and start");
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Group_free(&world);
	free(out);
}

/* Even octets only, by a type with gaps; the odd ones stay as by_post() left them. */
static void put_gaps(struct window *w, int target, const uint8_t *out, int round)
{
	uint8_t *back = malloc(w->n);
	MPI_Datatype gaps;

	MPI_Type_vector((int)(w->n / 2), 1, 2, MPI_BYTE, &gaps);
	MPI_Type_commit(&gaps);
	MPI_Put(out, 1, gaps, target, part(w, target, rank), 1, gaps, w->win);
	MPI_Win_flush(target, w->win);
	MPI_Get(back, (int)w->n, MPI_BYTE, target, part(w, target, rank), (int)w->n, MPI_BYTE, w->win);
	MPI_Win_flush(target, w->win);
	for (size_t i = 0; i < w->n; i++)
		if (back[i] != (i % 2 ? pattern(i, rank + 100, round) : out[i])) {
			printf("rank %d: Put with gaps, window %s: corrupt octet %zu of %zu\n", rank,
			       kind_names[w->kind], i, w->n);
			faults++;
			break;
		}
	MPI_Type_free(&gaps);
	free(back);
}

/* Called with all windows locked. */
static void by_request(struct window *w, int round)
{
	uint8_t *out = malloc(w->n), *back = malloc(w->n);
	int target = (rank + 1) % size;
	MPI_Request request;

	memset(back, 0xee, w->n);
	MPI_Rget(back, (int)w->n, MPI_BYTE, target, part(w, target, rank), (int)w->n, MPI_BYTE, w->win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	check(w, back, rank + 200, round, "Rget");
	fill(out, w->n, rank + 300, round);
	MPI_Rput(out, (int)w->n, MPI_BYTE, target, part(w, target, rank), (int)w->n, MPI_BYTE, w->win, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Win_flush(target, w->win);
	free(out);
	free(back);
}

static void by_lock(struct window *w, int round)
{
	uint8_t *out = malloc(w->n), *back = malloc(w->n);
	int target = (rank + 1) % size;

	fill(out, w->n, rank + 200, round);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win);
	if (w->n <= MOST_GAPS)
		put_gaps(w, target, out, round);
	MPI_Put(out, (int)w->n, MPI_BYTE, target, part(w, target, rank), (int)w->n, MPI_BYTE, w->win);
	MPI_Win_unlock(target, w->win);

	MPI_Win_lock_all(0, w->win);
	if (requests)
		by_request(w, round);
	MPI_Get(back, (int)w->n, MPI_BYTE, target, part(w, target, rank), (int)w->n, MPI_BYTE, w->win);
	MPI_Win_flush_local(target, w->win);
	MPI_Win_unlock_all(w->win);
	check(w, back, rank + (requests ? 300 : 200), round, "Get under a lock");
	free(out);
	free(back);
}

/* All ranks at once on the counters of rank 0: tickets are all different, and one rank wins each turn. */
static void atomics(struct window *w, int round)
{
	enum { TICKETS = 20 };
	int64_t one = 1, got, before, turn, next, mine = 0, sum = 0, first = (int64_t)round * TICKETS * size;

	MPI_Win_lock_all(0, w->win);
	for (int i = 0; i < TICKETS; i++) {
		MPI_Fetch_and_op(&one, &got, MPI_INT64_T, 0, counter(w, 0, 1), MPI_SUM, w->win);
		MPI_Win_flush(0, w->win);
		mine += got - first;
	}
	MPI_Get_accumulate(&one, 1, MPI_INT64_T, &before, 1, MPI_INT64_T, 0, counter(w, 0, 2), 1, MPI_INT64_T, MPI_SUM,
			   w->win);
	MPI_Win_flush(0, w->win);
	if (before < (int64_t)round * size || before >= (int64_t)(round + 1) * size)
		equal(w, before, (int64_t)round * size, "Get_accumulate");
	/* Each rank in its turn; the counter goes round once a round. */
	turn = (int64_t)round * size + rank;
	next = turn + 1;
	do {
		MPI_Compare_and_swap(&next, &turn, &got, MPI_INT64_T, 0, counter(w, 0, 3), w->win);
		MPI_Win_flush(0, w->win);
	} while (got != turn);
	MPI_Win_unlock_all(w->win);
	MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	equal(w, sum, (int64_t)TICKETS * size * (TICKETS * size - 1) / 2, "Fetch_and_op");
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 8, 512, 8192 + 8, 262144 };
	int rounds, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rounds = argc > 1 ? atoi(argv[1]) : 2;
	requests = argc > 2 && strcmp(argv[2], "requests") == 0;
	for (enum kind kind = 0; kind < WIN_KINDS; kind++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct window w;

			win_open(&w, kind, sizes[i]);
			for (int round = 0; round < rounds; round++) {
				by_fence(&w, round);
				by_post(&w, round);
				MPI_Barrier(MPI_COMM_WORLD);
				by_lock(&w, round);
				MPI_Barrier(MPI_COMM_WORLD); /* an exclusive lock, and then ranks that wait under shared ones */
				atomics(&w, round);
				MPI_Barrier(MPI_COMM_WORLD);
			}
			win_close(&w);
		}
	MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d rounds, one-sided, %d faults\n", size, rounds, all);
	MPI_Finalize();
	return all != 0;
}

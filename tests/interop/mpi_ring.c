/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A small MPI program whose every byte is checked: a token of growing size
 * around a ring, an all-to-all, one-sided put, get and accumulate. Sizes
 * cross the limits between eager, buffered and rendezvous protocols.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size, faults;

static uint8_t pattern(size_t i, int from, int round)
{
	return (uint8_t)(i * 31 + (size_t)from * 17 + (size_t)round * 7 + (i >> 8));
}

static void fill(uint8_t *p, size_t n, int from, int round)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i, from, round);
}

static void check(const uint8_t *p, size_t n, int from, int round, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != pattern(i, from, round)) {
			printf("rank %d: %s: corrupt byte %zu of %zu from rank %d\n", rank, what, i,
			       n, from);
			faults++;
			return;
		}
}

/* Each rank passes the bytes from its left to its right, so that a fault in any hop reaches the
 * owner again. */
static void ring(size_t n, int round)
{
	uint8_t *out = malloc(n), *in = malloc(n);
	int left = (rank + size - 1) % size, right = (rank + 1) % size;

	fill(out, n, rank, round);
	for (int hop = 1; hop <= size; hop++) {
		int owner = (rank - hop + 2 * size) % size;

		memset(in, 0xee, n);
		MPI_Sendrecv(out, (int)n, MPI_BYTE, right, round, in, (int)n, MPI_BYTE, left, round,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		check(in, n, owner, round, "ring");
		memcpy(out, in, n);
	}
	free(out);
	free(in);
}

static void all_to_all(size_t n, int round)
{
	uint8_t *out = malloc(n * (size_t)size), *in = malloc(n * (size_t)size);

	for (int i = 0; i < size; i++)
		fill(out + n * (size_t)i, n, rank * 64 + i, round);
	MPI_Alltoall(out, (int)n, MPI_BYTE, in, (int)n, MPI_BYTE, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++)
		check(in + n * (size_t)i, n, i * 64 + rank, round, "all-to-all");
	free(out);
	free(in);
}

/* The window: one part per rank, then one counter. */
static void one_sided(size_t n, int round)
{
	size_t parts = n * (size_t)size;
	uint8_t *win_mem, *mine = malloc(n), *back = malloc(n);
	int64_t one = rank + 1, *sum;
	MPI_Win win;

	MPI_Win_allocate((MPI_Aint)(parts + 8), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win_mem, &win);
	sum = (int64_t *)(void *)(win_mem + parts);
	memset(win_mem, 0, parts + 8);
	fill(mine, n, rank, round);
	MPI_Win_fence(0, win);
	for (int i = 0; i < size; i++) {
		MPI_Put(mine, (int)n, MPI_BYTE, i, (MPI_Aint)(n * (size_t)rank), (int)n, MPI_BYTE, win);
		MPI_Accumulate(&one, 1, MPI_INT64_T, i, (MPI_Aint)parts, 1, MPI_INT64_T, MPI_SUM, win);
	}
	MPI_Win_fence(0, win);
	for (int i = 0; i < size; i++)
		check(win_mem + n * (size_t)i, n, i, round, "put");
	if (*sum != (int64_t)size * (size + 1) / 2) {
		printf("rank %d: corrupt sum %lld\n", rank, (long long)*sum);
		faults++;
	}
	MPI_Win_fence(0, win);
	MPI_Get(back, (int)n, MPI_BYTE, (rank + 1) % size, (MPI_Aint)(n * (size_t)rank), (int)n,
		MPI_BYTE, win);
	MPI_Win_fence(0, win);
	check(back, n, rank, round, "get");
	MPI_Win_free(&win);
	free(mine);
	free(back);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 8, 184, 4096, 8192 + 8, 65536, 1048576 + 24 };
	int rounds, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rounds = argc > 1 ? atoi(argv[1]) : 3;
	for (int round = 0; round < rounds; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			ring(sizes[i], round);
			all_to_all(sizes[i], round);
			one_sided(sizes[i], round);
		}
	MPI_Allreduce(&faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d rounds, %d faults\n", size, rounds, all);
	MPI_Finalize();
	return all != 0;
}

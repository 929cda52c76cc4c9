/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ranks: bench-mpi lat|bw|rate BYTES[,BYTES...]
 *
 * lat: half a round trip, the median, in us; bw: windows of 64 messages, GB/s; rate: the same in
 * messages per second. BENCH_CPUS="0 1" pins the ranks. Prints "BYTES FIGURE" for each size.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64
#define SECONDS 0.15

static int rank;
static char *buf;

static void pin(void)
{
	const char *said = getenv("BENCH_CPUS");
	int cpu[2];
	cpu_set_t set;

	if (!said || sscanf(said, "%d %d", &cpu[0], &cpu[1]) != 2)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu[rank & 1], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("bench-mpi: BENCH_CPUS");
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double latency(int bytes)
{
	enum { N = 4000, WARM = 400 };
	static double us[N];

	for (int i = -WARM; i < N; i++) {
		double t = MPI_Wtime();

		if (rank == 0) {
			MPI_Send(buf, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(buf, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(buf, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buf, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
		if (i >= 0)
			us[i] = (MPI_Wtime() - t) / 2 * 1e6;
	}
	qsort(us, N, sizeof(*us), by_size);
	return us[N / 2];
}

/* Windows until the time is over; rank 0 tells with each whether another follows. */
static double rate(int bytes)
{
	MPI_Request r[WINDOW];
	double t = MPI_Wtime(), n = 0;
	int more = 1;

	for (; more; n += WINDOW) {
		for (int i = 0; i < WINDOW; i++)
			if (rank == 0)
				MPI_Isend(buf, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &r[i]);
			else
				MPI_Irecv(buf, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &r[i]);
		MPI_Waitall(WINDOW, r, MPI_STATUSES_IGNORE);
		more = MPI_Wtime() < t + SECONDS;
		if (rank == 0)
			MPI_Send(&more, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
		else
			MPI_Recv(&more, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	return n / (MPI_Wtime() - t);
}

int main(int argc, char **argv)
{
	const char *list = argc > 2 ? argv[2] : "";
	char *end;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	pin();
	buf = calloc(1, 1 << 20);
	for (; buf && *list; list = *end ? end + 1 : end) {
		long bytes = strtol(list, &end, 0);
		double f;

		if (end == list || bytes < 1 || bytes > 1 << 20)
			break;
		f = !strcmp(argv[1], "lat") ? latency((int)bytes) : rate((int)bytes);
		if (!strcmp(argv[1], "bw"))
			f *= (double)bytes / 1e9;
		if (rank == 0)
			printf("%ld %.4f\n", bytes, f);
	}
	free(buf);
	MPI_Finalize();
	return 0;
}

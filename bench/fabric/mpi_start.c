/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An MPI job that does no more than start: each rank hears of each other one, and leaves. For bench/fabric/run. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, size, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (sum != size * (size - 1) / 2)
		fprintf(stderr, "rank %d: the sum of ranks is %d\n", rank, sum);
	MPI_Finalize();
	return sum != size * (size - 1) / 2;
}

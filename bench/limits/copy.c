/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Copies of one processor: the limit of a Write into memory that both ends have mapped.
 *
 *	bench-copy private|shared [BYTES] [SECONDS]	GB/s by memcpy, then CPU time per byte in ns
 */
#include "limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	size_t bytes = (size_t)lim_number(argc, argv, 2, 65536);
	double seconds = lim_number(argc, argv, 3, 0.3), t, cpu, sum = 0;
	char *from = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096), *to;

	if (argc < 2 || !from) {
		fprintf(stderr, "usage: bench-copy private|shared [BYTES] [SECONDS]\n");
		return 2;
	}
	lim_pin(0);
	to = argv[1][0] == 's' ? lim_shared(bytes) :
				 aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	if (!to)
		lim_fail("memory");
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	cpu = lim_cpu();
	for (t = lim_now(); lim_now() < t + seconds;)
		for (int i = 0; i < 16; i++, sum += (double)bytes) {
			memcpy(to, from, bytes);
			__asm__ volatile("" : : "r"(to) : "memory");
		}
	t = lim_now() - t;
	printf("%.4f\ncpu %.4f\n", sum / t / 1e9, (lim_cpu() - cpu) / sum * 1e9);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Measurements that perftest does not have. dapple run [--adapter KIND] -- bench-verbs MODE ...
 *
 *	lat KIND poll|event [BYTES,...] [N]	half a round trip of send or write, a whole one of
 *						read or faa, in us; "BYTES FIGURE" for each size
 *	tail KIND poll|event [BYTES] [N]	the same as percentiles: "50 FIGURE" to "99.99 FIGURE"
 *	passive KIND poll|sleep [N]		time in us until the completion of a read, write or faa
 *						whose target polls its queue or sleeps
 *	bw KIND poll|event [BYTES,...] [S]	GB/s of send, write or read; "cpuBYTES FIGURE" is the
 *						processor time of both ends per byte, in ns
 *	rate [QPS] [S]				64-byte sends per second over so many queue pairs, with
 *						the same number of messages in flight whatever QPS
 *	quiet [QPS] [S]				wake-ups per second and "cpu" in ms per second of two
 *						processes with idle connections, without the
 *						measuring thread
 *	rounds [QUEUES] [S]			time of an exchange in us (median, 99 %, 99.9 %, most) with
 *						a process that polls so many completion queues in turn;
 *						yields, questions to the scheduler and brief waits
 *						in 1,000 polls
 *	spin [S]				half a round trip of Writes in us, likewise, between ends
 *						that watch memory without a yield
 *	memory [QPS]				KiB per idle RC queue pair beside its queues (RoCE)
 */
#include "measure.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} modes[] = {
	{ "lat", measure_lat }, { "tail", measure_tail }, { "passive", measure_passive },
	{ "bw", measure_bw }, { "rate", measure_rate }, { "quiet", measure_quiet },
	{ "memory", measure_memory }, { "rounds", measure_rounds }, { "spin", measure_spin },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run(argc - 2, argv + 2);
	fprintf(stderr, "usage: bench-verbs lat|tail KIND poll|event [BYTES] [N]\n"
			"       bench-verbs passive KIND poll|sleep [N]\n"
			"       bench-verbs bw KIND poll|event [BYTES] [SECONDS]\n"
			"       bench-verbs rate|quiet [QPS] [SECONDS]\n"
			"       bench-verbs rounds [QUEUES] [SECONDS]\n"
			"       bench-verbs spin [SECONDS]\n"
			"       bench-verbs memory [QPS]\n");
	return 2;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Common parts of the programs of this folder: two processes on two processors, a clock, and a
 * latency that other work on the machine hardly changes: the median of short batches. perftest's
 * "typical" is a median as well; a mean beside it would favour Dapple.
 *
 * BENCH_CPUS="0 1" says which processors the two ends run on; "0 0" means one for both.
 * Every program prints its figure alone in the first line; further lines are "NAME FIGURE".
 */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include <stddef.h>
#include <sys/types.h>

double lim_now(void);

/* Prints the failed operation and strerror(errno), ends the child too, and exits. */
_Noreturn void lim_fail(const char *operation);

void lim_pin(int end);

/* Zeroed memory in a memfd, so that it is shared as Dapple's rings are. */
void *lim_shared(size_t bytes);

/* Forks; both ends are pinned, and the child dies with its parent. 0 in the child. */
pid_t lim_fork(void);

/* Waits for the child. Returns the exit status of the program. */
int lim_join(pid_t child);

/* Median over batches of the microseconds of one call. */
double lim_median(void (*once)(void *), void *arg, int rounds, int batch);

/* Processor time of this process and the children that ended, in seconds. */
double lim_cpu(void);

/* Returns word I of the command line as a number, or the default without it. */
double lim_number(int argc, char **argv, int i, double otherwise);

#endif

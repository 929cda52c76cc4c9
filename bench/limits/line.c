/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The least cost of a message between two processors: a number goes to and fro in shared
 * memory. No variant is the best on every machine, so there are several:
 *
 *	bench-line one|split none|pause|yield [ROUNDS]
 *
 * Both directions in one cache line, or in two that no prefetcher joins; and the action
 * of the waiting end: nothing, the processor's pause, or sched_yield() every 16 polls (which is
 * needed where both ends share a processor). Prints half a round trip in us.
 */
#include "limit.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct line {
	_Atomic uint64_t *mine, *yours;
	char wait;
	uint64_t count;
};

static void hint(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void until(const struct line *l, uint64_t value)
{
	for (unsigned looks = 1;
	     atomic_load_explicit(l->yours, memory_order_acquire) != value; looks++) {
		if (l->wait == 'p')
			hint();
		else if (l->wait == 'y' && looks % 16 == 0)
			sched_yield();
	}
}

static void ping(void *arg)
{
	struct line *l = arg;

	l->count++;
	atomic_store_explicit(l->mine, l->count, memory_order_release);
	until(l, l->count);
}

static void serve(struct line *l, uint64_t rounds)
{
	for (uint64_t i = 1; i <= rounds; i++) {
		until(l, i);
		atomic_store_explicit(l->mine, i, memory_order_release);
	}
}

int main(int argc, char **argv)
{
	int rounds = (int)lim_number(argc, argv, 3, 100000) / 100 * 100;
	char *m = lim_shared(8192);
	struct line l = { .wait = argc > 2 ? argv[2][0] : 'n' };
	_Atomic uint64_t *a = (void *)m, *b = (void *)(m + 8);
	pid_t child;

	if (argc < 3 || rounds <= 0) {
		fprintf(stderr, "usage: bench-line one|split none|pause|yield [ROUNDS]\n");
		return 2;
	}
	if (!strcmp(argv[1], "split"))
		b = (void *)(m + 4096);
	child = lim_fork();
	l.mine = child ? a : b;
	l.yours = child ? b : a;
	if (!child) {
		serve(&l, (uint64_t)rounds);
		return 0;
	}
	printf("%.4f\n", lim_median(ping, &l, rounds, 100) / 2);
	return lim_join(child);
}

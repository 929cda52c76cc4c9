/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of waking a sleeping process, by the two primitives that processes can share.
 *
 *	bench-wake futex|eventfd|one [ROUNDS]
 *
 * futex, eventfd: each end sleeps until the other wakes it; half a round trip in us. one: only
 * the child sleeps, in a read of an eventfd, and the parent polls memory, as an operation does that
 * needs a sleeping process; the whole round trip in us. (A futex would not do for that: the parent
 * is quick enough that the child would not sleep.)
 */
#include "limit.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct side {
	_Alignas(128) _Atomic uint32_t word;
	int fd;
};

struct pair {
	struct side *side; /* 0: the parent waits for it */
	int by_futex, parent_polls, me;
	uint32_t count;
};

static void wake(struct pair *p, int end, uint32_t value)
{
	struct side *s = &p->side[end];
	uint64_t one = 1;

	atomic_store(&s->word, value);
	if (end == 0 && p->parent_polls)
		return;
	if (p->by_futex)
		syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	else if (write(s->fd, &one, sizeof(one)) != sizeof(one))
		lim_fail("eventfd");
}

static void look(struct side *s, uint32_t value)
{
	for (unsigned looks = 1; atomic_load(&s->word) != value; looks++)
		if (looks % 1024 == 0)
			sched_yield();
}

static void wait_for(struct pair *p, uint32_t value)
{
	struct side *s = &p->side[p->me];
	uint64_t n;

	if (p->me == 0 && p->parent_polls) {
		look(s, value);
		return;
	}
	if (!p->by_futex && read(s->fd, &n, sizeof(n)) != sizeof(n))
		lim_fail("eventfd");
	while (atomic_load(&s->word) != value)
		syscall(SYS_futex, &s->word, FUTEX_WAIT, value - 1, NULL, NULL, 0);
}

static void ping(void *arg)
{
	struct pair *p = arg;

	p->count++;
	wake(p, 1, p->count);
	wait_for(p, p->count);
}

int main(int argc, char **argv)
{
	int rounds = (int)lim_number(argc, argv, 2, 20000) / 20 * 20;
	struct pair p = { .side = lim_shared(4096) };
	pid_t child;

	if (argc < 2) {
		fprintf(stderr, "usage: bench-wake futex|eventfd|one [ROUNDS]\n");
		return 2;
	}
	p.by_futex = !strcmp(argv[1], "futex");
	p.parent_polls = !strcmp(argv[1], "one");
	for (int i = 0; i < 2; i++)
		p.side[i].fd = eventfd(0, EFD_CLOEXEC);
	child = lim_fork();
	if (!child) {
		p.me = 1;
		for (uint32_t i = 1; i <= (uint32_t)rounds; i++) {
			wait_for(&p, i);
			wake(&p, 0, i);
		}
		return 0;
	}
	printf("%.4f\n", lim_median(ping, &p, rounds, 20) / (p.parent_polls ? 1 : 2));
	return lim_join(child);
}

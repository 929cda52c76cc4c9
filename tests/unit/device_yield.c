/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The yields and waits of a thread that polls in vain. sched_yield(), getrusage(), ppoll() and the clock are this
 * test's own in the thread that polls: a yield lasts as long as the test says, and another thread ran in it or not.
 * The background thread of all adapters has the kernel's; it is there before the polls, as a wait needs it.
 */
#include "device/adapter.h"
#include "device/progress/thread.h"
#include "device/progress/yield.h"
#include "support/check.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { POLLS = 10000 };

static __thread bool polls;
static unsigned yields, waits;
static uint64_t yield_ns; /* a yield lasts so long */
static uint64_t now = 1000000;
static bool other_runs;   /* another thread runs in each yield */
static long switched;

int sched_yield(void)
{
	if (!polls)
		return (int)syscall(SYS_sched_yield);
	yields++;
	switched += other_runs;
	now += yield_ns;
	return 0;
}

int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	if (!polls)
		return (int)syscall(SYS_ppoll, p, n, t, mask, sizeof(long));
	waits++;
	CHECK(t && t->tv_sec == 0 && t->tv_nsec <= (long)DEV_BRIEF_WAIT_NS);
	now += (uint64_t)t->tv_nsec;
	return 0;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (!polls)
		return (int)syscall(SYS_clock_gettime, id, t);
	t->tv_sec = (time_t)(now / 1000000000);
	t->tv_nsec = (long)(now % 1000000000);
	return 0;
}

int getrusage(__rusage_who_t who, struct rusage *u)
{
	if (!polls)
		return (int)syscall(SYS_getrusage, who, u);
	u->ru_nvcsw = switched;
	u->ru_nivcsw = 0;
	return 0;
}

/* Polls so many queues in turn; the first polls are not counted. */
static unsigned yields_of_queues(uint64_t ns, bool shared, unsigned queues, unsigned first, unsigned count)
{
	struct dev_adapter *a = calloc(1, sizeof(*a));
	char *queue = malloc(queues); /* names of queues, and nothing else */

	CHECK(a && queue);
	a->dev.device = a;
	atomic_store(&a->dev.process, atomic_load(&dev_process_number));
	a->driver.ep = -1; /* no link: a brief wait is a sleep and nothing else */
	yields = waits = 0;
	yield_ns = ns;
	other_runs = shared;
	for (unsigned i = 0; i < first + count; i++) {
		if (i == first)
			yields = waits = 0;
		dev_polled(&a->dev, 0, (const struct eng_cq *)&queue[i % queues]);
	}
	free(queue);
	free(a);
	return yields;
}

static unsigned yields_of(uint64_t ns, bool shared)
{
	return yields_of_queues(ns, shared, 1, 0, POLLS);
}

/* A thread's round over its queues costs one yield or one brief wait, whatever shares the processor. */
static void many_queues(void)
{
	static const struct {
		uint64_t ns;
		bool shared;
	} beside[] = { { 0, false }, { 2000, false }, { 2000, true }, { 150000, true } };

	for (unsigned i = 0; i < 4; i++)
		for (unsigned n = 32; n <= 4096; n *= 4) {
			unsigned rounds = 8 * POLLS / n;

			yields_of_queues(beside[i].ns, beside[i].shared, n, 4 * n, 8 * POLLS);
			CHECK_MSG(yields + waits <= rounds + 2 && yields >= 1, "%u queues, case %u: %u yields, %u waits in %u rounds", n,
				  i, yields, waits, rounds);
		}
	/* Queues that are not polled any more end no round: the next ones are a round of their own. */
	CHECK(yields_of(2000, true) >= POLLS - 2 * 4096 - 2 * DEV_POLLS_TO_YIELD);
}

/*
 * Two ends on one processor: the peer runs in the yield and leaves an acknowledgement and its answer, which two polls
 * find. Returns the empty polls of the last wait of so many.
 */
static unsigned polls_of_a_wait(unsigned waits_in_all)
{
	struct dev_adapter *a = calloc(1, sizeof(*a));
	const struct eng_cq *queue = (const struct eng_cq *)&yields;
	unsigned n = 0;

	CHECK(a);
	a->dev.device = a;
	atomic_store(&a->dev.process, atomic_load(&dev_process_number));
	a->driver.ep = -1;
	yield_ns = 8000;
	other_runs = true;
	while (waits_in_all--) {
		yields = n = 0;
		while (!yields) {
			dev_polled(&a->dev, 0, queue);
			n++;
		}
		dev_polled(&a->dev, 1, queue);
		dev_polled(&a->dev, 1, queue);
	}
	free(a);
	return n;
}

int main(void)
{
	CHECK(dev_thread_start() == 0);
	polls = true;
	/* No other thread waits for the processor: one yield per DEV_POLLS_TO_YIELD polls. */
	CHECK(yields_of(0, false) >= POLLS / (DEV_POLLS_TO_YIELD + 1));
	CHECK(yields_of(0, false) <= POLLS / DEV_POLLS_TO_YIELD * 2);
	/* The same where the call itself is slow, as on virtual machines. */
	CHECK(yields_of(2000, false) <= POLLS / DEV_POLLS_TO_YIELD * 2);
	/* A stranger has a slice in each yield: a round over many queues must not cost a slice for each. */
	CHECK(yields_of(DEV_STRANGER_NS + 50000, true) <= POLLS / (16 * DEV_POLLS_TO_YIELD));
	CHECK(yields >= 2);
	/* And waits in between: a sleeping thread is woken for its message, a yielding one waits for its turn. */
	CHECK_MSG(waits >= DEV_BRIEF_WAITS_LEAST && waits <= POLLS / 64, "%u waits, %u yields", waits, yields);
	CHECK(yields_of(2000, false) && !waits);
	/* The peer runs in each yield: each poll yields, once the scheduler was asked. */
	CHECK(yields_of(2000, true) >= POLLS - 2 * DEV_POLLS_TO_YIELD);
	/* It yields the sooner the oftener the peer's answer is there behind a yield. */
	CHECK_MSG(polls_of_a_wait(16) <= 2, "%u empty polls before a yield", polls_of_a_wait(16));
	many_queues();
	polls = false;
	dev_thread_join(dev_thread_take());
	return 0;
}

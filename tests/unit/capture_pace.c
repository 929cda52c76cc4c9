/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The share of a processor that the reader of a capture takes: with a processor of its own it does not wait between turns
 * that leave records, and beside a program that takes the same processor it takes its share within milliseconds.
 */
#include "../../tools/capture/pace.h"

#include "support/check.h"
#include "util/clock.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK (2 * UT_MS)

static uint64_t run_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

static void work(void)
{
	uint64_t until = run_time() + WORK;

	while (run_time() < until)
		;
}

/* On the one processor that this process has from now on. */
static pid_t start_spinner(void)
{
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	pid = fork();
	while (pid == 0)
		;
	CHECK(pid > 0);
	return pid;
}

static void beside_a_program(void)
{
	struct pace p;
	pid_t pid;
	int turns = 0;

	pace_begin(&p, 10);
	CHECK(!p.freely);
	/* As if a processor had been found free. */
	p.freely = true;
	p.looked = ut_now();
	pid = start_spinner();
	pace_wait(&p, 2, true, true);
	while (p.freely && ++turns < 100) {
		work();
		pace_wait(&p, 2, true, true);
	}
	CHECK_MSG(turns < 20, "%d turns", turns);
	/* From here on each turn is paid for nine times over. */
	work();
	CHECK(pace_wait(&p, 2, true, true) > 2);
	CHECK(pace_wait(&p, 2, false, true) == 2);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

static void freely(void)
{
	struct pace p;

	pace_begin(&p, 100);
	for (int i = 0; i < 10; i++) {
		work();
		CHECK(pace_wait(&p, 2, true, true) == 0);
		CHECK(pace_wait(&p, 2, true, false) == 2);
	}
}

int main(void)
{
	freely();
	beside_a_program();
	return 0;
}

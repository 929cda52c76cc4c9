/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pace.h"

#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOK (100 * UT_MS) /* the kernel's ticks are 10 ms */
#define LOOK_FREELY (5 * UT_MS)
#define LONGEST_MS 100
#define FREE_ENOUGH 0.9  /* of a processor */
#define DELAYED_ENOUGH 0.1

static uint64_t run_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UT_S + (uint64_t)t.tv_nsec;
}

/* proc(5): time that this thread was ready and had no processor. */
static uint64_t delay(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	uint64_t ran, waited = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
		waited = 0;
	fclose(f);
	return waited;
}

/* Ticks of all processors. */
static bool ticks(uint64_t *ret_idle, uint64_t *ret_total)
{
	uint64_t v[8] = { 0 }; /* user nice system idle iowait irq softirq steal */
	FILE *f = fopen("/proc/stat", "re");
	int n;

	if (!f)
		return false;
	n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]);
	fclose(f);
	*ret_total = 0;
	for (int i = 0; i < 8; i++)
		*ret_total += v[i];
	*ret_idle = v[3] + v[4];
	return n >= 4;
}

/* Looks at the processors. Returns how much of them is free or this thread's own since the last look, -1: not known. */
static double left_over(struct pace *p, uint64_t now)
{
	uint64_t idle = 0, total = 0, used = run_time();
	double left = -1;

	if (ticks(&idle, &total) && p->looked && total > p->total)
		left = (double)(idle - p->idle) / (double)(total - p->total) * (double)sysconf(_SC_NPROCESSORS_ONLN) +
		       (double)(used - p->used) / (double)(now - p->looked);
	p->looked = now;
	p->idle = idle;
	p->total = total;
	p->used = used;
	return left;
}

/* Returns how much of the time since the last look this thread has waited for a processor. */
static double kept_waiting(struct pace *p, uint64_t now)
{
	uint64_t delayed = delay();
	double part = (double)(delayed - p->delayed) / (double)(now - p->looked);

	p->looked = now;
	p->delayed = delayed;
	return part;
}

static void judge(struct pace *p, uint64_t now)
{
	if (!p->freely && now - p->looked >= LOOK && left_over(p, now) > FREE_ENOUGH) {
		p->freely = true;
		p->delayed = delay();
	} else if (p->freely && now - p->looked >= LOOK_FREELY && kept_waiting(p, now) >= DELAYED_ENOUGH) {
		p->freely = false;
		p->looked = 0;
	}
}

void pace_begin(struct pace *p, long percent)
{
	*p = (struct pace){ .percent = percent, .freely = percent >= 100 };
	p->spent = run_time();
}

int pace_wait(struct pace *p, int least, bool spare, bool more)
{
	uint64_t now = ut_now(), spent = run_time(), ms;

	if (p->percent < 100)
		judge(p, now);
	ms = (spent - p->spent) * (uint64_t)(100 - p->percent) / (uint64_t)p->percent / UT_MS;
	p->spent = spent;
	if (p->freely && more)
		return 0;
	if (p->freely || !spare || ms <= (uint64_t)least)
		return least;
	return ms < LONGEST_MS ? (int)ms : LONGEST_MS;
}

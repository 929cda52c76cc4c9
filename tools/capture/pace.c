/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pace.h"

#include "util/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOK (100 * UT_MS)
#define RECORDS_FREELY 20000u
#define RECORDS_SPARING 1500u /* some milliseconds' work */
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

/* Takes a new look. Returns false the first time, and where the kernel shows nothing. */
static bool look(struct pace *p, uint64_t now, double *ret_left, double *ret_delayed)
{
	uint64_t idle = 0, total = 0, used = run_time(), delayed = delay();
	double ns = (double)(now - p->looked);
	bool known = ticks(&idle, &total), first = !p->looked;

	if (known && !first && total > p->total) {
		*ret_left = (double)(idle - p->idle) / (double)(total - p->total) * (double)sysconf(_SC_NPROCESSORS_ONLN) +
			    (double)(used - p->used) / ns;
		*ret_delayed = (double)(delayed - p->delayed) / ns;
	} else {
		known = false;
	}
	p->looked = now;
	p->idle = idle;
	p->total = total;
	p->used = used;
	p->delayed = delayed;
	return known;
}

void pace_begin(struct pace *p, long percent)
{
	*p = (struct pace){ .percent = percent, .freely = percent >= 100 };
	p->spent = run_time();
}

int pace_wait(struct pace *p, int least, bool spare)
{
	uint64_t now = ut_now(), spent = run_time(), ms;
	double left, delayed;

	if (p->percent < 100 && now - p->looked >= LOOK && look(p, now, &left, &delayed))
		p->freely = p->freely ? delayed < DELAYED_ENOUGH : left > FREE_ENOUGH;
	ms = (spent - p->spent) * (uint64_t)(100 - p->percent) / (uint64_t)p->percent / UT_MS;
	p->spent = spent;
	if (p->freely || !spare || ms <= (uint64_t)least)
		return least;
	return ms < LONGEST_MS ? (int)ms : LONGEST_MS;
}

unsigned pace_records(const struct pace *p)
{
	return p->freely ? RECORDS_FREELY : RECORDS_SPARING;
}

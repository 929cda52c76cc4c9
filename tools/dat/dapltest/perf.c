/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "perf.h"

#include <stdlib.h>
#include <time.h>

/*
 * The end that has the source fills it; the end that has the target checks it once, outside of the
 * timing.
 */
#define PATTERN 77

static bool is_source(const struct dtt_lane *l)
{
	return (l->plan->ops[0].type == DTT_RW) == (l->side == DTT_CLIENT);
}

void dtt_perf_fill(struct dtt_lane *l)
{
	if (is_source(l))
		dtl_fill(dtt_lane_send_part(l, 0), dtt_op_bytes(&l->plan->ops[0]), PATTERN);
}

int dtt_perf_look(struct dtt_lane *l)
{
	int64_t at;

	if (is_source(l))
		return 0;
	at = dtl_differs(dtt_lane_send_part(l, 0), dtt_op_bytes(&l->plan->ops[0]), PATTERN);
	if (at < 0)
		return 0;
	dtl_complain("data mismatch: byte %lld differs from the source", (long long)at);
	return -1;
}

struct slot {
	uint64_t began, last;	/* time of the post; its last request */
};

static uint64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Waits for the oldest. */
static int reap_one(struct dtt_lane *l, struct dtt_perf *p, const struct slot *s)
{
	uint64_t before = dtl_now_ns(), after;

	while (l->reaped <= s->last) {
		if (dtl_reap(&l->end, l->end.request, l->reaped, NULL) != 0)
			return -1;
		l->reaped++;
	}
	after = dtl_now_ns();
	p->reap_ns += after - before;
	p->latency[p->n++] = after - s->began;
	return 0;
}

static int loop(struct dtt_lane *l, struct dtt_perf *p, struct slot *slots)
{
	uint64_t posted = 0, before, window = l->plan->window;

	while (p->n < l->plan->iterations) {
		if (posted < l->plan->iterations && posted - p->n < window) {
			before = dtl_now_ns();
			if (dtt_lane_post(l, 0) != 0)
				return -1;
			slots[posted++ % window] = (struct slot){ before, l->posted - 1 };
			p->post_ns += dtl_now_ns() - before;
		} else if (reap_one(l, p, &slots[p->n % window]) != 0) {
			return -1;
		}
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

int dtt_perf_run(struct dtt_lane *l, struct dtt_perf *ret)
{
	struct dtt_perf p = { .latency = malloc(l->plan->iterations * sizeof(uint64_t)) };
	struct slot *slots = calloc(l->plan->window, sizeof(*slots));
	uint64_t start, cpu;
	int r = -1;

	if (!p.latency || !slots) {
		dtl_complain("no memory for the times of %u operations: the test fails; use fewer operations",
			     l->plan->iterations);
	} else {
		start = dtl_now_ns();
		cpu = cpu_now();
		r = loop(l, &p, slots);
		p.total_ns = dtl_now_ns() - start;
		p.cpu_ns = cpu_now() - cpu;
	}
	free(slots);
	if (r != 0) {
		free(p.latency);
		return -1;
	}
	qsort(p.latency, p.n, sizeof(*p.latency), by_value);
	*ret = p;
	return 0;
}

void dtt_perf_drop(struct dtt_perf *p)
{
	free(p->latency);
	p->latency = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_PERF_H
#define DTT_PERF_H

#include "lane.h"

/* The performance test: one lane, a window of RDMA requests of the client, every one timed. */
struct dtt_perf {
	uint64_t total_ns, cpu_ns, post_ns, reap_ns;
	uint64_t n;
	uint64_t *latency;	/* ns, sorted */
};

int dtt_perf_run(struct dtt_lane *l, struct dtt_perf *ret);
void dtt_perf_drop(struct dtt_perf *p);

/* The server's side: a source to read, and a check of the written bytes. */
void dtt_perf_fill(struct dtt_lane *l);
int dtt_perf_look(struct dtt_lane *l);

#endif

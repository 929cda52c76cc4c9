/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "report.h"

#include <stdio.h>

#define MB 1048576.0

static void traffic(const char *what, uint64_t bytes, double seconds)
{
	printf("Total %-11s: %10.2f MB - %10.2f MB/Sec\n", what, bytes / MB, bytes / MB / seconds);
}

void dtt_report_transactions(const struct dtt_plan *plan, const struct dtt_count *count,
			     uint64_t ns)
{
	double seconds = ns ? ns / 1e9 : 1e-9;

	printf("----- Stats ---- : %u threads, %u EPs\n", plan->threads, plan->ends);
	printf("Total WQE        : %10.2f WQE/Sec\n", count->wqes / seconds);
	printf("Total Time       : %10.2f sec\n", seconds);
	traffic("Send", count->sent, seconds);
	traffic("Recv", count->received, seconds);
	traffic("RDMA Read ", count->read, seconds);
	traffic("RDMA Write", count->written, seconds);
}

/* Returns the smallest time that this share of the operations did not exceed. */
static double percentile(const struct dtt_perf *p, double share)
{
	uint64_t at = (uint64_t)(share * p->n);

	return p->latency[at < p->n ? at : p->n - 1] / 1e3;
}

static void latencies(const struct dtt_perf *p, double mean)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999 };
	size_t i;

	printf("    Latency, from posting to completion\n");
	printf("    mean                 : %.2f us\n", mean);
	printf("    minimum              : %.2f us\n", p->latency[0] / 1e3);
	for (i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		printf("    %-4.4g %%               : %.2f us\n", shares[i] * 100,
		       percentile(p, shares[i]));
	printf("    maximum              : %.2f us\n", p->latency[p->n - 1] / 1e3);
}

void dtt_report_perf(const struct dtt_plan *plan, const struct dtt_perf *p)
{
	const struct dtt_op *op = &plan->ops[0];
	double seconds = p->total_ns ? p->total_ns / 1e9 : 1e-9;
	double mb = (double)dtt_op_bytes(op) * p->n / MB, mean = 0;
	double cpu = 100.0 * p->cpu_ns / (p->total_ns ? p->total_ns : 1);
	uint64_t i;

	for (i = 0; i < p->n; i++)
		mean += p->latency[i] / 1e3 / p->n;
	printf("------------------------- Statistics -------------------------\n");
	printf("    Mode                 : %s\n", plan->how == DTL_POLL ? "polling" : "blocking");
	printf("    Operation Type       : %s\n",
	       op->type == DTT_RW ? "RDMA Write" : "RDMA Read");
	printf("    Number of Operations : %llu\n", (unsigned long long)p->n);
	printf("    Segment Size         : %u\n", op->size);
	printf("    Number of Segments   : %u\n", op->segments);
	printf("    Pipeline Length      : %u\n\n", plan->window);
	printf("    Total Time           : %.3f sec\n", seconds);
	printf("    Total Data Exchanged : %.2f MB\n", mb);
	printf("    CPU Utilization      : %.1f %%\n", cpu);
	printf("    Operation Throughput : %.2f ops/sec\n", p->n / seconds);
	printf("    Bandwidth            : %.2f MB/sec\n\n", mb / seconds);
	latencies(p, mean);
	printf("    Time per post        : %.2f us\n", p->post_ns / 1e3 / p->n);
	printf("    Time per reap        : %.2f us\n\n", p->reap_ns / 1e3 / p->n);
	printf("NOTE: 1 MB = 1024 KB = 1048576 B\n");
	printf("raw: %s, %llu, %u, %u, %u, %.1f, %.2f, %.2f, %.2f, %.2f, %.2f\n",
	       dtt_type_names[op->type], (unsigned long long)p->n, op->size, op->segments,
	       plan->window, cpu, p->n / seconds, mb / seconds, mean, p->post_ns / 1e3 / p->n,
	       p->reap_ns / 1e3 / p->n);
}

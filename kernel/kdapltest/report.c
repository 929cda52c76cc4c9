// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The reports of dapltest, in integers. */
#include <linux/math64.h>

#include "dapltest/report.h"
#include "kdapltest/shim.h"

/* A quotient in hundredths. */
struct cents {
	u64 whole;
	unsigned int part;
};

static struct cents per(u64 a, u64 b)
{
	struct cents c;
	u64 h;

	if (!b)
		b = 1;
	h = mul_u64_u64_div_u64(a, 100, b);
	c.whole = div_u64_rem(h, 100, &c.part);
	return c;
}

static struct cents per_second(u64 n, u64 ns)
{
	return per(mul_u64_u64_div_u64(n, NSEC_PER_SEC, ns ? ns : 1), 1);
}

#define C(c) (c).whole, (c).part

static void traffic(const char *what, u64 bytes, u64 ns)
{
	struct cents mb = per(bytes, 1 << 20), rate = per(mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, ns ? ns : 1), 1 << 20);

	kdt_printf("Total %-11s: %7llu.%02u MB - %7llu.%02u MB/Sec\n", what, C(mb), C(rate));
}

void dtt_report_transactions(const struct dtt_plan *plan, const struct dtt_count *count, uint64_t ns)
{
	struct cents wqes = per_second(count->wqes, ns), seconds = per(ns, NSEC_PER_SEC);

	kdt_printf("----- Stats ---- : %u threads, %u EPs\n", plan->threads, plan->ends);
	kdt_printf("Total WQE        : %7llu.%02u WQE/Sec\n", C(wqes));
	kdt_printf("Total Time       : %7llu.%02u sec\n", C(seconds));
	traffic("Send", count->sent, ns);
	traffic("Recv", count->received, ns);
	traffic("RDMA Read ", count->read, ns);
	traffic("RDMA Write", count->written, ns);
}

static void us_line(const char *what, u64 ns)
{
	struct cents us = per(ns, NSEC_PER_USEC);

	kdt_printf("    %-21s: %llu.%02u us\n", what, C(us));
}

static void latencies(const struct dtt_perf *p, u64 mean)
{
	static const struct {
		const char *name;
		unsigned int per_mille;
	} shares[] = { { "50   %", 500 }, { "90   %", 900 }, { "99   %", 990 }, { "99.9 %", 999 } };
	unsigned int i;

	kdt_printf("    Latency, from posting to completion\n");
	us_line("mean", mean);
	us_line("minimum", p->latency[0]);
	for (i = 0; i < ARRAY_SIZE(shares); i++)
		us_line(shares[i].name, p->latency[min_t(u64, div_u64(p->n * shares[i].per_mille, 1000), p->n - 1)]);
	us_line("maximum", p->latency[p->n - 1]);
}

void dtt_report_perf(const struct dtt_plan *plan, const struct dtt_perf *p)
{
	const struct dtt_op *op = &plan->ops[0];
	u64 bytes = dtt_op_bytes(op) * p->n, sum = 0, i, mean;
	struct cents seconds = per(p->total_ns, NSEC_PER_SEC), mb = per(bytes, 1 << 20);
	struct cents cpu = per(100 * p->cpu_ns, p->total_ns), ops = per_second(p->n, p->total_ns);
	struct cents rate = per(mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, p->total_ns ? p->total_ns : 1), 1 << 20);

	for (i = 0; i < p->n; i++)
		sum += p->latency[i];
	mean = div64_u64(sum, p->n);
	kdt_printf("------------------------- Statistics -------------------------\n");
	kdt_printf("    Mode                 : %s\n", plan->how == DTL_POLL ? "polling" : "blocking");
	kdt_printf("    Operation Type       : %s\n", op->type == DTT_RW ? "RDMA Write" : "RDMA Read");
	kdt_printf("    Number of Operations : %llu\n", p->n);
	kdt_printf("    Segment Size         : %u\n", op->size);
	kdt_printf("    Number of Segments   : %u\n", op->segments);
	kdt_printf("    Pipeline Length      : %u\n\n", plan->window);
	kdt_printf("    Total Time           : %llu.%02u sec\n", C(seconds));
	kdt_printf("    Total Data Exchanged : %llu.%02u MB\n", C(mb));
	kdt_printf("    CPU Utilization      : %llu.%02u %%\n", C(cpu));
	kdt_printf("    Operation Throughput : %llu.%02u ops/sec\n", C(ops));
	kdt_printf("    Bandwidth            : %llu.%02u MB/sec\n\n", C(rate));
	latencies(p, mean);
	us_line("Time per post", div64_u64(p->post_ns, p->n));
	us_line("Time per reap", div64_u64(p->reap_ns, p->n));
	kdt_printf("\nNOTE: 1 MB = 1024 KB = 1048576 B\n");
	kdt_printf("raw: %s, %llu, %u, %u, %u, %llu.%02u, %llu.%02u, %llu.%02u\n", dtt_type_names[op->type], p->n, op->size,
		   op->segments, plan->window, C(cpu), C(ops), C(rate));
}

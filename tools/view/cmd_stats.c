/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple stats: the counters of the adapters of running programs, for people and for Prometheus. */
#include "../run/run.h"
#include "state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_plain(const struct state *s, bool all)
{
	for (size_t i = 0; i < s->n_dev; i++) {
		const struct state_dev *d = &s->dev[i];

		printf("%s of %s[%ld]\n", d->dev, d->comm, d->pid);
		for (int c = 0; c < ENG_C_COUNT; c++)
			if (all || d->counter[c])
				printf("  %-28s %14" PRIu64 "  %s\n", eng_counter_rows[c].name, d->counter[c], eng_counter_rows[c].text);
	}
}

/* The text format of Prometheus, version 0.0.4: names without a capital, labels in quotes. */
static void print_label(const char *v)
{
	for (; *v; v++)
		if (*v == '"' || *v == '\\')
			printf("\\%c", *v);
		else
			putchar((unsigned char)*v < 0x20 ? '_' : *v);
}

static void print_labels(const char *dev, long pid, const char *comm)
{
	fputs("{device=\"", stdout);
	print_label(dev);
	printf("\",pid=\"%ld\",program=\"", pid);
	print_label(comm);
	putchar('"');
}

static void print_counters(const struct state *s)
{
	for (int c = 0; c < ENG_C_COUNT; c++) {
		printf("# HELP dapple_%s_total %s\n# TYPE dapple_%s_total counter\n", eng_counter_rows[c].name,
		       eng_counter_rows[c].text, eng_counter_rows[c].name);
		for (size_t i = 0; i < s->n_dev; i++) {
			printf("dapple_%s_total", eng_counter_rows[c].name);
			print_labels(s->dev[i].dev, s->dev[i].pid, s->dev[i].comm);
			printf("} %" PRIu64 "\n", s->dev[i].counter[c]);
		}
	}
}

static void print_gauge(const struct state *s, const char *name, const char *text, size_t offset)
{
	printf("# HELP dapple_qp_%s %s\n# TYPE dapple_qp_%s gauge\n", name, text, name);
	for (size_t i = 0; i < s->n_qp; i++) {
		const struct state_qp *q = &s->qp[i];

		printf("dapple_qp_%s", name);
		print_labels(q->dev, q->pid, q->comm);
		printf(",qp=\"%" PRIu32 "\",way=\"%s\"} %" PRIu32 "\n", q->qpn, q->way, *(const uint32_t *)((const char *)q + offset));
	}
}

static void print_prometheus(const struct state *s)
{
	print_counters(s);
	print_gauge(s, "send_queue", "requests in the send queue", offsetof(struct state_qp, sq));
	print_gauge(s, "receive_queue", "receives in the receive queue", offsetof(struct state_qp, rq));
	printf("# HELP dapple_processes programs that have an adapter open\n# TYPE dapple_processes gauge\ndapple_processes %d\n",
	       s->processes);
}

int run_cmd_stats(int argc, char **argv)
{
	struct run_opts o = { .command = "stats", .argv = argv, .argc = argc, .index = 1 };
	bool prometheus = false, all = false;
	struct state s;
	const char *name;

	while ((name = run_opts_next(&o))) {
		if (!strcmp(name, "prometheus"))
			prometheus = true;
		else if (!strcmp(name, "all"))
			all = true;
		else
			return run_usage_error("stats", "option \"%s\" is unknown", name);
	}
	if (o.index < argc)
		return run_usage_error("stats", "argument \"%s\" is unexpected", argv[o.index]);
	state_read(&s, NULL);
	if (prometheus)
		print_prometheus(&s);
	else if (s.n_dev)
		print_plain(&s, all);
	else
		puts("no running program has an adapter open");
	state_free(&s);
	return 0;
}

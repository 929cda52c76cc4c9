/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple top: rates, ways and waits of the queue pairs of all running programs of this user. */
#include "../run/run.h"
#include "hist.h"
#include "sample.h"
#include "screen.h"
#include "table.h"

#include "util/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SAMPLE_MS 5

struct latency {
	const struct state *s;
	struct hist *of; /* of each queue pair of the state */
};

static long find(const struct state *s, long pid, uint32_t qpn)
{
	for (size_t i = 0; i < s->n_qp; i++)
		if (s->qp[i].pid == pid && s->qp[i].qpn == qpn)
			return (long)i;
	return -1;
}

static uint32_t peer_of(long pid, uint32_t qpn, void *arg)
{
	struct latency *l = arg;
	long i = find(l->s, pid, qpn);

	return i < 0 ? 0 : l->s->qp[i].rqpn;
}

static void got(long pid, uint32_t qpn, uint64_t ns, void *arg)
{
	struct latency *l = arg;
	long i = find(l->s, pid, qpn);

	if (i >= 0)
		hist_add(&l->of[i], ns);
}

static void sample(struct sampler *sampler, struct state *s)
{
	struct latency l = { s, calloc(s->n_qp + 1, sizeof(struct hist)) };

	if (!l.of)
		abort();
	sampler_read(sampler, SAMPLE_MS, peer_of, got, &l);
	for (size_t i = 0; i < s->n_qp; i++) {
		s->qp[i].p50_us = (double)hist_at(&l.of[i], 0.5) / 1e3;
		s->qp[i].p99_us = (double)hist_at(&l.of[i], 0.99) / 1e3;
	}
	free(l.of);
}

void top_read(struct top *t)
{
	uint64_t now = ut_now();
	struct state next;

	state_read(&next, t->read_at ? &t->state : NULL);
	if (t->latency && !t->sampler && !t->no_sampler) {
		t->sampler = sampler_new();
		t->no_sampler = !t->sampler;
	}
	if (t->sampler && !t->latency) {
		sampler_free(t->sampler);
		t->sampler = NULL;
	}
	if (t->sampler)
		sample(t->sampler, &next);
	t->seconds = t->read_at ? (double)(now - t->read_at) / 1e9 : 0;
	t->read_at = now;
	state_free(&t->state);
	t->state = next;
	table_sort(&t->state, t->sort, t->turned);
}

static void print(const struct top *t)
{
	char line[TABLE_LINE];

	if (t->json) {
		table_json(&t->state, stdout);
		fflush(stdout);
		return;
	}
	table_sums(&t->state, t->seconds, line);
	puts(line);
	table_head(t->latency, line);
	puts(line);
	for (size_t i = 0; i < t->state.n_qp; i++) {
		if (!table_has(&t->state.qp[i], t->filter))
			continue;
		table_row(&t->state.qp[i], t->latency, 0, line);
		puts(line);
	}
	fflush(stdout);
}

static void pause_for(double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&t, NULL);
}

static int read_option(struct run_opts *o, const char *name, struct top *t)
{
	const char *v;
	char *end;

	if (!strcmp(name, "json") || !strcmp(name, "once") || !strcmp(name, "latency")) {
		*(name[0] == 'j' ? &t->json : name[0] == 'o' ? &t->once : &t->latency) = true;
		return 0;
	}
	if (strcmp(name, "d") != 0 && strcmp(name, "filter") != 0)
		return run_usage_error("top", "option \"%s\" is unknown", name);
	v = run_opts_value(o);
	if (!v)
		return RUN_EXIT_USAGE;
	if (!strcmp(o->name, "filter")) {
		snprintf(t->filter, sizeof(t->filter), "%s", v);
		return 0;
	}
	t->interval = strtod(v, &end);
	if (end == v || *end || t->interval < 0.1 || t->interval > 3600)
		return run_usage_error("top", "-d is \"%s\", but must be a number of seconds from 0.1 to 3600", v);
	return 0;
}

int run_cmd_top(int argc, char **argv)
{
	struct run_opts o = { .command = "top", .argv = argv, .argc = argc, .index = 1 };
	struct top t = { .interval = 1 };
	const char *name;
	int r = 0;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &t)))
			return r;
	if (o.index < argc)
		return run_usage_error("top", "argument \"%s\" is unexpected", argv[o.index]);
	top_read(&t);
	if (t.json || t.once || !isatty(1)) {
		do {
			pause_for(t.interval);
			top_read(&t);
			print(&t);
		} while (!t.once && !ferror(stdout));
	} else {
		r = screen_run(&t);
	}
	if (t.sampler)
		sampler_free(t.sampler);
	state_free(&t.state);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple plot: a capture, or the lines of dapple top --json, as a picture. */
#include "../run/run.h"
#include "flows.h"
#include "history.h"
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS 200
#define POINTS_MOST 20000 /* of a panel; beyond that every n-th of those that were sent once is drawn */
#define FLOWS_NAMED 7

/* --- messages over time --- */

static void plot_rates(struct svg *s, const struct flows *f, double end)
{
	double x[BINS], y[FLOW_KINDS][BINS] = { { 0 } }, width = end / BINS, most = 0;
	bool any[FLOW_KINDS] = { false };

	for (size_t i = 0; i < f->n_events; i++) {
		const struct flow_event *e = &f->event[i];
		size_t b = (size_t)(e->t / width);
		double *v = &y[e->kind][b < BINS ? b : BINS - 1];

		*v += 1 / width;
		any[e->kind] = true;
		most = *v > most ? *v : most;
	}
	svg_panel(s, "packets and messages over time", "s", "per second", 0, end, 0, most * 1.05, false);
	for (int i = 0; i < BINS; i++)
		x[i] = (i + 0.5) * width;
	for (unsigned k = 0; k < FLOW_KINDS; k++)
		if (any[k]) {
			svg_line(s, x, y[k], BINS, svg_colour(k));
			svg_legend(s, flow_kind_names[k], svg_colour(k));
		}
}

/* --- sequence numbers --- */

static const char *colour_of(const struct flow_event *e)
{
	return e->repeated ? "#d00000" : e->kind == FLOW_NAK ? "#ff00ff" : e->ack ? "#bbbbbb" : svg_colour((unsigned)e->flow);
}

static void plot_numbers(struct svg *s, const struct flows *f, double end)
{
	double least = 0, most = 1;
	size_t usual = 0, seen = 0, repeats = 0, naks = 0, each;
	char text[200];

	for (size_t i = 0; i < f->n_events; i++) {
		const struct flow_event *e = &f->event[i];

		if (e->flow < 0)
			continue;
		usual += !e->repeated && e->kind != FLOW_NAK;
		repeats += e->repeated;
		naks += e->kind == FLOW_NAK;
		most = e->number > most ? e->number : most;
		least = e->number < least ? e->number : least;
	}
	each = usual / POINTS_MOST + 1;
	svg_panel(s, "sequence numbers of each flow, from its first one on", "s", "PSN, or octets of TCP", 0, end, least,
		  most * 1.05, false);
	for (size_t i = 0; i < f->n_events; i++) {
		const struct flow_event *e = &f->event[i];
		bool mark = e->repeated || e->kind == FLOW_NAK;

		if (e->flow >= 0 && (mark || seen++ % each == 0))
			svg_point(s, e->t, e->number, mark ? 3 : 1.2, colour_of(e));
	}
	for (int i = 0; i < f->n_flows && i < FLOWS_NAMED - 2; i++) {
		flows_name(f, i, text, sizeof(text));
		svg_legend(s, text, svg_colour((unsigned)i));
	}
	snprintf(text, sizeof(text), "%zu sent again", repeats);
	svg_legend(s, text, "#d00000");
	snprintf(text, sizeof(text), "%zu NAKs and Terminates", naks);
	svg_legend(s, text, "#ff00ff");
	svg_legend(s, "acknowledgements and responses", "#bbbbbb");
}

/* --- latency --- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void plot_latency(struct svg *s, struct flows *f)
{
	static const double shares[] = { 0.5, 0.9, 0.99, 0.999 };
	size_t n = f->n_latencies, points = n < 1000 ? n : 1000;
	double x[1000], y[1000];
	char text[100];

	if (n)
		qsort(f->latency, n, sizeof(*f->latency), compare);
	svg_panel(s, "time from a request to its acknowledgement: share of the requests that were faster", "us", "%",
		  n ? pow(10, floor(log10(f->latency[0] > 0.001 ? f->latency[0] : 0.001))) : 1,
		  n ? pow(10, ceil(log10(f->latency[n - 1] > 0.01 ? f->latency[n - 1] : 0.01))) : 10, 0, 100, true);
	if (!n) {
		svg_note(s, "no acknowledgement belongs to a request of this capture");
		return;
	}
	for (size_t i = 0; i < points; i++) {
		size_t k = points == n ? i : i * (n - 1) / (points - 1);

		x[i] = f->latency[k] > 0.001 ? f->latency[k] : 0.001;
		y[i] = 100.0 * (double)(k + 1) / (double)n;
	}
	svg_line(s, x, y, points, svg_colour(0));
	snprintf(text, sizeof(text), "%zu requests", n);
	svg_legend(s, text, svg_colour(0));
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		snprintf(text, sizeof(text), "%g %%: %.1f us", shares[i] * 100, f->latency[(size_t)(shares[i] * (double)(n - 1))]);
		svg_legend(s, text, "white");
	}
}

/* --- the command --- */

static void on_packet(const struct pcap_packet *p, void *arg)
{
	flows_add(arg, p);
}

static int plot_capture(FILE *in, const char *path, FILE *out)
{
	struct flows f = { 0 };
	char why[100];
	struct svg s;
	double end;

	if (pcap_read(in, on_packet, &f, why) < 0 || !f.n_events) {
		run_say("%s: it cannot be plotted (%s): no picture is made; name a file that dapple capture -o has written", path,
			f.n_events ? why : "it has no packets of RoCEv2 or iWARP");
		flows_free(&f);
		return 1;
	}
	end = f.event[0].t;
	for (size_t i = 0; i < f.n_events; i++)
		end = f.event[i].t > end ? f.event[i].t : end;
	end = end > 0 ? end : 1e-6;
	svg_begin(&s, out, 3, path);
	plot_rates(&s, &f, end);
	plot_numbers(&s, &f, end);
	plot_latency(&s, &f);
	svg_end(&s);
	flows_free(&f);
	return 0;
}

static int plot_history(FILE *in, const char *path, FILE *out)
{
	struct history h = { 0 };
	struct svg s;
	double most = 1;

	history_read(&h, in);
	if (!h.n) {
		run_say("%s: it has no queue pairs: no picture is made; name a file of lines of dapple top --json", path);
		return 1;
	}
	for (size_t i = 0; i < h.n; i++)
		for (size_t k = 0; k < h.v[i].n; k++)
			most = h.v[i].rate[k] > most ? h.v[i].rate[k] : most;
	svg_begin(&s, out, 1, path);
	svg_panel(&s, "requests and receives of each queue pair", "look", "per second", 0, (double)h.looks, 0, most * 1.05, false);
	for (size_t i = 0; i < h.n; i++) {
		svg_line(&s, h.v[i].look, h.v[i].rate, h.v[i].n, svg_colour((unsigned)i));
		svg_legend(&s, h.v[i].name, svg_colour((unsigned)i));
	}
	svg_end(&s);
	history_free(&h);
	return 0;
}

static int plot(const char *path, const char *to)
{
	FILE *in = fopen(path, "re"), *out;
	int first, r;

	if (!in) {
		run_say("%s: it cannot be read (%s): no picture is made; name a capture", path, strerror(errno));
		return 1;
	}
	out = !to || !strcmp(to, "-") ? stdout : fopen(to, "we");
	if (!out) {
		run_say("%s: it cannot be written (%s): no picture is made; name another file", to, strerror(errno));
		fclose(in);
		return 1;
	}
	first = getc(in);
	ungetc(first, in);
	r = first == '{' ? plot_history(in, path, out) : plot_capture(in, path, out);
	fclose(in);
	if ((out == stdout ? fflush(out) : fclose(out)) != 0) {
		run_say("%s: it cannot be written (%s): the picture is not whole; make room on the disk", to ? to : "-",
			strerror(errno));
		r = 1;
	}
	return r;
}

int run_cmd_plot(int argc, char **argv)
{
	struct run_opts o = { .command = "plot", .argv = argv, .argc = argc, .index = 1 };
	const char *name, *to = NULL;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "o") != 0)
			return run_usage_error("plot", "option \"%s\" is unknown", name);
		to = run_opts_value(&o);
		if (!to)
			return RUN_EXIT_USAGE;
	}
	if (argc - o.index != 1)
		return run_usage_error("plot", "one file is needed, a capture or lines of dapple top --json");
	return plot(argv[o.index], to);
}

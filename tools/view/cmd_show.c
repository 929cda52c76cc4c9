/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple show: the objects of running processes, in the words of iproute2's rdma(8). */
#include "../run/run.h"
#include "../run/text.h"
#include "lines.h"

#include "device/devices.h"
#include "device/kind/kind.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTERS 8

struct show {
	const char *what;
	bool json, details;
	long pid;
	unsigned n_filters;
	struct {
		const char *word, *values;
	} filter[FILTERS];
	unsigned printed;
};

/* --- filters --- */

/* "DEV/-" and "DEV" name all ports of it. */
static bool same_link(const char *have, const char *want, size_t n)
{
	size_t dev = strcspn(have, "/");

	if (n > 2 && !strncmp(want + n - 2, "/-", 2))
		n -= 2;
	return (n == dev && !strncmp(have, want, n)) || (n == strlen(have) && !strncmp(have, want, n));
}

static bool is_one_of(const char *have, const char *values, bool link)
{
	for (const char *v = values; v; v = strchr(v, ',') ? strchr(v, ',') + 1 : NULL) {
		size_t n = strcspn(v, ",");

		if (link ? same_link(have, v, n) : n == strlen(have) && !strncmp(have, v, n))
			return true;
	}
	return false;
}

static bool is_wanted(const struct show *s, const struct line *l)
{
	for (unsigned i = 0; i < s->n_filters; i++) {
		const char *word = s->filter[i].word, *have = line_value(l, word);
		bool link = !strcmp(word, "link") || !strcmp(word, "dev");

		if (!have && link)
			have = line_value(l, *word == 'l' ? "dev" : "link");
		if (!have || !is_one_of(have, s->filter[i].values, link))
			return false;
	}
	return true;
}

/* --- printing --- */

static void print_string(const char *v)
{
	putchar('"');
	text_json(stdout, v, SIZE_MAX);
	putchar('"');
}

static bool is_number(const char *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)v[i]))
			return false;
	return n && n < 20 && (n == 1 || *v != '0');
}

static void print_value(const char *v)
{
	if (is_number(v, strlen(v)))
		fputs(v, stdout);
	else
		print_string(v);
}

static void print_json_pair(const char *word, const char *v)
{
	const char *slash = strchr(v, '/');

	if (!strcmp(word, "link") && slash) {
		printf("\"ifname\":\"%.*s\",\"port\":", (int)(slash - v), v);
		print_value(slash + 1);
	} else if (!strcmp(word, "dev")) {
		printf("\"ifname\":");
		print_string(v);
	} else if (slash && is_number(v, (size_t)(slash - v)) && is_number(slash + 1, strlen(slash + 1))) {
		printf("\"%s\":%.*s,\"%s-max\":%s", word, (int)(slash - v), v, word, slash + 1);
	} else {
		printf("\"%s\":", word);
		print_value(v);
	}
}

/* Words of iproute2 end with the program's name, and for connections with two addresses. */
static bool is_ours(const struct line *l, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(l->pair[k].word, "comm"))
			return strcmp(l->pair[i].word, "src-addr") && strcmp(l->pair[i].word, "dst-addr");
	return false;
}

static void print(struct show *s, const struct line *l)
{
	if (!is_wanted(s, l))
		return;
	if (s->json)
		fputs(s->printed ? ",{" : "{", stdout);
	for (unsigned i = 0, n = 0; i < l->n; i++) {
		if (!s->details && is_ours(l, i))
			continue;
		fputs(!n++ ? "" : s->json ? "," : " ", stdout);
		if (s->json)
			print_json_pair(l->pair[i].word, l->pair[i].value);
		else
			printf("%s %s", l->pair[i].word, l->pair[i].value);
	}
	fputs(s->json ? "}" : "\n", stdout);
	s->printed++;
}

static void on_line(char *text, void *arg)
{
	struct show *s = arg;
	struct line l;

	if (line_read(text, &l))
		print(s, &l);
}

/* --- adapters, which are there without a process --- */

static const char *port_state(enum ibv_port_state s)
{
	static const char *const names[] = { "NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER" };

	return (size_t)s < sizeof(names) / sizeof(names[0]) ? names[s] : "-";
}

/* IBTA 14.2.5.6, PortPhysicalState. */
static const char *physical_state(uint8_t s)
{
	static const char *const names[] = { "NOP", "SLEEP", "POLLING", "DISABLED", "TRAINING", "LINK_UP",
					     "LINK_ERROR_RECOVER", "PHY_TEST" };

	return s < sizeof(names) / sizeof(names[0]) ? names[s] : "-";
}

static void show_links(struct show *s)
{
	struct dev_info *list;
	int n = dev_list(&list);

	for (int i = 0; i < n; i++) {
		const struct dev_kind_row *kind = dev_kind_find(list[i].kind);
		struct ibv_port_attr p;
		char text[300];

		if (kind->query_port(&list[i], &p) < 0)
			continue;
		snprintf(text, sizeof(text), "link %s/1 state %s physical_state %s%s%s", list[i].name, port_state(p.state),
			 physical_state(p.phys_state), *list[i].ifname ? " netdev " : "", list[i].ifname);
		on_line(text, s);
	}
	if (n > 0)
		free(list);
}

/* --- the command --- */

static int read_option(struct run_opts *o, const char *name, struct show *s)
{
	if (!strcmp(name, "j") || !strcmp(name, "json"))
		s->json = true;
	else if (!strcmp(name, "d") || !strcmp(name, "details"))
		s->details = true;
	else if (!strcmp(name, "pid"))
		return run_opts_number(o, 1, INT_MAX, &s->pid) ? 0 : RUN_EXIT_USAGE;
	else
		return run_usage_error("show", "option \"%s\" is unknown", name);
	return 0;
}

static int read_words(struct show *s, char **words)
{
	static const char *const objects[] = { "qp", "cq", "mr", "cm_id", "link" };
	size_t i = 0, n = sizeof(objects) / sizeof(objects[0]);

	s->what = *words ? *words : "";
	while (i < n && strcmp(objects[i], s->what))
		i++;
	if (i == n)
		return run_usage_error("show", "an object is missing: qp, cq, mr, cm_id or link");
	for (words++; *words; words += 2) {
		if (!words[1])
			return run_usage_error("show", "the word \"%s\" has no value", *words);
		if (s->n_filters == FILTERS)
			return run_usage_error("show", "more than %d words are given", FILTERS);
		s->filter[s->n_filters].word = words[0];
		s->filter[s->n_filters++].values = words[1];
	}
	return 0;
}

int run_cmd_show(int argc, char **argv)
{
	struct run_opts o = { .command = "show", .argv = argv, .argc = argc, .index = 1 };
	struct show s = { 0 };
	char request[32], why[200];
	const char *name;
	int r;

	while ((name = run_opts_next(&o)))
		if ((r = read_option(&o, name, &s)))
			return r;
	if ((r = read_words(&s, argv + o.index)))
		return r;
	fputs(s.json ? "[" : "", stdout);
	r = 0;
	if (!strcmp(s.what, "link")) {
		show_links(&s);
	} else {
		snprintf(request, sizeof(request), "show %s", s.what);
		if (lines_ask(s.pid, request, on_line, &s, why) == 0 && s.pid) {
			run_say("process %ld: it shows no objects (%s): there is nothing to print; name a process of yours that "
				"runs on Dapple's libraries and has opened an adapter", s.pid, why);
			r = 1;
		}
	}
	fputs(s.json ? "]\n" : "", stdout);
	return r;
}

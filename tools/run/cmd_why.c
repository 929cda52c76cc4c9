/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/why.h"
#include "util/rundir.h"

/*
 * dapple why: the last failures of this user's processes. Lines are of three levels (util/notice.h); a person sees
 * failures first, then notices, and normal ends when asked for; each level oldest first. Lines of another network
 * namespace than the reader's say so.
 */

#define STAMP DEV_WHY_STAMP
#define FOLLOW_MS 200

struct query {
	long count;
	char since[STAMP + 1]; /* "": from the beginning */
	const char *program;   /* NULL: all */
	long pid;              /* 0: all */
	bool json, follow, all, here;
	uint64_t net; /* the reader's network namespace */
};

struct lines {
	const struct query *q;
	char **v;
	size_t n;
	size_t ends; /* left out: normal ends that were not asked for */
};

static bool wanted(const struct query *q, const struct dev_why_line *p)
{
	return (!q->pid || p->pid == q->pid) && (!q->here || !p->net || p->net == q->net) &&
	       (!q->program || (strlen(q->program) == p->program_len && !strncmp(p->program, q->program, p->program_len)));
}

static bool is_wanted_line(struct lines *l, const char *line)
{
	const struct query *q = l->q;
	struct dev_why_line p;

	if (*q->since && strncmp(line, q->since, STAMP) < 0)
		return false;
	if (!dev_why_parse(line, &p))
		return !q->program && !q->pid;
	if (!wanted(q, &p))
		return false;
	if (p.level != UT_SAY_END || q->all)
		return true;
	l->ends++;
	return false;
}

static void keep_line(const char *line, void *arg)
{
	struct lines *l = arg;
	char **v;

	if (!*line || !is_wanted_line(l, line))
		return;
	v = realloc(l->v, (l->n + 1) * sizeof(*v));
	if (!v)
		abort();
	l->v = v;
	l->v[l->n] = strdup(line);
	if (!l->v[l->n++])
		abort();
}

static void free_lines(struct lines *l)
{
	while (l->n)
		free(l->v[--l->n]);
	free(l->v);
	*l = (struct lines){ .q = l->q };
}

/* Names of programs come from the programs: control characters are not printed. */
static void print_plain(const char *s, size_t n)
{
	for (; n && *s; s++, n--) {
		unsigned char c = (unsigned char)*s;

		putchar((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c);
	}
}

static void print_json(const struct dev_why_line *p)
{
	printf("{\"time\": \"%.*s\", \"pid\": %ld, \"level\": \"%s\", ", STAMP, p->stamp, p->pid, dev_why_levels[p->level]);
	if (p->net)
		printf("\"net\": %" PRIu64 ", ", p->net);
	fputs("\"program\": \"", stdout);
	text_json(stdout, p->program, p->program_len);
	fputs("\", \"sentence\": \"", stdout);
	text_json(stdout, p->sentence, SIZE_MAX);
	fputs("\"}", stdout);
}

static void print_line(const struct query *q, const char *line)
{
	struct dev_why_line p;

	if (!dev_why_parse(line, &p)) {
		print_plain(line, SIZE_MAX);
	} else if (q->json) {
		print_json(&p);
	} else {
		printf("%.*s %ld ", STAMP, p.stamp, p.pid);
		print_plain(p.program, p.program_len);
		if (p.level != UT_SAY_FAILURE)
			printf(" (%s)", dev_why_levels[p.level]);
		if (p.net && p.net != q->net)
			printf(" [net %" PRIu64 "]", p.net);
		fputs(": ", stdout);
		print_plain(p.sentence, SIZE_MAX);
	}
	putchar('\n');
}

static enum ut_say level_of(const char *line)
{
	struct dev_why_line p;

	return dev_why_parse(line, &p) ? p.level : UT_SAY_FAILURE;
}

/* The newest of each level, as many as are asked for in all, failures first. */
static void print_by_level(const struct lines *l)
{
	size_t left = (size_t)l->q->count;

	for (int level = UT_SAY_FAILURE; level <= UT_SAY_END && left; level++) {
		size_t n = 0, skip;

		for (size_t i = 0; i < l->n; i++)
			n += (int)level_of(l->v[i]) == level;
		skip = n > left ? n - left : 0;
		left -= n - skip;
		for (size_t i = 0; i < l->n; i++) {
			if ((int)level_of(l->v[i]) != level)
				continue;
			if (skip)
				skip--;
			else
				print_line(l->q, l->v[i]);
		}
	}
}

/* A program that reads lines, and one that waits for them, gets them as they came. */
static void print_by_time(const struct lines *l)
{
	size_t from = l->n > (size_t)l->q->count ? l->n - (size_t)l->q->count : 0;

	for (size_t i = from; i < l->n; i++)
		print_line(l->q, l->v[i]);
}

static void print_none(const struct lines *l)
{
	const struct query *q = l->q;

	puts(*q->since || q->program || q->pid || q->here ? "no such failure is recorded" : "no failure is recorded");
	if (l->ends)
		printf("%zu normal ends of connections are: dapple why --all\n", l->ends);
}

/* Returns 0 or a negative errno. */
static int read_lines(struct lines *l)
{
	int n = dev_why_read(INT_MAX, keep_line, l);

	return n < 0 ? n : 0;
}

/* Prints what comes after `last`, until the program is ended. */
static int follow(struct lines *l)
{
	struct timespec pause = { 0, FOLLOW_MS * 1000000L };
	char *last = l->n ? strdup(l->v[l->n - 1]) : NULL;
	size_t count = l->n;

	for (;;) {
		size_t from = 0;

		fflush(stdout);
		nanosleep(&pause, NULL);
		free_lines(l);
		if (read_lines(l) < 0)
			break;
		/* The file has turned if there are fewer lines than before: then from the line behind the last one. */
		if (l->n >= count && last && count && !strcmp(l->v[count - 1], last)) {
			from = count;
		} else if (last) {
			for (size_t i = 0; i < l->n; i++)
				if (!strcmp(l->v[i], last))
					from = i + 1;
		}
		for (size_t i = from; i < l->n; i++)
			print_line(l->q, l->v[i]);
		count = l->n;
		free(last);
		last = l->n ? strdup(l->v[l->n - 1]) : NULL;
	}
	free(last);
	return 1;
}

/* "90s", "10m", "2h", "3d": so long ago; or the beginning of a time as the lines have it. Returns false for others. */
static bool read_since(const char *v, char ret[STAMP + 1])
{
	static const struct { char unit; long seconds; } units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	time_t now = time(NULL);
	struct tm tm = { .tm_mday = 1 };
	char *end;
	long n = strtol(v, &end, 10);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (end != v && *end == units[i].unit && !end[1] && n >= 0 && n < 1000000) {
			now -= n * units[i].seconds;
			localtime_r(&now, &tm);
			return strftime(ret, STAMP + 1, "%Y-%m-%d %H:%M:%S", &tm) == STAMP;
		}
	end = strptime(v, "%Y-%m-%d", &tm);
	if (end && *end == ' ') {
		char *rest = strptime(end, " %H:%M:%S", &tm);

		end = rest ? rest : strptime(end, " %H:%M", &tm);
	}
	return end && !*end && strftime(ret, STAMP + 1, "%Y-%m-%d %H:%M:%S", &tm) == STAMP;
}

/* Returns 0 or an exit code after a sentence. */
static int read_option(struct run_opts *o, const char *name, struct query *q)
{
	const char *v;

	if (strcmp(name, "n") == 0)
		return run_opts_number(o, 1, 100000, &q->count) ? 0 : RUN_EXIT_USAGE;
	if (strcmp(name, "pid") == 0)
		return run_opts_number(o, 1, INT_MAX, &q->pid) ? 0 : RUN_EXIT_USAGE;
	if (strcmp(name, "json") == 0) {
		q->json = true;
		return 0;
	}
	if (strcmp(name, "follow") == 0) {
		q->follow = true;
		return 0;
	}
	if (strcmp(name, "all") == 0) {
		q->all = true;
		return 0;
	}
	if (strcmp(name, "here") == 0) {
		q->here = true;
		return 0;
	}
	if (strcmp(name, "program") != 0 && strcmp(name, "since") != 0)
		return run_usage_error("why", "option \"%s\" is unknown", name);
	v = run_opts_value(o);
	if (!v)
		return RUN_EXIT_USAGE;
	if (strcmp(o->name, "program") == 0)
		q->program = v;
	else if (!read_since(v, q->since))
		return run_usage_error("why", "--since is \"%s\", but must be a time (2026-01-31 12:00) or an age (90s, 10m, 2h, 3d)",
				       v);
	return 0;
}

int run_cmd_why(int argc, char **argv)
{
	struct run_opts o = { .command = "why", .argv = argv, .argc = argc, .index = 1 };
	struct query q = { .count = 10, .net = ut_net_ns() };
	struct lines l = { .q = &q };
	const char *name;
	int r;

	while ((name = run_opts_next(&o))) {
		r = read_option(&o, name, &q);
		if (r != 0)
			return r;
	}
	if (o.index < argc)
		return run_usage_error("why", "argument \"%s\" is unexpected", argv[o.index]);
	r = read_lines(&l);
	if (r < 0) {
		run_say("cannot read the recorded failures (%s): none is shown; see dapple doctor", strerror(-r));
		return 1;
	}
	if (q.json || q.follow)
		print_by_time(&l);
	else
		print_by_level(&l);
	if (!l.n && !q.follow && !q.json)
		print_none(&l);
	r = q.follow ? follow(&l) : 0;
	free_lines(&l);
	return r;
}

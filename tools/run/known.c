/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/*
 * The words by which programs take the server's address and the port.  A row's
 * texts contain {port}, {peer} and {any} (the wildcard address of peer's
 * family); "first" goes right behind the program's name, "last" behind all
 * words of the user.
 */
struct known {
	const char *pattern;
	const char *server_first, *client_first, *client_last;
	unsigned ready;
	unsigned flags;
	char port_short;		/* options by which the user may */
	const char *port_long;		/* give the port */
};

enum {
	CLIENT_WORDS = 1,	/* only the client gets the user's words */
	STAYS = 2,		/* the server does not exit by itself */
	GID = 4,		/* on RoCE it needs -g; 0 unless the user gives one */
	NEEDS_PEER = 8,		/* the user's words must contain {peer} */
};

#define CM_READY (READY_CM | READY_TCP | READY_QUIET)
/* With -R the port is an rdma_cm port. */
#define PERFTEST_READY (READY_TCP | READY_CM)

/* Option letters checked against the programs of Debian 12 (dapltest: against
 * the dapl sources' usage text). */
static const struct known table[] = {
	{ "ibv_*_pingpong", "-p {port}", "-p {port}", "{peer}", READY_TCP, GID, 'p', "port" },
	{ "ib_send_bw", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_send_lat", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_write_bw", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_write_lat", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_read_bw", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_read_lat", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_atomic_bw", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "ib_atomic_lat", "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, 0, 'p', "port" },
	{ "qperf", "-lp {port}", "-lp {port} {peer}", "", READY_TCP, CLIENT_WORDS | STAYS, 0, NULL },
	{ "rping", "-s -a {any} -p {port}", "-c -a {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	{ "ucmatose", "-b {any} -p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	/* udaddy has no port option: its -p is the port space. */
	{ "udaddy", "-b {any}", "-s {peer}", "", READY_CM | READY_QUIET, 0, 0, NULL },
	/* Both ends join the group; the client sends. */
	{ "mckey", "", "-s", "", READY_QUIET, 0, 0, NULL },
	{ "cmtime", "-b {any} -p {port}", "-s {peer} -p {port}", "", CM_READY, STAYS, 'p', NULL },
	{ "rstream", "-p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	{ "riostream", "-p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	/* Without -b, udpong serves a loopback address of its choice. */
	{ "udpong", "-b {peer} -p {port}", "-s {peer} -p {port}", "", READY_CM | READY_UDP | READY_QUIET, STAYS, 'p', NULL },
	{ "rcopy", "-p {port}", "-p {port}", "", CM_READY, CLIENT_WORDS | STAYS | NEEDS_PEER, 0, NULL },
	{ "rdma_server", "-s {any} -p {port}", "", "", CM_READY, 0, 'p', NULL },
	{ "rdma_client", "-p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	{ "rdma_xserver", "-p {port}", "", "", CM_READY, 0, 'p', NULL },
	{ "rdma_xclient", "-p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	{ "dapltest", "-T S", "-s {peer}", "", CM_READY, CLIENT_WORDS | STAYS, 0, NULL },
	{ "fi_pingpong", "-B {port}", "-P {port}", "{peer}", READY_TCP, 0, 0, NULL },
	{ "ucx_perftest", "-p {port}", "-p {port}", "{peer}", READY_TCP, 0, 'p', NULL },
};

/* Pairs whose server and client are two programs. */
static const char *const twins[][2] = {
	{ "rdma_server", "rdma_client" }, { "rdma_xserver", "rdma_xclient" },
};

#define N_ROWS (sizeof(table) / sizeof(table[0]))

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void pair_list_known(void)
{
	size_t i;

	for (i = 0; i < N_ROWS; i++) {
		const struct known *k = &table[i];
		const char *user = k->flags & CLIENT_WORDS ? "" : " ...";

		printf("%-16s server: %s%s%s\n", k->pattern, k->server_first,
		       *k->server_first ? "" : "(as given)", user);
		printf("%-16s client: %s ... %s\n", "", k->client_first, k->client_last);
	}
}

/* The program may follow other words (timeout 10 qperf ...). */
static const struct known *find_program(char **words, int *ret_at)
{
	size_t i;
	int w;

	for (w = 0; words[w]; w++)
		for (i = 0; i < N_ROWS; i++)
			if (fnmatch(table[i].pattern, base_name(words[w]), 0) == 0) {
				*ret_at = w;
				return &table[i];
			}
	return NULL;
}

/* --- words --- */

struct list {
	char **words;
	size_t n;
};

static void add(struct list *l, char *word)
{
	l->words = realloc(l->words, (l->n + 2) * sizeof(char *));
	if (!l->words || !word)
		abort();
	l->words[l->n++] = word;
	l->words[l->n] = NULL;
}

static char *substitute(const char *word, const struct pair_wish *w)
{
	size_t size = strlen(word) * (strlen(w->peer) + 6) + 1;
	char *out = malloc(size), *p = out;

	if (!out)
		abort();
	while (*word) {
		if (strncmp(word, "{peer}", 6) == 0) {
			p = stpcpy(p, w->peer);
			word += 6;
		} else if (strncmp(word, "{port}", 6) == 0) {
			p += sprintf(p, "%d", w->port);
			word += 6;
		} else if (strncmp(word, "{any}", 5) == 0) {
			p = stpcpy(p, strchr(w->peer, ':') ? "::" : "0.0.0.0");
			word += 5;
		} else {
			*p++ = *word++;
		}
	}
	*p = '\0';
	return out;
}

static void add_text(struct list *l, const char *text, const struct pair_wish *w)
{
	char *copy = strdup(text), *save, *word;

	if (!copy)
		abort();
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		add(l, substitute(word, w));
	free(copy);
}

static void add_words(struct list *l, char **words, const struct pair_wish *w, bool server)
{
	for (; *words; words++)
		if (!server || strcmp(*words, "{peer}") != 0)
			add(l, substitute(*words, w));
}

static bool has_text(char **words, const char *text)
{
	for (; *words; words++)
		if (strstr(*words, text))
			return true;
	return false;
}

/* Returns the value of an option in the user's words, "" if it has none, NULL without the option. */
static const char *option(char **words, char letter, const char *name)
{
	size_t n = name ? strlen(name) : 0;

	for (; *words; words++) {
		const char *w = *words;

		if (letter && w[0] == '-' && w[1] == letter)
			return w[2] ? w + 2 : words[1] ? words[1] : "";
		if (name && strncmp(w, "--", 2) == 0 && strncmp(w + 2, name, n) == 0) {
			if (w[2 + n] == '=')
				return w + 3 + n;
			if (!w[2 + n])
				return words[1] ? words[1] : "";
		}
	}
	return NULL;
}

static int plan_by_text(const struct pair_wish *wish, struct pair_plan *ret)
{
	struct list server = { 0 }, client = { 0 };

	add_words(&server, wish->words, wish, true);
	add_words(&client, wish->words, wish, false);
	*ret = (struct pair_plan){ server.words, client.words, wish->port,
				   READY_TCP | READY_UDP | READY_CM, false };
	return server.n ? 0 : run_usage_error("pair", "the server's command is empty without {peer}");
}

/* The client's program is taken from the directory of the server's. */
static char *twin_of(const char *word)
{
	const char *base = base_name(word);
	size_t i;
	char *out;

	for (i = 0; i < sizeof(twins) / sizeof(twins[0]); i++) {
		if (strcmp(base, twins[i][0]) != 0 && strcmp(base, twins[i][1]) != 0)
			continue;
		if (asprintf(&out, "%.*s%s", (int)(base - word), word, twins[i][1]) < 0)
			abort();
		return out;
	}
	return strdup(word);
}

static char *server_twin_of(const char *word)
{
	const char *base = base_name(word);
	size_t i;
	char *out;

	for (i = 0; i < sizeof(twins) / sizeof(twins[0]); i++)
		if (strcmp(base, twins[i][1]) == 0) {
			if (asprintf(&out, "%.*s%s", (int)(base - word), word, twins[i][0]) < 0)
				abort();
			return out;
		}
	return strdup(word);
}

static const struct known *row_of(const char *word)
{
	size_t i;

	for (i = 0; i < N_ROWS; i++)
		if (fnmatch(table[i].pattern, base_name(word), 0) == 0)
			return &table[i];
	return NULL;
}

static int plan_by_row(const struct pair_wish *wish, const struct known *k, int at,
		       struct pair_plan *ret)
{
	struct list server = { 0 }, client = { 0 };
	char **user = wish->words + at + 1;
	char *server_name = server_twin_of(wish->words[at]);
	char *client_name = twin_of(wish->words[at]);
	struct pair_wish w = *wish;
	const char *port;
	int i;

	/* The user's port takes precedence: it follows on the command line, and the server
	 * is expected to listen on it. */
	port = k->port_short ? option(user, k->port_short, k->port_long) : NULL;
	if (port && atoi(port) > 0)
		w.port = atoi(port);
	for (i = 0; i < at; i++) {
		add(&server, strdup(wish->words[i]));
		add(&client, strdup(wish->words[i]));
	}
	add(&server, server_name);
	add(&client, client_name);
	add_text(&server, row_of(server_name)->server_first, &w);
	add_text(&client, row_of(client_name)->client_first, &w);
	if ((k->flags & GID) && w.roce && !option(user, 'g', "gid-idx")) {
		add_text(&server, "-g 0", &w);
		add_text(&client, "-g 0", &w);
	}
	if (!(k->flags & CLIENT_WORDS))
		add_words(&server, user, &w, true);
	add_words(&client, user, &w, false);
	add_text(&client, k->client_last, &w);
	*ret = (struct pair_plan){ server.words, client.words, w.port, k->ready,
				   (k->flags & STAYS) != 0 };
	return 0;
}

int pair_plan(const struct pair_wish *wish, struct pair_plan *ret)
{
	bool given = has_text(wish->words, "{peer}") || has_text(wish->words, "{port}");
	const struct known *k;
	int at;

	k = find_program(wish->words, &at);
	if (k && (k->flags & NEEDS_PEER)) {
		if (!has_text(wish->words + at + 1, "{peer}"))
			return run_usage_error("pair", "%s needs {peer} in place of the server's address",
					       k->pattern);
		return plan_by_row(wish, k, at, ret);
	}
	if (given)
		return plan_by_text(wish, ret);
	if (k)
		return plan_by_row(wish, k, at, ret);
	return run_usage_error("pair", "\"%s\" is not a known program (--list): write {peer} for the "
				       "server's address and {port} for the port",
			       wish->words[0]);
}

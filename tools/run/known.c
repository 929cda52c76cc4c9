/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/*
 * The words by which programs take the server's address and the port.  A row's
 * texts contain {port}, {peer}, {own} (the client's address), {any} (the wildcard
 * address of peer's family) and {ia} (the built-in DAT name of the adapter);
 * "first" goes right behind the program's name, "last" behind all words of the user.
 */
struct known {
	const char *pattern;
	const char *server_first, *client_first, *client_last;
	unsigned ready;
	unsigned flags;
	char port_short;		/* options by which the user may */
	const char *port_long;		/* give the port */
	int port;			/* one that no option changes */
	const char *sign;		/* a text in the file of this release of the program */
};

enum {
	CLIENT_WORDS = 1,	/* only the client gets the user's words */
	STAYS = 2,		/* the server does not exit by itself */
	GID = 4,		/* on RoCE it needs -g; 0 unless the user gives one */
	NEEDS_PEER = 8,		/* the user's words must contain {peer} */
	V4_ONLY = 16,		/* the ends find each other over IPv4 */
	V6_BY_OPTION = 32,	/* likewise, unless --ipv6-addr is given */
	V6_SHORT = 64,		/* takes the first 64 bits of an IPv6 address */
	DAPLTEST = 128,		/* the user's -T comes first; -D is for both ends */
	BOTH_PORTS = 256,	/* the server binds one number as an rdma_cm port and as a TCP port */
};

#define PERFTEST(name) \
	{ name, "-p {port}", "-p {port}", "{peer}", PERFTEST_READY, V6_BY_OPTION, 'p', "port" }
#define DTEST_PORT 15828

#define CM_READY (READY_CM | READY_TCP | READY_QUIET)
/* With -R the port is an rdma_cm port. */
#define PERFTEST_READY (READY_TCP | READY_CM)

/* Option letters checked against the programs of Debian 12 (dapltest: against
 * the dapl sources' usage text). */
static const struct known table[] = {
	{ "ibv_*_pingpong", "-p {port}", "-p {port}", "{peer}", READY_TCP, GID | V4_ONLY, 'p', "port" },
	PERFTEST("ib_send_bw"),
	PERFTEST("ib_send_lat"),
	PERFTEST("ib_write_bw"),
	PERFTEST("ib_write_lat"),
	PERFTEST("ib_read_bw"),
	PERFTEST("ib_read_lat"),
	PERFTEST("ib_atomic_bw"),
	PERFTEST("ib_atomic_lat"),
	{ "qperf", "-lp {port}", "-lp {port} {peer}", "", READY_TCP, CLIENT_WORDS | STAYS, 0, NULL },
	{ "rping", "-s -a {any} -p {port}", "-c -a {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	{ "ucmatose", "-b {any} -p {port}", "-s {peer} -p {port}", "", CM_READY, 0, 'p', NULL },
	/* udaddy has no port option: its -p is the port space. */
	{ "udaddy", "-b {any}", "-s {peer}", "", READY_CM | READY_QUIET, 0, 0, NULL },
	/* Both ends join the group; the client sends. */
	{ "mckey", "", "-s", "", READY_QUIET, 0, 0, NULL },
	/* The ends of newer releases agree over TCP. */
	{ "cmtime", "-L -b {peer} -C {peer} -p {port}", "-b {own} -C {peer} -p {port}", "", READY_TCP, 0, 'p', NULL,
	  .sign = "controller_address" },
	/* Those of release 56: the server opens its device by the address it binds, and listens on TCP too. */
	{ "cmtime", "-b {peer} -p {port}", "-s {peer} -p {port}", "", READY_TCP, BOTH_PORTS, 'p', NULL,
	  .sign = "mimic_qp_delay_us" },
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
	{ "dapltest", "-T S -D {ia}", "-D {ia} -s {peer}", "", CM_READY, CLIENT_WORDS | STAYS | DAPLTEST | V6_SHORT, 0,
	  NULL },
	{ "dapple-dapltest*", "-T S -D {ia}", "-D {ia} -s {peer}", "", CM_READY, CLIENT_WORDS | STAYS | DAPLTEST, 0,
	  NULL },
	{ "dtest", "-s -P {ia}", "-h {peer} -P {ia}", "", READY_TCP, V4_ONLY, 0, NULL, DTEST_PORT },
	{ "dtestcm", "-s -P {ia}", "-h {peer} -P {ia}", "", READY_TCP, V4_ONLY, 0, NULL, DTEST_PORT },
	{ "dtestx", "-s -P {ia}", "-c -h {peer} -P {ia}", "", READY_TCP, V4_ONLY, 0, NULL, DTEST_PORT },
	{ "dtestsrq", "-s -P {ia}", "-h {peer} -P {ia}", "", CM_READY, 0, 0, NULL },
	{ "dapple-dtest*", "-s -P {ia}", "-h {peer} -P {ia}", "", CM_READY, 0, 0, NULL },
	{ "fi_pingpong", "-B {port}", "-P {port}", "{peer}", READY_TCP, V4_ONLY, 0, NULL },
	/* One built with MPI takes itself for an MPI job where it has no terminal. */
	{ "ucx_perftest", "-P 0 -p {port}", "-P 0 -p {port}", "{peer}", READY_TCP, V4_ONLY, 'p', NULL,
	  .sign = "libmpi.so" },
	{ "ucx_perftest", "-p {port}", "-p {port}", "{peer}", READY_TCP, V4_ONLY, 'p', NULL },
};

/* Programs that meet no second one, and the command that runs them. */
static const struct { const char *pattern, *command; } singles[] = {
	{ "srp_daemon*", "dapple fabric run NODE" },
	{ "ibsrpdm", "dapple fabric run NODE" },
	{ "ibv_devices", "dapple run" },
	{ "ibv_devinfo", "dapple run" },
	{ "ibv_asyncwatch", "dapple run" },
	{ "ibstat", "dapple run" },
	{ "fi_info", "dapple run" },
	{ "ucx_info", "dapple run" },
	{ "lstopo*", "dapple run" },
	{ "rdma", "dapple run" },
	{ "mpirun", "dapple run" },
	{ "mpiexec", "dapple run" },
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

/* Finds the file that a shell would start. Returns NULL if there is none. */
static FILE *open_program(const char *word)
{
	const char *path = getenv("PATH"), *end;
	char name[4096];
	FILE *f = NULL;

	if (strchr(word, '/'))
		return fopen(word, "re");
	for (; path && !f; path = *end ? end + 1 : NULL) {
		end = path + strcspn(path, ":");
		snprintf(name, sizeof(name), "%.*s/%s", (int)(end - path), path, word);
		f = fopen(name, "re");
	}
	return f;
}

static bool has_sign(const char *word, const char *sign)
{
	size_t want = strlen(sign), have = 0;
	FILE *f = open_program(word);
	int c;

	if (!f)
		return false;
	while (have < want && (c = getc_unlocked(f)) != EOF)
		have = c == sign[have] ? have + 1 : c == sign[0];
	fclose(f);
	return have == want;
}

static const struct known *row_of(const char *word)
{
	size_t i;

	for (i = 0; i < N_ROWS; i++)
		if (fnmatch(table[i].pattern, base_name(word), 0) == 0 &&
		    (!table[i].sign || has_sign(word, table[i].sign)))
			return &table[i];
	return NULL;
}

/* The program may follow other words (timeout 10 qperf ...). */
static const struct known *find_program(char **words, int *ret_at)
{
	const struct known *k;
	int w;

	for (w = 0; words[w]; w++) {
		k = row_of(words[w]);
		if (k) {
			*ret_at = w;
			return k;
		}
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

/* Returns the text for the name in braces that p begins with, NULL if there is none. */
static const char *value_of(const char *p, const struct pair_wish *w, char port[static 16])
{
	snprintf(port, 16, "%d", w->port);
	if (strncmp(p, "{peer}", 6) == 0)
		return w->peer;
	if (strncmp(p, "{port}", 6) == 0)
		return port;
	if (strncmp(p, "{own}", 5) == 0)
		return w->own;
	if (strncmp(p, "{ia}", 4) == 0)
		return w->ia;
	if (strncmp(p, "{any}", 5) == 0)
		return strchr(w->peer, ':') ? "::" : "0.0.0.0";
	return NULL;
}

static char *substitute(const char *word, const struct pair_wish *w)
{
	char *out = NULL, port[16];
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	if (!f)
		abort();
	while (*word) {
		const char *value = *word == '{' ? value_of(word, w, port) : NULL;

		if (value) {
			fputs(value, f);
			word = strchr(word, '}') + 1;
		} else {
			fputc(*word++, f);
		}
	}
	fclose(f);
	if (!out)
		abort();
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
				   READY_TCP | READY_UDP | READY_CM, false, wish->peer };
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

/* Returns 0 if the program can do with the wanted family of addresses, else an exit code after a sentence. */
static int check_family(const struct pair_wish *wish, const struct known *k, char **user)
{
	if (!wish->v6)
		return 0;
	if (k->flags & V4_ONLY)
		return run_usage_error("pair", "the ends of %s find each other over IPv4 only: leave -6 away", k->pattern);
	if ((k->flags & V6_BY_OPTION) && !option(user, 0, "ipv6-addr"))
		return run_usage_error("pair", "the ends of %s find each other over IPv4 without its option --ipv6-addr: "
				       "add it, or leave -6 away", k->pattern);
	if ((k->flags & V6_SHORT) && !wish->short6)
		return run_usage_error("pair", "%s takes the first 64 bits of an IPv6 address, and cannot reach ::1: add "
				       "--hosts, or leave -6 away", k->pattern);
	return 0;
}

/* Returns 0 if the program can do with the wanted adapter, else an exit code after a sentence. */
static int check_adapter(const struct pair_wish *wish, const struct known *k)
{
	if (wish->roce || !(k->flags & BOTH_PORTS))
		return 0;
	run_say("%s of this release cannot run over iWARP (its server listens for rdma_cm and for TCP on one number, and "
		"over iWARP both are the same TCP port): no program is started; give dapple pair --adapter roce, or install a newer %s",
		k->pattern, k->pattern);
	return RUN_EXIT_SKIP;
}

/* What the row, and what the user's own words, change of the wish. */
static void refine(struct pair_wish *w, const struct known *k, char **user)
{
	const char *port = k->port_short ? option(user, k->port_short, k->port_long) : NULL;

	/* The user's port takes precedence: it follows on the command line, and the server
	 * is expected to listen on it. */
	if (port && atoi(port) > 0)
		w->port = atoi(port);
	if (k->port)
		w->port = k->port;
	if ((k->flags & V6_BY_OPTION) && !w->v6 && option(user, 0, "ipv6-addr")) {
		w->peer = w->peer6;
		w->own = w->own6;
	}
	if ((k->flags & V6_SHORT) && w->v6)
		w->peer = w->short6;
	if ((k->flags & DAPLTEST) && option(user, 'D', NULL))
		w->ia = option(user, 'D', NULL);
}

static int plan_by_row(const struct pair_wish *wish, const struct known *k, int at,
		       struct pair_plan *ret)
{
	struct list server = { 0 }, client = { 0 };
	char **user = wish->words + at + 1;
	char *server_name = server_twin_of(wish->words[at]);
	char *client_name = twin_of(wish->words[at]);
	struct pair_wish w = *wish;
	int i;

	refine(&w, k, user);
	for (i = 0; i < at; i++) {
		add(&server, strdup(wish->words[i]));
		add(&client, strdup(wish->words[i]));
	}
	add(&server, server_name);
	add(&client, client_name);
	add_text(&server, row_of(server_name)->server_first, &w);
	if ((k->flags & DAPLTEST) && user[0] && strncmp(user[0], "-T", 2) == 0) {
		add(&client, substitute(*user, &w));
		if (!(*user++)[2] && *user)
			add(&client, substitute(*user++, &w));
	}
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
				   (k->flags & STAYS) != 0, w.peer };
	return 0;
}

/* Returns an exit code after a sentence. */
static int refuse_unknown(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		if (fnmatch(singles[i].pattern, base_name(word), 0) == 0)
			return run_usage_error("pair", "%s meets no second program: no pair is started; run it alone, by %s",
					       base_name(word), singles[i].command);
	return run_usage_error("pair", "\"%s\" is not a known program (--list): write {peer} for the "
				       "server's address and {port} for the port",
			       word);
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
	if (k) {
		int r = check_family(wish, k, wish->words + at + 1);

		r = r ? r : check_adapter(wish, k);
		return r ? r : plan_by_row(wish, k, at, ret);
	}
	return refuse_unknown(wish->words[0]);
}

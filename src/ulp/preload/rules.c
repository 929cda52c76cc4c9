/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules are read once, at the first listen() or connect(): LIBSDP_CONFIG_FILE, as of libsdp; SIMPLE_LIBSDP has none. */
#include "ulp/preload/rules.h"

#include "util/env.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define RULES_MAX 64
#define WORDS 5

static struct rsp_rule_row rules[RULES_MAX];
static unsigned nr_rules;
static bool sdp_is_on, simple;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* --- one line --- */

/* Cuts the line into at most WORDS words, in place; a # begins a remark. Returns their number; more: WORDS + 1. */
static unsigned cut(char *line, char *word[WORDS])
{
	unsigned n = 0;
	char *rest = NULL;

	line[strcspn(line, "#\r\n")] = '\0';
	for (char *w = strtok_r(line, " \t", &rest); w; w = strtok_r(NULL, " \t", &rest)) {
		if (n == WORDS)
			return WORDS + 1;
		word[n++] = w;
	}
	return n;
}

static bool read_use(const char *w, uint8_t *ret)
{
	static const struct { const char *word; uint8_t use; } uses[] = {
		{ "sdp", RSP_RULE_SDP }, { "tcp", RSP_RULE_TCP }, { "both", RSP_RULE_BOTH },
	};

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		if (!strcasecmp(w, uses[i].word)) {
			*ret = uses[i].use;
			return true;
		}
	}
	return false;
}

static bool read_role(const char *w, uint8_t *ret)
{
	bool listens = !strcasecmp(w, "server") || !strcasecmp(w, "listen");

	*ret = listens ? RSP_RULE_LISTEN : RSP_RULE_CONNECT;
	return listens || !strcasecmp(w, "client") || !strcasecmp(w, "connect");
}

/* A number from 0 to max at *at, which moves behind it. */
static bool read_number(const char **at, unsigned long max, unsigned long *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtoul(*at, &end, 10);
	*at = end;
	return *ret <= max;
}

static bool read_ports(const char *w, struct rsp_rule_row *row)
{
	unsigned long first = 0, last = 65535;

	if (strcmp(w, "*")) {
		if (!read_number(&w, 65535, &first))
			return false;
		last = first;
		if (*w == '-' && (w++, !read_number(&w, 65535, &last)))
			return false;
		if (*w || last < first)
			return false;
	}
	row->first = (uint16_t)first;
	row->last = (uint16_t)last;
	return true;
}

static bool read_address(char *w, struct rsp_rule_row *row)
{
	char *slash = strchr(w, '/');
	const char *text = slash ? slash + 1 : "";
	unsigned long bits;

	if (!strcmp(w, "*"))
		return true;
	if (slash)
		*slash = '\0';
	if (inet_pton(AF_INET, w, row->addr) == 1)
		row->family = AF_INET;
	else if (inet_pton(AF_INET6, w, row->addr) == 1)
		row->family = AF_INET6;
	else
		return false;
	bits = row->family == AF_INET ? 32 : 128;
	if (slash && (!read_number(&text, bits, &bits) || *text))
		return false;
	row->bits = (uint8_t)bits;
	return true;
}

int rsp_rule_read(const char *line, struct rsp_rule_row *ret)
{
	char text[512], *word[WORDS], *colon;
	unsigned n;

	memset(ret, 0, sizeof(*ret));
	if (snprintf(text, sizeof(text), "%s", line) >= (int)sizeof(text))
		return -1;
	n = cut(text, word);
	if (!n || !strcasecmp(word[0], "log"))
		return 0;
	if (n != WORDS || strcasecmp(word[0], "use") || !read_use(word[1], &ret->use) || !read_role(word[2], &ret->role) ||
	    snprintf(ret->program, sizeof(ret->program), "%s", word[3]) >= (int)sizeof(ret->program))
		return -1;
	colon = strrchr(word[4], ':');
	if (!colon)
		return -1;
	*colon = '\0';
	return read_address(word[4], ret) && read_ports(colon + 1, ret) ? 1 : -1;
}

static bool within(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	return !memcmp(a, b, whole) && (!rest || !((a[whole] ^ b[whole]) >> (8 - rest)));
}

bool rsp_rule_fits(const struct rsp_rule_row *row, const char *program, enum rsp_role role, const struct rsp_addr *at)
{
	struct rsp_addr a = *at;
	uint16_t port = ntohs(a.port);

	rsp_addr_unmap(&a);
	return row->role == role && !fnmatch(row->program, program, 0) && port >= row->first && port <= row->last &&
	       (!row->family || (row->family == a.family && within(row->addr, a.addr, row->bits)));
}

/* --- the file --- */

static void read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	struct rsp_rule_row row;
	int r;

	if (!f) {
		fprintf(stderr, "dapple: LIBSDP_CONFIG_FILE: %s cannot be read (%s); all sockets try SDP, then TCP; "
			"correct its path\n", path, strerror(errno));
		return;
	}
	for (unsigned number = 1; fgets(line, sizeof(line), f); number++) {
		r = rsp_rule_read(line, &row);
		if (r > 0 && nr_rules < RULES_MAX)
			rules[nr_rules++] = row;
		else if (r)
			fprintf(stderr, "dapple: LIBSDP_CONFIG_FILE: %s:%u: %s; the line is left out; a rule reads "
				"`use sdp/tcp/both server/client PROGRAM ADDRESS[/BITS]:PORT[-PORT]`\n", path, number,
				r < 0 ? "the rule is not understood" : "there are more than 64 rules");
	}
	fclose(f);
}

static void read_rules(void)
{
	const char *way = ut_env("DAPPLE_SOCKETS"), *path = ut_env("LIBSDP_CONFIG_FILE");

	sdp_is_on = way && !strcmp(way, "sdp");
	simple = ut_env("SIMPLE_LIBSDP") != NULL;
	if (sdp_is_on && !simple && path && *path)
		read_file(path);
}

bool rsp_sdp_is_on(void)
{
	pthread_once(&once, read_rules);
	return sdp_is_on;
}

enum rsp_rule rsp_rule_for(enum rsp_role role, const struct rsp_addr *at)
{
	if (!rsp_sdp_is_on())
		return RSP_RULE_RSOCKET;
	for (unsigned i = 0; i < nr_rules; i++)
		if (rsp_rule_fits(&rules[i], program_invocation_short_name, role, at))
			return (enum rsp_rule)rules[i].use;
	return simple ? RSP_RULE_SDP : RSP_RULE_BOTH;
}

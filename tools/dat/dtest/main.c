/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dtest.h"

static const struct check {
	const char *name, *text;
	enum dtd_result (*run)(struct dtd *d);
} checks[] = {
	{ "reject", "a request with private data, rejected with private data", dtd_check_reject },
	{ "connect", "a request with private data, accepted with private data",
	  dtd_check_connect },
	{ "messages", "messages, by dat_evd_wait, dat_evd_dequeue and a CNO", dtd_check_messages },
	{ "write", "RDMA Writes", dtd_check_write },
	{ "read", "RDMA Reads", dtd_check_read },
	{ "suppress", "suppressed completions", dtd_check_suppress },
	{ "immediate", "RDMA Write with immediate data", dtd_check_immediate },
	{ "atomics", "fetch and add, compare and swap", dtd_check_atomics },
	{ "srq", "messages into a shared receive queue", dtd_check_srq },
	{ "datagrams", "datagrams, with an address that a connection request fetched",
	  dtd_check_datagrams },
	{ "many", "connections in bursts", dtd_check_many },
	{ "reconnect", "disconnect, reset, and connect again", dtd_check_reconnect },
};

#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))

static void usage(FILE *to)
{
	size_t i;

	fprintf(to, "usage: dapple-dtest [-P IA] [-s | -h HOST] [-n QUALIFIER] [-b BYTES] "
		"[-B BURST] [-p | -c] [-k NAME,...] [-v]\n"
		"  -P IA         the adapter (dapple-roce-lo)\n"
		"  -s            serve one client (the default without -h)\n"
		"  -h HOST       be the client of the server there\n"
		"  -n QUALIFIER  connection qualifier of the server (%d)\n"
		"  -b BYTES      size of a message or RDMA operation (4096)\n"
		"  -B BURST      outstanding operations (10)\n"
		"  -p, -c        poll for all events, or wait at a CNO (each way in turn)\n"
		"  -k NAME,...   skip these checks, at both ends alike\n"
		"  -v            print the subject of each check\n"
		"checks:", DTD_QUAL);
	for (i = 0; i < N_CHECKS; i++)
		fprintf(to, " %s", checks[i].name);
	fprintf(to, "\n");
}

static long number(const char *text, long most)
{
	char *end;
	long v;

	errno = 0;
	v = strtol(text, &end, 0);
	if (!errno && !*end && end != text && v >= 1 && v <= most)
		return v;
	fprintf(stderr, "dapple-dtest: \"%s\" is not a number from 1 to %ld: no check runs; correct it\n", text, most);
	exit(1);
}

static void parse(int argc, char **argv, struct dtd_options *o)
{
	int letter;

	while ((letter = getopt(argc, argv, "P:sh:n:b:B:pck:vU")) != -1)
		switch (letter) {
		case 'P': o->ia = optarg; break;
		case 's': o->host = NULL; break;
		case 'h': o->host = optarg; break;
		case 'n': o->qual = number(optarg, 0x7fffffffffffffff); break;
		case 'b': o->size = number(optarg, 64 << 20); break;
		case 'B': o->burst = number(optarg, 4096); break;
		case 'p': o->how = DTL_POLL; o->only_how = true; break;
		case 'c': o->how = DTL_CNO; o->only_how = true; break;
		case 'k': o->skip = optarg; break;
		case 'v': o->verbose = true; break;
		case 'U': usage(stdout); exit(0);
		default: usage(stderr); exit(1);
		}
	if (optind == argc)
		return;
	fprintf(stderr, "dapple-dtest: argument %s is one word too many: no check runs; remove it\n", argv[optind]);
	usage(stderr);
	exit(1);
}

static bool skipped(const struct dtd_options *o, const char *name)
{
	const char *p = o->skip;
	size_t n = strlen(name);

	while (p && *p) {
		if (strncmp(p, name, n) == 0 && (p[n] == ',' || !p[n]))
			return true;
		p = strchr(p, ',');
		p = p ? p + 1 : NULL;
	}
	return false;
}

/*
 * Returns how many checks failed. After the first one the ends are out of step, so it is the last.
 */
static int run_all(struct dtd *d)
{
	static const char *const words[] = { "PASS", "FAIL", "UNSUPP" };
	enum dtd_result r;
	size_t i;

	for (i = 0; i < N_CHECKS; i++) {
		if (skipped(d->o, checks[i].name))
			continue;
		r = checks[i].run(d);
		printf("%-6s %s%s%s\n", words[r], checks[i].name, d->o->verbose ? ": " : "",
		       d->o->verbose ? checks[i].text : "");
		fflush(stdout);
		if (r == DTD_FAIL)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct dtd_options o = { .ia = "dapple-roce-lo", .qual = DTD_QUAL, .size = 4096,
				 .burst = 10, .how = DTL_WAIT };
	struct dtd d;
	int bad;

	parse(argc, argv, &o);
	if (o.host == NULL && skipped(&o, "connect")) {
		fprintf(stderr, "dapple-dtest: -k connect leaves no check: nothing runs; remove it, or give "
				"-h HOST\n");
		return 1;
	}
	if (dtd_open(&d, &o) != 0) {
		dtd_close(&d);
		return 1;
	}
	if (!o.host) {
		printf("%s, qualifier %llu: waiting for a client\n", o.ia,
		       (unsigned long long)o.qual);
		fflush(stdout);
	}
	bad = run_all(&d);
	if (!bad && d.end.connected)
		bad = dtd_part(&d);
	bad |= dtd_close(&d);
	printf("%s\n", bad ? "FAILED" : "all checks passed");
	if (bad)
		dtl_complain("dapple-dtest: the checks failed: later ones are left out; see above, and dapple why");
	return bad ? 1 : 0;
}

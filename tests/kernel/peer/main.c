/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* peer SCENARIO -s|-c ADDRESS [options]: one end of one scenario. */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct peer_scenario *const all[] = {
	peer_data, peer_faults, peer_killed, peer_ends, peer_bench,
};

static int usage(void)
{
	fprintf(stderr,
		"usage: peer SCENARIO -s|-c ADDRESS [-p PORT] [-n ROUNDS] [-S SIZE,SIZE...]\n"
		"            [-k KIND] [-e WHAT-IT-SEES] [-r RETRIES] [-R RNR-RETRIES]\n"
		"            [-t ACK-TIMEOUT] [-x COMMAND-HALF-WAY] [-l]\n"
		"  -l: the network may lose the acknowledgement of the last Send\n");
	for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++)
		for (const struct peer_scenario *s = all[t]; s->name; s++)
			fprintf(stderr, "  %-10s %s\n", s->name, s->text);
	return 2;
}

static void sizes(struct peer_args *a, char *list)
{
	char *save, *word = strtok_r(list, ",", &save);

	for (a->nsizes = 0; word && a->nsizes < PEER_SIZES; word = strtok_r(NULL, ",", &save))
		a->sizes[a->nsizes++] = strtoul(word, NULL, 0);
}

static bool options(struct peer_args *a, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:c:p:n:S:k:e:r:R:t:x:l")) != -1) {
		switch (c) {
		case 's': a->addr = optarg; a->passive = true; break;
		case 'c': a->addr = optarg; break;
		case 'p': a->port = atoi(optarg); break;
		case 'n': a->count = (unsigned)atoi(optarg); break;
		case 'S': sizes(a, optarg); break;
		case 'k': a->kind = optarg; break;
		case 'e': a->expect = optarg; break;
		case 'r': a->retry = atoi(optarg); break;
		case 'R': a->rnr_retry = atoi(optarg); break;
		case 't': a->ack_timeout = atoi(optarg); break;
		case 'l': a->lossy = true; break;
		case 'x': a->run = *optarg ? optarg : NULL; break;
		default: return false;
		}
	}
	return a->addr && optind == argc;
}

int main(int argc, char **argv)
{
	static struct peer_args a = {
		.port = 7471, .count = 1, .retry = 7, .rnr_retry = 7, .sizes = { 64 }, .nsizes = 1,
	};
	static struct peer p;

	if (argc < 2 || !options(&a, argc - 1, argv + 1))
		return usage();
	a.scenario = argv[1];
	for (size_t t = 0; t < sizeof(all) / sizeof(*all); t++)
		for (const struct peer_scenario *s = all[t]; s->name; s++)
			if (!strcmp(s->name, a.scenario)) {
				p.a = &a;
				(a.passive ? s->passive : s->active)(&p);
				return 0;
			}
	return usage();
}

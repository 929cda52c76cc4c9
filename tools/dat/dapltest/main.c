/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ends.h"

/*
 * dapple-dapltest: tests a DAT provider, by itself or against another dapple-dapltest or the DAPL project's dapltest, whose
 * command line it has; the exit status is 0 only if all tests passed.
 */

#define WORDS_MAX 512

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	ssize_t n;

	if (!f) {
		fprintf(stderr, "dapple-dapltest: cannot read %s (%m): no test runs; check its path and "
				"permissions\n", path);
		return NULL;
	}
	n = getdelim(&text, &size, '\0', f);
	fclose(f);
	if (n >= 0)
		return text;
	free(text);
	fprintf(stderr, "dapple-dapltest: file %s is empty: no test runs; write options into it\n", path);
	return NULL;
}

/* -f FILE: its words replace the arguments. They live as long as the program. */
static int from_file(const char *path, char **words)
{
	char *text = read_file(path), *save, *word;
	int n = 1;

	if (!text)
		return -1;
	for (word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		if (n == WORDS_MAX - 1) {
			fprintf(stderr, "dapple-dapltest: file %s has too many words: no test runs; split "
					"it\n", path);
			return -1;
		}
		words[n++] = word;
	}
	words[n] = NULL;
	return n;
}

static int dispatch(const struct dtt_options *o)
{
	switch (o->kind) {
	case 'S':
		return dtt_server(o);
	case 'L':
		return dtt_limit(o);
	case 'F':
		return dtt_fft(o);
	case 'I':
		return dtt_query(o);
	default:
		return dtt_client(o);
	}
}

int main(int argc, char **argv)
{
	char *words[WORDS_MAX] = { argv[0] };
	struct dtt_options o;
	int r;

	if (argc == 3 && strcmp(argv[1], "-f") == 0) {
		argc = from_file(argv[2], words);
		argv = words;
		if (argc < 0)
			return 1;
	}
	r = dtt_options_parse(argc, argv, &o);
	if (r != 0)
		return r > 0 ? 0 : 1;
	if (dispatch(&o) == 0)
		return 0;
	dtl_complain("dapple-dapltest: the run failed: its exit status is 1; see above, and dapple why");
	return 1;
}

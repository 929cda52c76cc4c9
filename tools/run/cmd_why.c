/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "device/why.h"

/* dapple why: the last failures of this user's processes, newest last. */

static void print_line(const char *line, void *arg)
{
	/* Names of programs come from the programs: control characters are not printed. */
	for (; *line && *line != '\n'; line++)
		putchar(((unsigned char)*line < 0x20 && *line != '\t') || *line == 0x7f ? '?' : *line);
	putchar('\n');
}

int run_cmd_why(int argc, char **argv)
{
	struct run_opts o = { .command = "why", .argv = argv, .argc = argc, .index = 1 };
	const char *name;
	long count = 10;
	int n;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "n") != 0)
			return run_usage_error("why", "option \"%s\" is unknown", name);
		if (!run_opts_number(&o, 1, 100000, &count))
			return RUN_EXIT_USAGE;
	}
	if (o.index < argc)
		return run_usage_error("why", "argument \"%s\" is unexpected", argv[o.index]);
	n = dev_why_read((int)count, print_line, NULL);
	if (n < 0) {
		run_say("cannot read the recorded failures (%s): none is shown; see dapple doctor", strerror(-n));
		return 1;
	}
	if (n == 0)
		puts("no failure is recorded");
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A test program as a table of cases: each prints `ok NUMBERS NAME`; the first
 * that fails ends the program. An argument runs only the cases whose name or
 * numbers contain it. */
#ifndef TESTS_SUPPORT_CASES_H
#define TESTS_SUPPORT_CASES_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct test_case {
	const char *nr; /* of the conformance checklist, or "-" */
	const char *name;
	void (*run)(void);
};

static inline int run_cases(const struct test_case *c, size_t n, int argc, char **argv)
{
	size_t ran = 0;

	for (size_t i = 0; i < n; i++) {
		if (argc > 1 && !strstr(c[i].name, argv[1]) && !strstr(c[i].nr, argv[1]))
			continue;
		fprintf(stderr, "# %s %s\n", c[i].nr, c[i].name);
		c[i].run();
		printf("ok %s %s\n", c[i].nr, c[i].name);
		fflush(stdout);
		ran++;
	}
	return ran ? 0 : 1;
}

#define RUN_CASES(table, argc, argv) \
	run_cases(table, sizeof(table) / sizeof((table)[0]), argc, argv)

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dapple explain: the page of a failure, by the name at the end of its sentence or the vendor_err of its completion. */
#include "../run/run.h"
#include "pages.h"

#include "engine/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void list(void)
{
	for (unsigned i = 0; i < explain_n_pages; i++) {
		const char *title = strchr(explain_pages[i].text, ':');

		printf("%-17s%.*s\n", explain_pages[i].name, (int)strcspn(title, "\n") - 2, title + 2);
	}
}

/* vendor_err is the number of the verdict. */
static const char *name_of(const char *word)
{
	char *end;
	unsigned long n = strtoul(word, &end, 0);

	return *end || n == ENG_OK || n >= ENG_V_COUNT ? word : eng_verdicts[n].name;
}

static int print(const char *word)
{
	const char *name = name_of(word);

	for (unsigned i = 0; i < explain_n_pages; i++)
		if (!strcasecmp(explain_pages[i].name, name)) {
			fputs(explain_pages[i].text, stdout);
			return 0;
		}
	return run_usage_error("explain", "no failure is called \"%s\"", word);
}

int run_cmd_explain(int argc, char **argv)
{
	struct run_opts o = { .command = "explain", .argv = argv, .argc = argc, .index = 1 };
	const char *name;
	bool all = false;
	int r = 0;

	while ((name = run_opts_next(&o))) {
		if (strcmp(name, "list") != 0)
			return run_usage_error("explain", "option \"%s\" is unknown", name);
		all = true;
	}
	if (all)
		list();
	else if (o.index == argc)
		return run_usage_error("explain", "the name of a failure is missing");
	for (int i = o.index; i < argc && r == 0; i++)
		r = print(argv[i]);
	return r;
}

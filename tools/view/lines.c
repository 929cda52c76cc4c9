/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lines.h"

#include "../run/ask.h"

#include "observe/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool line_read(char *text, struct line *ret)
{
	char *save = NULL, *word, *value;

	ret->n = 0;
	while (ret->n < LINE_PAIRS && (word = strtok_r(ret->n ? NULL : text, " ", &save))) {
		value = strtok_r(NULL, " ", &save);
		if (!value)
			return false;
		ret->pair[ret->n].word = word;
		ret->pair[ret->n++].value = value;
	}
	return ret->n > 0;
}

const char *line_value(const struct line *l, const char *word)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->pair[i].word, word))
			return l->pair[i].value;
	return NULL;
}

uint64_t line_number(const struct line *l, const char *word)
{
	const char *v = line_value(l, word);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* --- asking --- */

struct asking {
	const char *request;
	void (*each)(char *line, void *arg);
	void *arg;
	char *why;
	int answered;
};

static void take(struct asking *a, char *reply)
{
	char *save = NULL;

	if (!reply)
		return;
	a->answered++;
	for (char *l = strtok_r(reply, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		a->each(l, a->arg);
	free(reply);
}

static void ask_one(const char *path, void *arg)
{
	struct asking *a = arg;

	take(a, ask_path(path, a->request, a->why, 200));
}

int lines_ask(long pid, const char *request, void (*each)(char *line, void *arg), void *arg, char why[200])
{
	struct asking a = { request, each, arg, why, 0 };

	snprintf(why, 200, "there is none");
	if (pid)
		take(&a, ask_pid(pid, request, why, 200));
	else
		obs_place_each("pid-", ask_one, &a);
	return a.answered;
}

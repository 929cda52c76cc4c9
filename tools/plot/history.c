/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects are those that tools/view/table.c writes: values have no quotes and braces in them. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

/* Returns the value behind the name within [at, end), or NULL. */
static const char *value(const char *at, const char *end, const char *name)
{
	char quoted[40];
	const char *p;

	snprintf(quoted, sizeof(quoted), "\"%s\":", name);
	p = strstr(at, quoted);
	return p && p < end ? p + strlen(quoted) : NULL;
}

static double number(const char *at, const char *end, const char *name)
{
	const char *p = value(at, end, name);

	return p ? strtod(p, NULL) : 0;
}

static struct history_qp *qp_of(struct history *h, const char *name)
{
	for (size_t i = 0; i < h->n; i++)
		if (!strcmp(h->v[i].name, name))
			return &h->v[i];
	h->v = realloc(h->v, (h->n + 1) * sizeof(*h->v));
	if (!h->v)
		abort();
	h->v[h->n] = (struct history_qp){ .n = 0 };
	snprintf(h->v[h->n].name, sizeof(h->v[h->n].name), "%s", name);
	return &h->v[h->n++];
}

static void take(struct history *h, const char *at, const char *end)
{
	const char *comm = value(at, end, "comm");
	struct history_qp *q;
	char name[80];

	if (!comm || !value(at, end, "lqpn"))
		return;
	comm += *comm == '"';
	snprintf(name, sizeof(name), "%.*s[%.0f] QP 0x%06x", (int)strcspn(comm, "\"") > 40 ? 40 : (int)strcspn(comm, "\""), comm,
		 number(at, end, "pid"), (unsigned)number(at, end, "lqpn"));
	q = qp_of(h, name);
	q->look = realloc(q->look, (q->n + 1) * sizeof(*q->look));
	q->rate = realloc(q->rate, (q->n + 1) * sizeof(*q->rate));
	if (!q->look || !q->rate)
		abort();
	q->look[q->n] = (double)h->looks;
	q->rate[q->n++] = number(at, end, "sends-per-s") + number(at, end, "receives-per-s");
}

void history_read(struct history *ret, FILE *in)
{
	char *line = NULL;
	size_t room = 0;

	*ret = (struct history){ 0 };
	while (getline(&line, &room, in) > 0) {
		char *at = strstr(line, "\"qps\":["), *stop = strstr(line, "],\"adapters\":");

		for (; at && stop && (at = strchr(at, '{')) && at < stop; at++) {
			const char *end = strchr(at, '}');

			if (!end)
				break;
			take(ret, at, end);
		}
		ret->looks++;
	}
	free(line);
}

void history_free(struct history *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->v[i].look);
		free(h->v[i].rate);
	}
	free(h->v);
	*h = (struct history){ 0 };
}

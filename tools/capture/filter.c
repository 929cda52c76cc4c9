/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "filter.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TERMS 32
#define VALUES 16

enum name { OUT, IN, OP, WAY, QP, PEER, ADAPTER, PROGRAM, PID, NAMES };

static const struct {
	const char *word;
	bool value;
} names[NAMES] = {
	[OUT] = { "out", false }, [IN] = { "in", false }, [OP] = { "op", true }, [WAY] = { "way", true },
	[QP] = { "qp", true }, [PEER] = { "peer", true }, [ADAPTER] = { "adapter", true },
	[PROGRAM] = { "program", true }, [PID] = { "pid", true },
};

static const char *const ways[OBS_WAYS] = { "wire", "ring", "direct", "stores", "pipe" };

struct value {
	uint64_t number;
	uint8_t addr[16];
	char text[OBS_WAYS * 10];
};

struct term {
	enum name name;
	bool turned;
	int n;
	struct value v[VALUES];
};

struct filter {
	int n;
	struct term t[TERMS];
};

static bool read_number(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 0);
	return end != text && !*end;
}

static bool read_word(const char *text, const char *const *words, int n, uint64_t *ret)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(words[i], text)) {
			*ret = (uint64_t)i;
			return true;
		}
	return false;
}

static bool read_address(const char *text, uint8_t ret[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	memcpy(ret, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, ret + 12) == 1 || inet_pton(AF_INET6, text, ret) == 1;
}

static bool read_value(enum name name, const char *text, struct value *ret)
{
	if ((size_t)snprintf(ret->text, sizeof(ret->text), "%s", text) >= sizeof(ret->text))
		return false;
	switch (name) {
	case OP: return read_word(text, live_group_names, LIVE_GROUPS, &ret->number);
	case WAY: return read_word(text, ways, OBS_WAYS, &ret->number);
	case QP:
	case PID: return read_number(text, &ret->number);
	case PEER: return read_address(text, ret->addr);
	default: return *text;
	}
}

static bool read_term(char *word, struct term *ret)
{
	char *eq, *save, *v;
	int k = 0;

	ret->turned = *word == '!';
	word += ret->turned;
	eq = strchr(word, '=');
	if (eq)
		*eq = 0;
	while (k < NAMES && strcmp(names[k].word, word))
		k++;
	if (k == NAMES || names[k].value != !!eq)
		return false;
	ret->name = (enum name)k;
	for (v = eq ? strtok_r(eq + 1, "|", &save) : NULL; v; v = strtok_r(NULL, "|", &save))
		if (ret->n == VALUES || !read_value(ret->name, v, &ret->v[ret->n++]))
			return false;
	return !eq || ret->n;
}

struct filter *filter_read(const char *text, char *why, size_t size)
{
	struct filter *f = calloc(1, sizeof(*f));
	char *copy = strdup(text), *save = NULL, *word, name[80];

	if (!f || !copy)
		abort();
	for (word = strtok_r(copy, " ,", &save); word; word = strtok_r(NULL, " ,", &save)) {
		snprintf(name, sizeof(name), "%s", word);
		if (f->n < TERMS && read_term(word, &f->t[f->n++]))
			continue;
		snprintf(why, size, "%s", name);
		free(copy);
		free(f);
		return NULL;
	}
	free(copy);
	return f;
}

void filter_free(struct filter *f)
{
	free(f);
}

static bool one(const struct term *t, const struct value *v, const struct filter_packet *p)
{
	switch (t->name) {
	case OP: return v->number == (uint64_t)p->group;
	case WAY: return v->number == p->record->way;
	case QP: return v->number == p->qpns[0] || v->number == p->qpns[1];
	case PEER: return !memcmp(v->addr, p->record->flow.src, 16) || !memcmp(v->addr, p->record->flow.dst, 16);
	case ADAPTER: return strstr(p->adapter, v->text);
	case PROGRAM: return !strcmp(p->program, v->text);
	case PID: return v->number == p->pid;
	default: return false;
	}
}

static bool holds(const struct term *t, const struct filter_packet *p)
{
	if (t->name == OUT || t->name == IN)
		return p->out == (t->name == OUT);
	for (int i = 0; i < t->n; i++)
		if (one(t, &t->v[i], p))
			return true;
	return false;
}

bool filter_keeps(const struct filter *f, const struct filter_packet *p)
{
	for (int i = 0; f && i < f->n; i++)
		if (holds(&f->t[i], p) == f->t[i].turned)
			return false;
	return true;
}

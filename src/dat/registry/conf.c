/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/conf.h"

#include <dat2/udat.h>

#include <string.h>

struct cursor {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

static bool at_line_end(const struct cursor *c)
{
	return c->at == c->end || *c->at == '\n';
}

static void skip_line(struct cursor *c)
{
	while (!at_line_end(c))
		c->at++;
	if (c->at < c->end)
		c->at++;
}

/* Returns true if the line has no more fields. */
static bool at_record_end(struct cursor *c)
{
	skip_blanks(c);
	return at_line_end(c) || *c->at == '#';
}

static const char *put(char *field, size_t *n, char c)
{
	if (*n == DREG_CONF_FIELD_MAX - 1)
		return "a field is too long";
	if (c == '\0')
		return "a field has a NUL byte";
	field[(*n)++] = c;
	field[*n] = '\0';
	return NULL;
}

/* Called with the cursor behind the opening quote. Returns NULL or an error. */
static const char *take_quoted(struct cursor *c, char *field)
{
	const char *why = NULL;
	size_t n = 0;

	while (!why && !at_line_end(c) && *c->at != '"') {
		if (*c->at == '\\' && c->end - c->at > 1 && c->at[1] != '\n')
			c->at++;
		why = put(field, &n, *c->at++);
	}
	if (why)
		return why;
	if (at_line_end(c))
		return "a quoted field does not end on its line";
	c->at++;
	return NULL;
}

/* Returns NULL or an error. */
static const char *take_field(struct cursor *c, char *field)
{
	const char *why = NULL;
	size_t n = 0;

	field[0] = '\0';
	if (*c->at == '"') {
		c->at++;
		return take_quoted(c, field);
	}
	while (!why && !at_line_end(c) && !is_blank(*c->at))
		why = put(field, &n, *c->at++);
	return why;
}

/* Reads a number up to 65535. Returns its end, or NULL if there is none. */
static const char *take_number(const char *s, uint32_t *ret)
{
	uint32_t v = 0;

	if (*s < '0' || *s > '9')
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++) {
		v = v * 10 + (uint32_t)(*s - '0');
		if (v > UINT16_MAX)
			return NULL;
	}
	*ret = v;
	return s;
}

static const char *read_api(struct dreg_conf_line *l)
{
	const char *s = l->field[DREG_CONF_API];

	l->kernel = *s == 'k';
	if (*s != 'k' && *s != 'u')
		return "the API version does not start with u or k";
	s = take_number(s + 1, &l->major);
	if (!s || *s != '.')
		return "the API version is not like u2.0";
	s = take_number(s + 1, &l->minor);
	if (!s || *s)
		return "the API version is not like u2.0";
	return NULL;
}

static bool starts_with(const char *s, const char *word)
{
	return strncmp(s, word, strlen(word)) == 0;
}

static const char *read_words(struct dreg_conf_line *l)
{
	const char *threads = l->field[DREG_CONF_THREADS], *def = l->field[DREG_CONF_DEFAULT];

	l->threadsafe = starts_with(threads, "threadsafe");
	if (!l->threadsafe && !starts_with(threads, "nonthreadsafe"))
		return "field 3 is neither threadsafe nor nonthreadsafe";
	l->is_default = starts_with(def, "default");
	if (!l->is_default && !starts_with(def, "nondefault"))
		return "field 4 is neither default nor nondefault";
	return NULL;
}

/* The vendor and two numbers: dapl.2.0. Nothing uses them, but a line without them has its fields
 * in the wrong places. */
static const char *check_version(const char *s)
{
	const char *dot = strchr(s, '.');
	uint32_t ignored;

	if (dot == NULL || dot == s)
		return "the provider version is not like dapl.2.0";
	s = take_number(dot + 1, &ignored);
	s = s && *s == '.' ? take_number(s + 1, &ignored) : NULL;
	return s && !*s ? NULL : "the provider version is not like dapl.2.0";
}

static const char *read_line(struct dreg_conf_line *l)
{
	const char *why;

	if (!l->field[DREG_CONF_NAME][0])
		return "the name is empty";
	if (strlen(l->field[DREG_CONF_NAME]) >= DAT_NAME_MAX_LENGTH)
		return "the name is too long";
	if (!l->field[DREG_CONF_LIBRARY][0])
		return "the library is empty";
	why = read_api(l);
	if (!why)
		why = read_words(l);
	return why ? why : check_version(l->field[DREG_CONF_VERSION]);
}

static const char *take_record(struct cursor *c, struct dreg_conf_line *l)
{
	const char *why;

	for (int i = 0; i < DREG_CONF_FIELDS; i++) {
		if (at_record_end(c))
			return "the line has fewer than eight fields";
		why = take_field(c, l->field[i]);
		if (why)
			return why;
	}
	if (!at_record_end(c))
		return "the line has more than eight fields";
	return read_line(l);
}

void dreg_conf_parse(const char *text, size_t size, const struct dreg_conf_user *user)
{
	struct cursor c = { .at = text, .end = text + size };
	struct dreg_conf_line line;
	const char *why;

	for (line.number = 1; c.at < c.end; line.number++) {
		if (!at_record_end(&c)) {
			why = take_record(&c, &line);
			if (why)
				user->bad(user->ctx, line.number, why);
			else
				user->line(user->ctx, &line);
		}
		skip_line(&c);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* dat.conf as text: the record or error of each kind of line, and arbitrary bytes. */
#include "dat/registry/conf.h"

#include "support/check.h"

#include <sys/mman.h>

struct result {
	char text[4096]; /* of each line: name|library|parameters|platform, or its error */
	unsigned good, bad;
};

static void take_line(void *ctx, const struct dreg_conf_line *l)
{
	struct result *r = ctx;
	size_t n = strlen(r->text);

	r->good++;
	snprintf(r->text + n, sizeof(r->text) - n, "%u:%s%s%s%u.%u|%s|%s|%s|%s;", l->number,
		 l->kernel ? "k" : "", l->is_default ? "" : "n", l->threadsafe ? "t" : "",
		 l->major, l->minor, l->field[DREG_CONF_NAME], l->field[DREG_CONF_LIBRARY],
		 l->field[DREG_CONF_PARAMS], l->field[DREG_CONF_PLATFORM]);
}

static void bad_line(void *ctx, unsigned number, const char *why)
{
	struct result *r = ctx;
	size_t n = strlen(r->text);

	r->bad++;
	snprintf(r->text + n, sizeof(r->text) - n, "%u!%s;", number, why);
}

#define V "\"\" \"\""

static const struct {
	const char *text, *want;
} rows[] = {
	{ "", "" },
	{ "\n\n  \t\n", "" },
	{ "# a u2.0\n  # b\n", "" },
	{ "a u2.0 threadsafe default l dapl.2.0 " V, "1:t2.0|a|l||;" },
	{ "a u2.0 threadsafe default l dapl.2.0 " V "\n", "1:t2.0|a|l||;" },
	{ "\n\n a\tu2.0   nonthreadsafe  default l dapl.2.0 p f # c\n", "3:2.0|a|l|p|f;" },
	{ "a u2.0 threadsafe default l dapl.2.0 " V "\r\nb u1.2 threadsafe default m d.1.2 x y\r\n",
	  "1:t2.0|a|l||;2:t1.2|b|m|x|y;" },
	{ "a k2.0 threadsafe nondefault l dapl.2.0 " V, "1:knt2.0|a|l||;" },
	{ "a u12.34 threadsafe default l dapl.2.0 " V, "1:t12.34|a|l||;" },
	/* Quoting. */
	{ "\"a b\" u2.0 threadsafe default \"l l\" dapl.2.0 \"p \\\"q\\\" \\\\ r\" \"#\"",
	  "1:t2.0|a b|l l|p \"q\" \\ r|#;" },
	{ "a u2.0 threadsafe default l dapl.2.0 \"p \n\" \"\"\nb u2.0 threadsafe default l d.2.0 " V,
	  "1!a quoted field does not end on its line;2!a quoted field does not end on its line;3:t2.0|b|l||;" },
	{ "a u2.0 threadsafe default l dapl.2.0 \"\" \"", "1!a quoted field does not end on its line;" },
	{ "a u2.0 threadsafe default l dapl.2.0 \"\" \"x\\", "1!a quoted field does not end on its line;" },
	{ "a u2.0 threadsafe default l dapl.2.0 \"\" \"x\\\n", "1!a quoted field does not end on its line;" },
	/* A mark inside a field is part of it. */
	{ "a#b u2.0 threadsafe default l#m dapl.2.0 x#y z#", "1:t2.0|a#b|l#m|x#y|z#;" },
	{ "a u2.0 threadsafe # default l dapl.2.0 " V, "1!the line has fewer than eight fields;" },
	/* Fields that are wrong. */
	{ "a", "1!the line has fewer than eight fields;" },
	{ "a u2.0 threadsafe default l dapl.2.0 \"\"", "1!the line has fewer than eight fields;" },
	{ "a u2.0 threadsafe default l dapl.2.0 " V " more", "1!the line has more than eight fields;" },
	{ "\"\" u2.0 threadsafe default l dapl.2.0 " V, "1!the name is empty;" },
	{ "a u2.0 threadsafe default \"\" dapl.2.0 " V, "1!the library is empty;" },
	{ "a x2.0 threadsafe default l dapl.2.0 " V, "1!the API version does not start with u or k;" },
	{ "a u2 threadsafe default l dapl.2.0 " V, "1!the API version is not like u2.0;" },
	{ "a u2. threadsafe default l dapl.2.0 " V, "1!the API version is not like u2.0;" },
	{ "a u.0 threadsafe default l dapl.2.0 " V, "1!the API version is not like u2.0;" },
	{ "a u2.0x threadsafe default l dapl.2.0 " V, "1!the API version is not like u2.0;" },
	{ "a u2.65536 threadsafe default l dapl.2.0 " V, "1!the API version is not like u2.0;" },
	{ "a u2.0 threads default l dapl.2.0 " V, "1!field 3 is neither threadsafe nor nonthreadsafe;" },
	{ "a u2.0 threadsafe def l dapl.2.0 " V, "1!field 4 is neither default nor nondefault;" },
	{ "a u2.0 threadsafe default l dapl " V, "1!the provider version is not like dapl.2.0;" },
	{ "a u2.0 threadsafe default l .2.0 " V, "1!the provider version is not like dapl.2.0;" },
	{ "a u2.0 threadsafe default l dapl.2.x " V, "1!the provider version is not like dapl.2.0;" },
};

/* The text ends where memory ends: a read beyond it crashes. */
static void parse(const char *text, size_t size, struct result *r)
{
	struct dreg_conf_user user = { .line = take_line, .bad = bad_line, .ctx = r };
	static char *end;

	if (!end) {
		end = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(end != MAP_FAILED);
		end += (1 << 16) - 4096;
		CHECK(!mprotect(end, 4096, PROT_NONE));
	}
	memcpy(end - size, text, size);
	*r = (struct result){ .good = 0 };
	dreg_conf_parse(end - size, size, &user);
}

static void table(void)
{
	struct result r;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		parse(rows[i].text, strlen(rows[i].text), &r);
		CHECK_MSG(strcmp(r.text, rows[i].want) == 0, "row %zu: %s\ngives %s\nnot   %s", i,
			  rows[i].text, r.text, rows[i].want);
	}
}

/* Lengths around the limits of a name and of a field. */
static void limits(void)
{
	static char text[4096], name[2048];
	struct result r;

	for (size_t n = 250; n < 260; n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		snprintf(text, sizeof(text), "%s u2.0 threadsafe default l dapl.2.0 " V, name);
		parse(text, strlen(text), &r);
		CHECK(r.good == (n < 256) && r.bad == (n >= 256));
	}
	for (size_t n = DREG_CONF_FIELD_MAX - 3; n < DREG_CONF_FIELD_MAX + 3; n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		snprintf(text, sizeof(text), "a u2.0 threadsafe default l dapl.2.0 \"%s\" \"\"", name);
		parse(text, strlen(text), &r);
		CHECK(r.good == (n < DREG_CONF_FIELD_MAX) && r.bad == (n >= DREG_CONF_FIELD_MAX));
	}
}

/* Arbitrary bytes: every line is legal or illegal, none is counted twice, and a legal line behind
 * them is found. */
static void noise(unsigned seed)
{
	static const char some[] = "au2.0 threadsafe nondefault\"\\#\n\n\t  dapl.1k\r\xff";
	static const char last[] = "\nlast u2.0 threadsafe default l dapl.2.0 \"\" \"\"\n";
	char text[1024];
	struct result r;

	for (int round = 0; round < 20000; round++) {
		size_t n = (size_t)rand_r(&seed) % 600, lines = 2;

		for (size_t i = 0; i < n; i++) {
			text[i] = rand_r(&seed) % 50 ? some[(size_t)rand_r(&seed) % sizeof(some)] :
				  (char)rand_r(&seed);
			lines += text[i] == '\n';
		}
		memcpy(text + n, last, strlen(last));
		parse(text, n + strlen(last), &r);
		CHECK_MSG(r.good >= 1 && r.good + r.bad <= lines && strstr(r.text, "|") != NULL,
			  "round %d", round);
	}
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 20161213;

	printf("seed %u\n", seed);
	table();
	limits();
	noise(seed);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every return value of DAT, as the registry says it: an error has a sentence with the call, cause, names of type and
 * subtype and remedy, an answer has none, and one that repeats is said ever more seldom. The sentence goes to the
 * dpl_say() of this program, in the place of Dapple's.
 */
#include "dat/registry/refuse.h"
#include "support/check.h"

#include <dat2/udat.h>
#include <stdbool.h>

static char last[1024];
static unsigned said, n_errors;
static DAT_RETURN errors[32]; /* types that have a sentence */

void dpl_say(const char *sentence);

__attribute__((visibility("default"))) void dpl_say(const char *sentence)
{
	snprintf(last, sizeof(last), "%s", sentence);
	said++;
	errno = ENOTTY;
}

static const char *const calls[] = { "dat_ep_post_send", "dat_ia_openv", "common" };

/* The greatest number of types and of subtypes that dat_strerror() knows. */
enum { TYPES = 0x4000, SUBTYPES = 0x70, ALWAYS = 8 };

static bool is_answer(DAT_RETURN type)
{
	return type == DAT_QUEUE_EMPTY || type == DAT_TIMEOUT_EXPIRED || type == DAT_INTERRUPTED_CALL;
}

/* Until the row of the type is said again: it may have been said often. */
static void say(const char *call, DAT_RETURN rc)
{
	unsigned before = said;

	for (unsigned n = 0; n < 1u << 16 && said == before; n++) {
		errno = EDOM;
		CHECK(dreg_refuse(call, rc) == rc);
		CHECK(errno == EDOM);
	}
	CHECK_MSG(said > before, "%s gives %#x without a sentence", call, rc);
}

static void is_sentence(const char *call, DAT_RETURN rc, const char *major, const char *minor)
{
	const char *name = strncmp(call, "dat_", 4) ? "a DAT call" : call;
	char begin[80], codes[160], end[120];
	const char *at;

	snprintf(begin, sizeof(begin), "%s refused: ", name);
	snprintf(codes, sizeof(codes), "%s%s%s): the call fails with %s; ", major, *minor ? ", " : "", minor, major);
	snprintf(end, sizeof(end), "; dapple explain REFUSED says more");
	CHECK_MSG(!strncmp(last, begin, strlen(begin)), "%#x: %s", rc, last);
	at = strstr(last, codes);
	CHECK_MSG(at, "%#x: %s", rc, last);
	/* a cause before the names, a remedy behind them */
	CHECK_MSG(at > last + strlen(begin) + 10, "%#x: %s", rc, last);
	CHECK_MSG(strlen(last) > strlen(end) && !strcmp(last + strlen(last) - strlen(end), end), "%#x: %s", rc, last);
	CHECK_MSG(strlen(at + strlen(codes)) > strlen(end) + 8, "%#x: %s", rc, last);
}

static unsigned each_type(void)
{
	const char *major, *minor;
	unsigned types = 0;

	for (DAT_RETURN t = 1; t < TYPES; t++) {
		DAT_RETURN rc = DAT_CLASS_ERROR | t << 16;
		unsigned before = said;

		major = minor = NULL;
		if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS)
			continue;
		types++;
		if (is_answer(t << 16)) {
			for (int i = 0; i < 20; i++)
				CHECK(dreg_refuse(calls[0], rc) == rc);
			CHECK(said == before);
			continue;
		}
		errors[n_errors++] = t << 16;
		for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
			say(calls[c], rc);
			is_sentence(calls[c], rc, major, minor);
		}
	}
	return types;
}

static unsigned each_subtype(void)
{
	const char *major, *minor;
	unsigned subtypes = 0;

	/* with one type after the other, whose rows are said ever more seldom */
	for (DAT_RETURN s = 1; s < SUBTYPES; s++) {
		DAT_RETURN type = errors[s % n_errors], rc = DAT_ERROR(type, s);

		if (dat_strerror(rc, &major, &minor) != DAT_SUCCESS)
			continue;
		subtypes++;
		say(calls[0], rc);
		is_sentence(calls[0], rc, major, minor);
	}
	return subtypes;
}

/* Of a hundred times of a row that was not said before: eight, then 16, 32 and 64. */
static void seldom(void)
{
	unsigned before = said;

	for (int i = 0; i < 100; i++)
		CHECK(dreg_result(calls[0], DAT_ERROR(DAT_RESERVED_LMR, DAT_NO_SUBTYPE)) != DAT_SUCCESS);
	CHECK_MSG(said - before == ALWAYS + 3, "%u", said - before);
	CHECK(dreg_result(calls[0], DAT_SUCCESS) == DAT_SUCCESS);
	CHECK(said - before == ALWAYS + 3);
}

int main(void)
{
	unsigned types, subtypes;

	seldom();
	types = each_type();
	subtypes = each_subtype();
	/* as many as registry_strerror.c counts, without those of no error */
	CHECK_MSG(types == 25 && subtypes == 103, "%u types, %u subtypes", types, subtypes);
	printf("%u types, %u subtypes, %u sentences\n", types, subtypes, said);
	return 0;
}

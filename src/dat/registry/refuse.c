/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/refuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 540
#define ALWAYS 8

static const struct {
	DAT_RETURN type;
	const char *object, *cause, *remedy;
} rows[DREG_REFUSALS_N] = {
#define R(name, rc, what, why, help) [DREG_R_##name] = { .type = rc, .object = what, .cause = why, .remedy = help },
	DREG_REFUSALS(R)
#undef R
};

static atomic_uint times[DREG_REFUSALS_N];

static bool is_answer(DAT_RETURN type)
{
	return type == DAT_QUEUE_EMPTY || type == DAT_TIMEOUT_EXPIRED || type == DAT_INTERRUPTED_CALL;
}

static unsigned row_of(DAT_RETURN type)
{
	for (unsigned i = 0; i < DREG_REFUSALS_N; i++)
		if (rows[i].type == type)
			return i;
	return DREG_R_OTHER;
}

static bool is_due(unsigned row)
{
	unsigned n = atomic_fetch_add_explicit(&times[row], 1, memory_order_relaxed) + 1;

	return n <= ALWAYS || !(n & (n - 1));
}

/* Dapple's library has come with the provider, or is not there: this one links nothing of Dapple. */
static void keep(const char *text)
{
	void (*say)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "dpl_say");

	if (say)
		say(text);
}

DAT_RETURN dreg_refuse(const char *call, DAT_RETURN rc)
{
	DAT_RETURN type = DAT_GET_TYPE(rc);
	const char *major = "?", *minor = "";
	char text[TEXT_MAX];
	int saved = errno;
	unsigned row;

	if (is_answer(type))
		return rc;
	row = row_of(type);
	if (is_due(row)) {
		dat_strerror(rc, &major, &minor);
		snprintf(text, sizeof(text), "%s refused: %s (%s%s%s): the call fails with %s; %s; dapple explain REFUSED says more",
			 strncmp(call, "dat_", 4) ? rows[row].object : call, rows[row].cause, major, *minor ? ", " : "", minor,
			 major, rows[row].remedy);
		keep(text);
	}
	errno = saved;
	return rc;
}

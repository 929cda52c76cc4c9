/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/rdmacm/refuse.h"

#include "device/why.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct ut_refusal rows[RCM_REFUSALS_N] = {
#define R(name, ...) UT_REFUSAL(RCM_R_##name, __VA_ARGS__)
	RCM_REFUSALS(R)
#undef R
};

static atomic_uint times[RCM_REFUSALS_N];

static bool is_answer(int err)
{
	switch (err) {
	case EAGAIN:       /* no event is there */
	case EINTR:        /* a signal */
	case ECONNREFUSED: /* ends of a connection: cm_why() */
	case ECONNRESET:
	case ENOTCONN:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH: return true;
	default: return false;
	}
}

static const struct ut_refusal *find(const char *call, int err)
{
	for (int i = 0; i < RCM_R_ANY_INVAL; i++)
		if (rows[i].err == err && !strcmp(rows[i].object, call))
			return &rows[i];
	for (int i = RCM_R_ANY_INVAL; i < RCM_R_ANY_OTHER; i++)
		if (rows[i].err == err)
			return &rows[i];
	return &rows[RCM_R_ANY_OTHER];
}

/* A function that stands for a newer call has a prefix (newer.h). */
static const char *public_name(const char *call)
{
	static const char newer[] = "newer_";

	return strncmp(call, newer, sizeof(newer) - 1) ? call : call + sizeof(newer) - 1;
}

const struct ut_refusal *rcm_refusal(const char *call, int err)
{
	return is_answer(err) ? NULL : find(public_name(call), err);
}

/* The errno of this call, where a row stands for several. */
static void say(const char *call, const struct ut_refusal *row, int err)
{
	struct ut_refusal r = *row;
	char text[UT_REFUSAL_MAX];

	r.err = err;
	r.errname = strerrorname_np(err);
	if (!r.errname)
		r.errname = row->errname;
	if (ut_refusal_text(&r, &times[row - rows], public_name(call), text))
		dev_why_keep(UT_SAY_FAILURE, text);
}

int rcm_refused(const char *call, int rc)
{
	const struct ut_refusal *row = rcm_refusal(call, -rc);

	if (row)
		say(call, row, -rc);
	errno = -rc;
	return -1;
}

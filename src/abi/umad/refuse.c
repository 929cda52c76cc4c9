/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/umad/refuse.h"

#include "device/why.h"
#include "util/refuse.h"

static const struct ut_refusal rows[UMAD_REFUSALS_N] = {
#define R(name, ...) UT_REFUSAL(UMAD_R_##name, __VA_ARGS__)
	UMAD_REFUSALS(R)
#undef R
};

static atomic_uint times[UMAD_REFUSALS_N];

int umad_refuse(enum umad_refusal why)
{
	char text[UT_REFUSAL_MAX];

	if (ut_refusal_text(&rows[why], &times[why], "libibumad", text))
		dev_why_keep(UT_SAY_FAILURE, text);
	return -rows[why].err;
}

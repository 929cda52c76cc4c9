/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/refuse.h"

#include "engine/dev.h"
#include "engine/qp.h"
#include "util/log.h"
#include "util/refuse.h"

#include <inttypes.h>
#include <stdio.h>

#define WHERE 128

static const struct ut_refusal rows[ENG_REFUSALS_N] = {
#define R(name, ...) UT_REFUSAL(ENG_R_##name, __VA_ARGS__)
	ENG_REFUSALS(R)
#undef R
};

static atomic_uint times[ENG_REFUSALS_N];

static int refuse(struct eng_dev *dev, enum eng_refusal why, const char *where)
{
	char text[UT_REFUSAL_MAX];

	if (ut_refusal_text(&rows[why], &times[why], where, text)) {
		ut_debug("%s: %s", dev->name, text);
		dev->ops->why(dev, UT_SAY_FAILURE, text);
	}
	return -rows[why].err;
}

int eng_refuse(struct eng_dev *dev, enum eng_refusal why)
{
	return why == ENG_ACCEPTED ? 0 : refuse(dev, why, dev->name);
}

int eng_refuse_qp(const struct eng_qp *qp, enum eng_refusal why)
{
	char where[WHERE];

	if (why == ENG_ACCEPTED)
		return 0;
	snprintf(where, sizeof(where), "QP 0x%06x of %s", qp->qpn, qp->dev->name);
	return refuse(qp->dev, why, where);
}

int eng_refuse_over(struct eng_dev *dev, enum eng_refusal why, uint64_t asked, uint64_t limit)
{
	char where[WHERE];

	snprintf(where, sizeof(where), "%s: %" PRIu64 " asked, at most %" PRIu64, dev->name, asked, limit);
	return refuse(dev, why, where);
}

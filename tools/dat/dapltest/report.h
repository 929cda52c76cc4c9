/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_REPORT_H
#define DTT_REPORT_H

#include "perf.h"

/* Reports for people and scripts; the lines of the old tool where it has them. */
void dtt_report_transactions(const struct dtt_plan *plan, const struct dtt_count *count,
			     uint64_t ns);
void dtt_report_perf(const struct dtt_plan *plan, const struct dtt_perf *perf);

#endif

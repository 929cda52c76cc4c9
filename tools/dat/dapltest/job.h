/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_JOB_H
#define DTT_JOB_H

#include "perf.h"
#include "transact.h"

/* One test at one end, T or P: its lanes, and running them. */
struct dtt_job {
	const struct dtt_plan *plan;
	struct dtt_crews crews;		/* T */
	struct dtt_lane lane;		/* P */
	struct dtt_lane **lanes;	/* all of them, for those who connect */
	uint32_t n;
	struct dtt_perf perf;		/* of P at the client */
	uint64_t ns;
};

int dtt_job_make(struct dtt_job *j, struct dtl_ia *ia, const struct dtt_plan *plan,
		 enum dtt_side side, DAT_QOS qos);
/* Over connected lanes. At the server of P it only swaps the memory. */
int dtt_job_run(struct dtt_job *j);
/*
 * The server of P looks at what was written, once the client says that it has done: on the lane
 * itself. A Write that is complete at its source may be on its way still where the transport is a
 * stream (RFC 5040, section 5.5), and another connection may overtake it; a Send behind it may not.
 */
int dtt_job_look(struct dtt_job *j);
void dtt_job_report(const struct dtt_job *j);
int dtt_job_drop(struct dtt_job *j);

#endif

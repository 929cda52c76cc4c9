/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_JOB_H
#define DTT_JOB_H

#include "perf.h"
#include "transact.h"

/* One test at one end, T or P: its lanes, and their run. */
struct dtt_job {
	const struct dtt_plan *plan;
	struct dtt_crews crews;		/* T */
	struct dtt_lane lane;		/* P */
	struct dtt_lane **lanes;	/* all of them, to be connected */
	uint32_t n;
	struct dtt_perf perf;		/* of P at the client */
	uint64_t ns;
};

int dtt_job_make(struct dtt_job *j, struct dtl_ia *ia, const struct dtt_plan *plan,
		 enum dtt_side side, DAT_QOS qos);
/* Runs over connected lanes. The server of P only exchanges advertisements of memory. */
int dtt_job_run(struct dtt_job *j);
/*
 * The server of P checks the written bytes after the client's Send on the lane itself. A Write that
 * has completed at its source may still be under way over a stream (RFC 5040, section 5.5), and
 * another connection may overtake it; a Send behind it may not.
 */
int dtt_job_look(struct dtt_job *j);
void dtt_job_report(const struct dtt_job *j);
int dtt_job_drop(struct dtt_job *j);

#endif

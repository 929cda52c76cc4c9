/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "job.h"

#include <stdlib.h>

#include "report.h"

int dtt_job_make(struct dtt_job *j, struct dtl_ia *ia, const struct dtt_plan *plan,
		 enum dtt_side side, DAT_QOS qos)
{
	uint32_t i;
	int r;

	*j = (struct dtt_job){ .plan = plan, .n = plan->kind == 'P' ? 1 : plan->threads * plan->ends };
	j->lanes = calloc(j->n, sizeof(*j->lanes));
	if (!j->lanes)
		return -1;
	if (plan->kind == 'P')
		r = dtt_lane_make(&j->lane, ia, plan, side, DAT_HANDLE_NULL, qos);
	else
		r = dtt_crews_make(&j->crews, ia, plan, side, qos);
	if (r != 0) {
		free(j->lanes);
		j->lanes = NULL;
		return -1;
	}
	for (i = 0; i < j->n; i++)
		j->lanes[i] = plan->kind == 'P' ? &j->lane : dtt_crews_lane(&j->crews, i);
	if (plan->kind == 'P')
		dtt_perf_fill(&j->lane);
	return 0;
}

int dtt_job_run(struct dtt_job *j)
{
	uint64_t start = dtl_now_ns();
	int r;

	if (j->plan->kind == 'T')
		r = dtt_crews_run(&j->crews);
	else	/* version 6 does it as it connects */
		r = j->plan->six ? 0 : dtt_lane_exchange(&j->lane);
	if (r == 0 && j->plan->kind == 'P' && j->lane.side == DTT_CLIENT) {
		r = dtt_perf_run(&j->lane, &j->perf);
		if (r == 0 && !j->plan->six)
			r = dtt_perf_look(&j->lane);
		if (r == 0)
			r = dtt_lane_part(&j->lane);
	}
	j->ns = dtl_now_ns() - start;
	return r;
}

int dtt_job_look(struct dtt_job *j)
{
	if (j->plan->kind != 'P')
		return 0;
	if (j->plan->six)	/* no end says what its memory has */
		return dtt_lane_reap_last(&j->lane);
	return dtt_lane_learn(&j->lane) != 0 ? -1 : dtt_perf_look(&j->lane);
}

void dtt_job_report(const struct dtt_job *j)
{
	struct dtt_count count;

	if (j->plan->kind == 'P') {
		dtt_report_perf(j->plan, &j->perf);
		return;
	}
	count = dtt_crews_count(&j->crews);
	dtt_report_transactions(j->plan, &count, j->ns);
}

int dtt_job_drop(struct dtt_job *j)
{
	int r = 0;

	if (!j->lanes)
		return 0;
	free(j->lanes);
	j->lanes = NULL;
	dtt_perf_drop(&j->perf);
	if (j->plan->kind == 'P')
		r = dtt_lane_drop(&j->lane);
	else
		r = dtt_crews_drop(&j->crews);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_TRANSACT_H
#define DTT_TRANSACT_H

#include "lane.h"

/*
 * The transaction test, the same code at both ends: all crews (threads) with their lanes.
 * Between make and run the caller connects the lanes.
 */
struct dtt_crew;

struct dtt_crews {
	const struct dtt_plan *plan;
	uint32_t n;
	struct dtt_crew *crew;
};

int dtt_crews_make(struct dtt_crews *c, struct dtl_ia *ia, const struct dtt_plan *plan,
		   enum dtt_side side, DAT_QOS qos);
/* By index among threads x endpoints. */
struct dtt_lane *dtt_crews_lane(struct dtt_crews *c, uint32_t nr);
/* Runs every thread to its end. */
int dtt_crews_run(struct dtt_crews *c);
struct dtt_count dtt_crews_count(const struct dtt_crews *c);
int dtt_crews_drop(struct dtt_crews *c);

#endif

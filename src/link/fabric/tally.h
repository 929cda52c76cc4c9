/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The adapter's side of struct pkt_tally: counts of packets that messages through shared memory stand for. The owner's progress
 * lock guards it; the fabric process reads the segment at any time.
 */
#ifndef LINK_FABRIC_TALLY_H
#define LINK_FABRIC_TALLY_H

#include "link/fabric/packets.h"
#include "util/flow.h"

#include <stdint.h>

#define FABRIC_TALLY_LISTS 64u /* a power of two */

struct fabric_tally {
	struct pkt_tally *seg;         /* NULL: nothing is counted */
	uint16_t lists[FABRIC_TALLY_LISTS], next[PKT_FLOWS]; /* numbers of flows + 1 */
};

/* Makes the segment. Returns its descriptor, to be passed and closed, or -errno: nothing is counted. */
int fabric_tally_make(struct fabric_tally *t);
void fabric_tally_free(struct fabric_tally *t);
/* Returns the count of a flow, which stays until fabric_tally_free(). NULL: nothing is counted, or there are PKT_FLOWS others. */
struct link_count *fabric_tally_of(struct fabric_tally *t, const struct ut_flow *f);
void fabric_tally_add(struct fabric_tally *t, const struct ut_flow *f, uint32_t packets, uint64_t words);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that a call fills, between the program and the record. */
#ifndef REPLAY_EXCHANGE_H
#define REPLAY_EXCHANGE_H

#include "describe.h"

#define RP_BATCH 64 /* messages of recvmmsg() and sendmmsg() */

/* Capacities that the kernel writes lengths over. */
struct rp_before {
	socklen_t addr_room, name_rooms[RP_BATCH];
};

void rp_look_before(struct rp_before *b, const struct rp_desc *d, int nr, const long args[6]);

/* Records what came in by the call of result r, or gives it to the program; what goes out is compared in a replay. */
void rp_exchange(const struct rp_desc *d, const struct rp_before *b, int nr, const long args[6], long r);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_LANE_H
#define DTT_LANE_H

/*
 * A lane is one data connection with the memory of its operations. Both ends lay the memory out
 * alike, so that one context and one address describe the memory of the other end:
 *
 *   0      advertisement of this end's memory       64 bytes (version 6: more, see six.h)
 *   64     advertisement of the peer's memory       64 bytes
 *          messages of version 6 that say "go"      none, or 64 bytes
 *   128    operation 0, operation 1, ...            each on a multiple of 64
 *
 * A Send/Receive has three parts: the bytes to send, and two places to receive into, for this iteration
 * and the next one, whose receives are posted early.
 */

#include "plan.h"

struct six_pair;

struct dtt_count {
	uint64_t wqes, sent, received, read, written;	/* the last four in bytes */
};

struct dtt_lane {
	const struct dtt_plan *plan;
	enum dtt_side side;
	struct dtl_end end;
	struct dtl_mem mem;
	uint64_t at[DTT_OPS_MAX];	/* offset of each operation's memory */
	DAT_RMR_CONTEXT peer_context;
	uint64_t peer_base;
	struct six_pair *peer;		/* version 6 has these instead, one for each operation */
	uint64_t posted, reaped;	/* requests; they are their own cookies */
	uint64_t recv_posted, recv_reaped;
	struct dtt_count count;
};

int dtt_lane_make(struct dtt_lane *l, struct dtl_ia *ia, const struct dtt_plan *plan,
		  enum dtt_side side, DAT_CNO_HANDLE cno, DAT_QOS qos);
int dtt_lane_drop(struct dtt_lane *l);

/* Advertises this end's memory behind all earlier requests, and receives the peer's advertisement.
 * make posted the receives: one, for P a second (version 6: one at either end). */
int dtt_lane_advertise(struct dtt_lane *l);
int dtt_lane_learn(struct dtt_lane *l);
/* The same at the end of P, to a server that leaves then if it is of version 6. */
int dtt_lane_part(struct dtt_lane *l);
/* Advertises, and receives the peer's advertisement. */
int dtt_lane_exchange(struct dtt_lane *l);

/* Version 6: the messages that say "go" and "done". make posted the receive of the first. */
int dtt_lane_post_sync(struct dtt_lane *l);
int dtt_lane_send_sync(struct dtt_lane *l);
int dtt_lane_reap_sync(struct dtt_lane *l);
/* The last message of P, which comes when the client has finished. */
int dtt_lane_reap_last(struct dtt_lane *l);

char *dtt_lane_send_part(struct dtt_lane *l, uint32_t op);
char *dtt_lane_recv_part(struct dtt_lane *l, uint32_t op, uint64_t iteration);
/* Posts receives for all operations in which the peer sends, in their order. */
int dtt_lane_post_recvs(struct dtt_lane *l, uint64_t iteration);
/* Posts the operation as its initiator. */
int dtt_lane_post(struct dtt_lane *l, uint32_t op);
int dtt_lane_reap_requests(struct dtt_lane *l);
/* Version 6: the last one of all, upon which the peer may leave. */
int dtt_lane_reap_parting(struct dtt_lane *l);
int dtt_lane_reap_recv(struct dtt_lane *l, uint64_t expected);

#endif

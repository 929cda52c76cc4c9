/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requester of RC, XRC and UC, which sends. It moves a cursor (work request, packet inside it) through
 * the send queue and makes packets as window, read depth, fences, credits and the framing allow.
 * What it gets back is taken in proto/ib/responses.h; window, timer and the way back after a loss are in
 * proto/ib/retry.h.
 *
 * A READ is asked for in pieces (ibp_req_piece()), so that the answer is bounded by the
 * requester's window like all other packets; on the wire these are READ requests for adjoining
 * ranges, and a retry starts inside the same pieces.
 */
#ifndef PROTO_IB_REQUESTER_H
#define PROTO_IB_REQUESTER_H

#include "proto/ib/port.h"

/* Starts from the attributes of the queue pair, which enters RTS or RESET. */
void ibp_req_reset(struct ibp_qp *q);

/* Sends at most `budget` packets. */
void ibp_req_run(struct ibp_qp *q, uint32_t budget);
/* The packet with this PSN, in a train, could not be read from memory. */
void ibp_req_fault(struct ibp_qp *q, uint32_t psn);
/* A request of one packet gets its PSN, asks for an acknowledgement, and the cursor moves behind
 * it. */
static inline void ibp_req_number(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;

	q->send.begun = false;
	w->first_psn = w->last_psn = r->psn_next;
	w->ssn = ++r->ssn;
	w->started = 1;
	r->since_ack = 0;
	if (w->opcode != IBV_WR_RDMA_WRITE)
		r->peer_psn = r->psn_next;
	r->psn_send = r->psn_next = psn_add(r->psn_next, 1);
	q->send.cur++;
}

/* Returns true if one more READ or atomic may be in flight. */
static inline bool ibp_req_depth_free(const struct ibp_qp *q)
{
	uint32_t depth = q->qp->attr.max_rd_atomic;

	return q->conn.req.rd_count < (depth < IBP_RD_ATOMIC ? depth : IBP_RD_ATOMIC);
}

/* A READ or atomic has left whose last PSN is this. */
static inline void ibp_req_depth_use(struct ibp_req *r, uint32_t psn)
{
	r->rd_last[(r->rd_head + r->rd_count++) % IBP_RD_ATOMIC] = psn;
}

/* Those before psn_una are answered. */
static inline void ibp_req_depth_settle(struct ibp_req *r)
{
	while (r->rd_count && psn_diff(r->psn_una, r->rd_last[r->rd_head]) > 0) {
		r->rd_head = (r->rd_head + 1) % IBP_RD_ATOMIC;
		r->rd_count--;
	}
}

static inline bool ibp_req_outstanding(const struct ibp_qp *q)
{
	return q->conn.req.psn_una != q->conn.req.psn_next;
}

#endif

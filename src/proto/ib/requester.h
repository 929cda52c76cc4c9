/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The requester of RC, XRC and UC. It moves a cursor (work request, packet inside it) through the
 * send queue and makes packets as window, read depth, fences, credits and the framing allow;
 * matches answers with the outstanding requests (IBTA 9.7.5.1, 9.7.6), where psn_una is the oldest
 * PSN without an answer; and completes work requests in posting order. Going back after a loss is
 * nothing but moving the cursor.
 *
 * A READ is asked for in pieces of IBP_READ_CHUNK packets, so that the answer is bounded by the
 * requester's window like all other packets; on the wire these are READ requests for adjoining
 * ranges, and a retry starts inside the same pieces.
 *
 * The window grows by one packet per round trip (doubling until the first loss) and halves on a
 * loss, bounded by the bytes that the peer's socket can hold. It is no fairness scheme: it only
 * keeps go-back-N from causing further losses.
 */
#ifndef PROTO_IB_REQUESTER_H
#define PROTO_IB_REQUESTER_H

#include "proto/ib/port.h"

#define IBP_READ_CHUNK 16u /* packets asked for by one READ request */

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

/* Takes a response: acknowledgement, NAK, data. */
void ibp_req_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* Takes an acknowledgement that came with a request (IBP_HEADER_ACKS). */
void ibp_req_acked(struct ibp_qp *q, uint32_t psn, uint32_t msn);

/* Completes requests that are done, in posting order, and raises the event of a queue that has drained. */
void ibp_req_complete(struct ibp_qp *q);
/* The oldest request ends with an error, and the queue pair with it. */
void ibp_req_fail_head(struct ibp_qp *q, enum eng_verdict v);
static inline bool ibp_req_outstanding(const struct ibp_qp *q)
{
	return q->conn.req.psn_una != q->conn.req.psn_next;
}

/* Adjusts the window: so many packets have been acknowledged; one was lost, or the network is
 * congested. */
void ibp_req_grow(struct ibp_qp *q, uint32_t packets);
/* The whole window, where nothing is lost. */
void ibp_req_open(struct ibp_qp *q);
void ibp_req_slow_down(struct ibp_qp *q);
/* Sets the timer so many ns ahead; 0: no timer. */
void ibp_req_arm(struct ibp_qp *q, uint64_t delay);
void ibp_req_timer(struct ibp_qp *q);
/* IBTA table 45: RNR timer code -> ns. */
uint64_t ibp_rnr_ns(uint8_t code);
/* IBTA 9.7.6.1.3: 4.096 us * 2^code; 0 = never. */
static inline uint64_t ibp_timeout_ns(uint8_t code)
{
	return code ? 4096ull << code : 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a requester keeps to what the network carries, and repeats what it has lost (IBTA 9.7.5.1.4, 9.7.6.1.3): the window,
 * the timer of acknowledgements and of RNR NAKs, and the way back, which is nothing but a move of the cursor.
 *
 * The window grows by one packet per round trip (doubling until the first loss) and halves on a
 * loss, bounded by the bytes that the peer's socket can hold. It is no fairness scheme: it only
 * keeps go-back-N from causing further losses.
 */
#ifndef PROTO_IB_RETRY_H
#define PROTO_IB_RETRY_H

#include "proto/ib/port.h"

/* --- the window --- */

/* A connection begins, over the wire. */
void ibp_req_begin(struct ibp_qp *q);
/* The whole window, where nothing is lost. */
void ibp_req_open(struct ibp_qp *q);
/* So many packets have been acknowledged. */
void ibp_req_grow(struct ibp_qp *q, uint32_t packets);
/* One was lost, or the network is congested. */
void ibp_req_slow_down(struct ibp_qp *q);
/*
 * Returns how many packets each piece of a READ that begins now is asked for with: as many as leave the responder in full
 * trains. An answer's first and last packet have an AETH and so another length than those between: a train has the last one
 * of a piece, the first one of the next and one more, and those behind it are full. At most half of the window, so that a
 * piece is on its way while another one comes, and 256 KiB, so that a loss does not repeat more than that.
 */
uint16_t ibp_req_piece(const struct ibp_qp *q);

/* --- the way back --- */

/* Returns the request with this PSN that has begun, and its index; or NULL, and the index of the first that has not. */
struct eng_swqe *ibp_req_find(struct ibp_qp *q, uint32_t psn, uint32_t *index);
/* Moves the cursor to psn_una. */
void ibp_req_seek(struct ibp_qp *q);
/* Moves the cursor to psn_una in order to repeat what follows. */
void ibp_req_go_back(struct ibp_qp *q);

/* --- the timer --- */

/* Sets the timer so many ns ahead; 0: no timer. */
void ibp_req_arm(struct ibp_qp *q, uint64_t delay);
/* psn_una has moved: retries count from none again. */
void ibp_req_progressed(struct ibp_qp *q);
void ibp_req_timer(struct ibp_qp *q);
/* IBTA table 45: RNR timer code -> ns. */
uint64_t ibp_rnr_ns(uint8_t code);
/* IBTA 9.7.6.1.3: 4.096 us * 2^code; 0 = never. */
static inline uint64_t ibp_timeout_ns(uint8_t code)
{
	return code ? 4096ull << code : 0;
}

#endif

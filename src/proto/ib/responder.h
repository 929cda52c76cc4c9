/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The responder of RC and XRC: PSN rules (IBTA 9.7.4), the execution of requests, and answers in
 * request order. An answer does not leave where its request is executed; it is recorded, and
 * answers leave in order: READ and atomic answers first (they acknowledge as they go), then a NAK
 * if one is owed, then the plain acknowledgement, which covers all before it and so is sent once
 * for many requests. UC executes by the same functions (uc.c).
 *
 * Each READ or atomic takes one of max_dest_rd_atomic entries, oldest first. An entry outlives its
 * answer, so that a repeated READ is read again and a repeated atomic is answered from memory,
 * never executed again (9.7.5.1.5).
 */
#ifndef PROTO_IB_RESPONDER_H
#define PROTO_IB_RESPONDER_H

#include "engine/complete.h"
#include "proto/ib/port.h"

/* Besides ENG_OK and verdicts. */
#define IBP_RNR (-1)  /* there is no receive */
#define IBP_AGAIN (-2) /* a sequence NAK, by a rule of faults: the requester sends the packet again */
#define IBP_DEFERRED (-3) /* xrc/forward.h, these three */
#define IBP_AWAY (-4)
#define IBP_HERE (-5)

/* Starts from the attributes of the queue pair, which enters RTR or RESET. */
void ibp_resp_reset(struct ibp_qp *q);

/* A request. */
void ibp_resp_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* Executes the next request in order. Returns ENG_OK, a verdict, IBP_RNR, IBP_AGAIN, IBP_DEFERRED or IBP_AWAY. */
int ibp_resp_execute(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* Executes the next request in order, an atomic; `stage` tells which pages are present, and has 8 unused bytes at
 * `scratch`. Returns a verdict, or ENG_OK with its entry, whose answer is pending, in *ret. */
int ibp_resp_atomic(struct ibp_qp *q, const struct wire_ib_packet *p, struct ut_stage *stage, size_t scratch,
		    struct ibp_rdres **ret);
/* Owes a NAK, after which the queue pair fails. */
void ibp_resp_fatal(struct ibp_qp *q, enum eng_verdict v, uint32_t psn);
/* The READ response with this PSN, in a train, could not be read from memory. */
void ibp_resp_fault(struct ibp_qp *q, uint32_t psn);

/* Takes a receive for the message in work, unless it has one. Returns ENG_OK or IBP_RNR. */
int ibp_resp_take(struct ibp_qp *q);
/* Returns the completion queue of the taken receive, or NULL: an XRC queue may have been destroyed,
 * with its completion queue, during the message. */
struct eng_cq *ibp_recv_cq(const struct ibp_qp *q);
/* Completes the taken receive with q->recv.offset bytes; flags: enum ibv_wc_flags. Its completion queue may
 * overrun, which stops the queue pair. */
static inline void ibp_recv_done(struct ibp_qp *q, uint8_t opcode, unsigned flags, uint32_t imm,
				 bool solicited)
{
	q->recv.have_rwqe = false;
	eng_recv_end(q->qp, q->recv.cq, q->recv.rwqe->wr_id, (uint32_t)q->recv.offset, opcode, flags, imm, solicited);
}

/* Lists bytes [skip, skip + len) of the taken receive. Returns the number of pieces, or a negative
 * verdict. */
int ibp_recv_pieces(const struct ibp_qp *q, uint64_t skip, uint32_t len, struct iovec *iov, int max);
/* Places the payload of the packet there, by its framing (`off`: ibp_framing.place). Returns
 * ENG_OK or a verdict. */
int ibp_recv_place(struct ibp_qp *q, const struct ibp_framing *f, size_t off, uint32_t len, uint64_t skip,
		   bool last);

/* What the end-to-end credit codes of an acknowledgement are worth, in messages (IBTA 9.7.7.2.2). */
extern const uint16_t ibp_credits[31];

/* The next request was dropped: a sequence NAK asks for it. */
void ibp_resp_missed(struct ibp_qp *q);
/* Sends an answer without payload. Returns false if there is no room. */
bool ibp_resp_send(struct ibp_qp *q, const struct wire_ib_packet *p);
/* Sends at most `budget` answers that are due, other than acknowledgements. */
void ibp_resp_run(struct ibp_qp *q, uint32_t budget);
/* Returns true if answers to Reads and atomics are due. */
bool ibp_resp_has_answers(const struct ibp_qp *q);
/* Returns true if answers other than acknowledgements are due. */
static inline bool ibp_resp_has_work(const struct ibp_qp *q)
{
	const struct ibp_resp *r = &q->conn.resp;

	return r->nak || r->rnr_due || r->seq_due || (r->res_used && ibp_resp_has_answers(q));
}

/* Sends the acknowledgement that is due, if answers before it have left. */
void ibp_resp_ack(struct ibp_qp *q);
/* The same for a connection without anything unusual, in front of a request that follows at once (frame_wire.h). Returns
 * false if the full rules are to send it. */
bool ibp_resp_ack_ahead(struct ibp_qp *q);
/* Owes an acknowledgement, which leaves at the end of the round, or with a request. */
static inline void ibp_resp_owe(struct ibp_qp *q)
{
	q->conn.resp.ack_due = true;
	if (ut_list_empty(&q->conn.acks))
		ut_list_add_tail(&q->port->acks, &q->conn.acks);
}

static inline bool ibp_resp_may_ack(const struct ibp_qp *q)
{
	return !ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD) && !ibp_resp_has_work(q);
}

/*
 * Returns true if an acknowledgement is due that can go along in the header of a Send through the
 * shm channel, which names no memory of the peer and so has room: ibp_header.va is then
 * ibp_resp_acks(), with IBP_HEADER_ACKS.
 */
static inline bool ibp_resp_may_ack_along(const struct ibp_qp *q)
{
	const struct ibp_resp *r = &q->conn.resp;

	return r->ack_due && q->cls == WIRE_CLASS_RC && r->framing == &ibp_frame_shm && ibp_resp_may_ack(q);
}

static inline uint64_t ibp_resp_acks(const struct ibp_resp *r)
{
	return psn_add(r->epsn, IBP_PSN_MASK) | (uint64_t)r->msn << 32;
}

/* To be called when the acknowledgement has gone along. */
static inline void ibp_resp_acked(struct ibp_qp *q)
{
	q->conn.resp.ack_due = false;
	ut_list_del(&q->conn.acks);
}

/*
 * The acknowledgement that is due leaves before a request of its queue pair, as adapters acknowledge
 * when a message arrives: a program may count on its Send being complete when the answer to it is
 * there. Returns false if it is due and cannot leave now, so that the request cannot leave either.
 * Making room for it may find a fault in an earlier packet of the queue pair, which moves the cursor.
 */
static inline bool ibp_resp_ack_first(struct ibp_qp *q)
{
	if (!q->conn.resp.ack_due)
		return true;
	ibp_resp_ack(q);
	return !q->conn.resp.ack_due || !ibp_resp_may_ack(q);
}

/*
 * The same for a request of an XRC initiator: the answer to a message leaves from another queue pair than the
 * one that has received it. To be called for each packet: the program may post the answer at any time,
 * also while the initiator has its turn. Returns false if an acknowledgement is due that cannot leave now.
 */
bool ibp_resp_ack_targets(struct ibp_port *port);

/* The next request, of one packet, has been executed; ask: the requester asks for an acknowledgement. */
static inline void ibp_resp_executed(struct ibp_qp *q, bool ask)
{
	q->conn.resp.epsn = psn_add(q->conn.resp.epsn, 1);
	q->conn.resp.msn = psn_add(q->conn.resp.msn, 1);
	if (ask)
		ibp_resp_owe(q);
}

#endif

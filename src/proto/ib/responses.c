/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/responses.h"

#include "engine/complete.h"
#include "engine/qp_state.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "proto/ib/qp.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/retry.h"

#include <string.h>

/* --- the end of a request --- */

void ibp_req_fail_head(struct ibp_qp *q, enum eng_verdict v)
{
	const struct ibp_framing *f = q->conn.req.framing;
	struct eng_why why = { 0 };
	struct eng_swqe *w;
	bool datagram = q->qp->type == IBV_QPT_UC || q->qp->type == IBV_QPT_UD;

	/* Packets of the request leave before its buffer is given back; that flush may find a fault
	 * of its own and end the queue pair. */
	if (f->holds(q->port, q)) {
		enum ibv_qp_state before = eng_qp_state(q->qp);

		f->flush(q->port);
		if (eng_qp_state(q->qp) != before)
			return;
	}
	w = eng_ring_head(&q->qp->sq);
	if (w) {
		why = (struct eng_why){
			.key = w->rkey, .addr = w->remote_addr, .length = w->length,
			.doing = "a send request",
		};
		eng_send_done(q->qp, v);
	}
	/* An unreliable queue pair stops sending only; receiving goes on (10.3.1.7). */
	ibp_send_error(q, v, datagram ? IBV_QPS_SQE : IBV_QPS_ERR, &why);
}
static bool finished(const struct ibp_qp *q, const struct eng_swqe *w)
{
	switch (w->opcode) {
	case IBV_WR_LOCAL_INV:
	case IBV_WR_BIND_MW:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return w->done;
	default:
		return q->cls == WIRE_CLASS_UC || q->cls == WIRE_CLASS_UD
			       ? w->done
			       : w->started && psn_diff(q->conn.req.psn_una, w->last_psn) > 0;
	}
}

/* An unreliable request completes when the link has its packets, not before. */
static bool on_the_way(const struct ibp_qp *q)
{
	return (q->cls == WIRE_CLASS_UC || q->cls == WIRE_CLASS_UD) &&
	       q->conn.req.framing->holds(q->port, q);
}

void ibp_req_complete(struct ibp_qp *q)
{
	struct eng_ring *sq = &q->qp->sq;
	struct eng_swqe *w;

	if (on_the_way(q))
		return;
	/* The completion may overrun its queue, which stops the queue pair. */
	while (sq->head != sq->tail && eng_qp_state(q->qp) != IBV_QPS_ERR) {
		w = eng_ring_head(sq);
		if (w->verdict && ibp_req_is(&q->conn.req, IBP_REQ_HALTED)) {
			ibp_req_fail_head(q, (enum eng_verdict)w->verdict);
			return;
		}
		if (!finished(q, w))
			break;
		eng_send_done(q->qp, ENG_OK);
	}
	if (q->qp->sq_draining) {
		w = eng_ring_head(sq);
		if (!w || (!w->started && !q->send.begun))
			eng_qp_drained(q->qp);
	}
}

/* --- acknowledgements --- */

static bool needs_data(const struct eng_swqe *w)
{
	return (w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
		w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) && !w->done;
}

static void take_credits(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_req *r = &q->conn.req;
	uint8_t code = p->syndrome & WIRE_SYN_VALUE;
	uint32_t lsn;

	if (code == WIRE_SYN_ACK) {
		ibp_req_put(r, IBP_REQ_LIMITED, false);
		return;
	}
	lsn = psn_add(p->msn, ibp_credits[code]);
	if (!ibp_req_is(r, IBP_REQ_LIMITED) || psn_diff(lsn, r->lsn) > 0)
		r->lsn = lsn;
	ibp_req_put(r, IBP_REQ_LIMITED, true);
}

/* Completes up to `end`, whose requests were all answered. Returns false if a READ or atomic in the
 * range still lacks its data: psn_una stays there. */
static bool acknowledge(struct ibp_qp *q, uint32_t end)
{
	struct ibp_req *r = &q->conn.req;
	struct eng_ring *sq = &q->qp->sq;
	uint32_t before = r->psn_una, i;
	struct eng_swqe *w = ibp_req_find(q, r->psn_una, &i);
	bool whole = true;

	for (; w && psn_diff(end, r->psn_una) > 0; w = eng_ring_at(sq, ++i)) {
		uint32_t stop = psn_add(w->last_psn, 1);

		if (w->opcode == IBV_WR_LOCAL_INV || w->opcode == IBV_WR_BIND_MW)
			continue;
		if (needs_data(w)) {
			whole = false;
			break;
		}
		r->psn_una = psn_diff(stop, end) < 0 ? stop : end;
	}
	if (r->psn_una != before) {
		/* An answer to packets that were sent before the cursor went back may be ahead of
		 * the cursor. */
		if (psn_diff(r->psn_una, r->psn_send) > 0)
			ibp_req_seek(q);
		ibp_req_grow(q, (uint32_t)psn_diff(r->psn_una, before));
		ibp_req_progressed(q);
	}
	ibp_req_complete(q);
	return whole;
}

/* A later answer shows that a READ response or atomic answer was lost. */
static void implied_nak(struct ibp_qp *q)
{
	if (ibp_req_is(&q->conn.req, IBP_REQ_RECOVERING))
		return;
	ibp_count(q->port, ENG_C_implied_nak_seq_err);
	ibp_req_slow_down(q);
	ibp_req_go_back(q);
}

static void rnr_nak(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_req *r = &q->conn.req;

	if (ibp_req_is(r, IBP_REQ_RNR_WAIT))
		return;
	ibp_count(q->port, ENG_C_rnr_nak_retry_err);
	if (!acknowledge(q, p->psn)) {
		implied_nak(q);
		return;
	}
	if (eng_qp_state(q->qp) == IBV_QPS_ERR)
		return;
	/* It proves that the peer lives: the retry counter counts silence. */
	r->retry_left = q->qp->attr.retry_cnt;
	if (q->qp->attr.rnr_retry != 7) {
		if (r->rnr_left == 0) {
			ibp_req_fail_head(q, ENG_V_RNR_EXC);
			return;
		}
		r->rnr_left--;
	}
	ibp_req_put(r, IBP_REQ_RNR_WAIT, true);
	ibp_req_arm(q, ibp_rnr_ns(p->syndrome));
}

static void sequence_nak(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	uint32_t before = q->conn.req.psn_una;
	bool whole;

	ibp_count(q->port, ENG_C_packet_seq_err);
	whole = acknowledge(q, p->psn);
	if (ibp_req_is(&q->conn.req, IBP_REQ_RNR_WAIT) || eng_qp_state(q->qp) == IBV_QPS_ERR)
		return;
	q->conn.req.retry_left = q->qp->attr.retry_cnt;
	if (ibp_req_is(&q->conn.req, IBP_REQ_RECOVERING) && q->conn.req.psn_una == before)
		return;
	if (!whole)
		ibp_count(q->port, ENG_C_implied_nak_seq_err);
	ibp_req_slow_down(q);
	ibp_req_go_back(q);
}

static void fatal_nak(struct ibp_qp *q, const struct wire_ib_packet *p, enum eng_verdict v)
{
	ibp_count(q->port, ENG_C_nak_received);
	acknowledge(q, p->psn);
	if (eng_qp_state(q->qp) != IBV_QPS_ERR)
		ibp_req_fail_head(q, v);
}

static void nak(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	switch (p->syndrome & WIRE_SYN_VALUE) {
	case 0:
		sequence_nak(q, p);
		break;
	case 1:
		fatal_nak(q, p, ENG_V_REM_INV_REQ);
		break;
	case 2:
		fatal_nak(q, p, ENG_V_REM_ACCESS);
		break;
	case 3:
		fatal_nak(q, p, ENG_V_REM_OP);
		break;
	default: /* reserved: ignored */
		break;
	}
}

static void ack(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	switch (p->syndrome >> 5) {
	case 0:
		take_credits(q, p);
		if (!acknowledge(q, psn_add(p->psn, 1)))
			implied_nak(q);
		ibp_activate(q);
		break;
	case 1:
		rnr_nak(q, p);
		break;
	case 3:
		nak(q, p);
		break;
	default:
		break;
	}
}

/* The oldest data that is missing has come, at `off` of the train's stage (scratch) or as the
 * payload of a packet. */
static void take_data(struct ibp_qp *q, struct eng_swqe *w, bool scratch, size_t off,
		      uint32_t len, uint64_t skip, bool last)
{
	struct iovec iov[40];
	uint32_t psn = q->conn.req.psn_una;
	int n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, skip, len, true, iov, 36);

	if (n >= 0 && (scratch ? ibp_scatter(&q->port->train.stage, off, iov, n, len, last)
			       : q->conn.req.framing->place(q, false, off, iov, n, len, last)) < 0)
		n = -ENG_V_LOC_FAULT;
	if (n < 0) {
		ibp_req_fail_head(q, (enum eng_verdict)-n);
		return;
	}
	w->done = last;
	q->conn.req.psn_una = psn_add(psn, 1);
	if (psn_diff(q->conn.req.psn_una, q->conn.req.psn_send) > 0)
		ibp_req_seek(q);
	ibp_req_grow(q, 1);
	ibp_req_progressed(q);
	ibp_req_complete(q);
}

static void read_response(struct ibp_qp *q, struct eng_swqe *w, const struct wire_ib_packet *p,
			  const struct link_rx *rx)
{
	uint32_t number = (uint32_t)psn_diff(p->psn, w->first_psn);
	uint64_t skip = (uint64_t)number * q->conn.req.mtu;
	bool last = p->psn == w->last_psn;
	uint32_t want = last ? (uint32_t)(w->length - skip) : q->conn.req.mtu;

	if (p->payload_len != want) {
		ibp_req_fail_head(q, ENG_V_BAD_RESP);
		return;
	}
	take_data(q, w, false, rx->off + (size_t)(p->payload - rx->data), want,
		  skip, last);
}

/* The result is big-endian on the wire and in host order in memory. */
static void atomic_response(struct ibp_qp *q, struct eng_swqe *w, const struct wire_ib_packet *p)
{
	uint64_t orig = p->orig;
	uint8_t *at;
	size_t off = ibp_scratch(q->port, &at);

	memcpy(at, &orig, sizeof(orig));
	take_data(q, w, true, off, sizeof(orig), 0, true);
}

static void data(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	bool read = p->shape->flags & WIRE_F_READ;
	uint32_t index;
	struct eng_swqe *w;

	if ((p->shape->hdrs & WIRE_H_AETH) && p->syndrome >> 5) {
		ack(q, p);
		return;
	}
	if (!acknowledge(q, p->psn) || eng_qp_state(q->qp) == IBV_QPS_ERR) {
		implied_nak(q);
		return;
	}
	w = ibp_req_find(q, p->psn, &index);
	if (!w || psn_diff(p->psn, w->first_psn) < 0 || !needs_data(w) ||
	    read != (w->opcode == IBV_WR_RDMA_READ)) {
		ibp_req_fail_head(q, ENG_V_BAD_RESP);
		return;
	}
	if (p->psn != q->conn.req.psn_una) {
		implied_nak(q);
		return;
	}
	if (read)
		read_response(q, w, p, rx);
	else
		atomic_response(q, w, p);
}

void ibp_req_acked(struct ibp_qp *q, uint32_t psn, uint32_t msn)
{
	const struct wire_ib_packet p = { .psn = psn, .msn = msn, .syndrome = WIRE_SYN_ACK };
	struct ibp_req *r = &q->conn.req;

	if (psn_diff(psn, r->psn_next) < 0 && psn_diff(psn, r->psn_una) >= 0)
		ack(q, &p);
}

void ibp_req_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_req *r = &q->conn.req;
	bool is_ack = p->shape->hdrs == WIRE_H_AETH && !(p->shape->flags & WIRE_F_PAYLOAD);

	if (psn_diff(p->psn, r->psn_next) >= 0)
		return;
	if (psn_diff(p->psn, r->psn_una) < 0) {
		/* An acknowledgement that is repeated for its credits alone. */
		if (is_ack && p->psn == psn_add(r->psn_una, IBP_PSN_MASK) && p->syndrome >> 5 == 0) {
			take_credits(q, p);
			ibp_activate(q);
		}
		return;
	}
	if (is_ack)
		ack(q, p);
	else
		data(q, p, rx);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Responder: answers in request order. READ and atomic answers first (they
 * acknowledge as they go), then a NAK if one is owed, then the plain
 * acknowledgement, which covers all before it and so is sent once for many.
 */
#include "proto/ib/port.h"

#include "proto/ib/fast.h"

bool ibp_resp_has_work(const struct ibp_qp *q)
{
	const struct ibp_resp *r = &q->conn.resp;
	uint32_t depth = r->res_used ? q->qp->attr.max_dest_rd_atomic : 0;

	for (uint32_t i = 0; i < depth && i < IBP_RD_ATOMIC; i++)
		if (r->res[i].pending)
			return true;
	return r->nak || r->rnr_due || r->seq_due;
}

static struct wire_ib_packet answer(const struct ibp_qp *q, uint8_t low, uint32_t psn)
{
	return (struct wire_ib_packet){
		.opcode = q->cls | low, .psn = psn, .pkey = q->conn.pkey, .migreq = true,
		.dest_qpn = q->qp->attr.dest_qp_num,
	};
}

/* An answer without payload. False: the socket is full. */
static bool put(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	int max;

	if (!ibp_train_begin(q->port, q->qp, &q->conn.path, true,
			     ibp_packet_size(wire_ib_shape(p->opcode), 0), &max))
		return false;
	ibp_train_end(q->port, p, 0, false);
	return true;
}

static bool put_aeth(struct ibp_qp *q, uint8_t syndrome, uint32_t psn)
{
	struct wire_ib_packet p = answer(q, WIRE_MSG_ACKNOWLEDGE, psn);

	p.syndrome = syndrome;
	p.msn = q->conn.resp.msn;
	return put(q, &p);
}

static bool send_atomic(struct ibp_qp *q, struct ibp_rdres *e)
{
	struct wire_ib_packet p = answer(q, WIRE_MSG_ATOMIC_ACKNOWLEDGE, e->first_psn);

	p.syndrome = WIRE_SYN_ACK;
	p.msn = e->msn;
	p.orig = e->orig;
	if (!put(q, &p))
		return false;
	e->pending = false;
	return true;
}

static uint8_t read_opcode(const struct ibp_rdres *e)
{
	bool first = e->tx_psn == e->tx_start, last = e->tx_psn == e->tx_end;

	if (first)
		return last ? WIRE_MSG_RDMA_READ_RESPONSE_ONLY : WIRE_MSG_RDMA_READ_RESPONSE_FIRST;
	return last ? WIRE_MSG_RDMA_READ_RESPONSE_LAST : WIRE_MSG_RDMA_READ_RESPONSE_MIDDLE;
}

/* The key may have gone since the request came; a repeated READ is then
 * silently given up, a first one answered with a NAK in its place. */
static void refuse_read(struct ibp_qp *q, struct ibp_rdres *e, enum eng_verdict v)
{
	struct ibp_resp *r = &q->conn.resp;

	e->pending = false;
	if (e->replay)
		return;
	for (uint32_t i = 0; i < IBP_RD_ATOMIC; i++)
		r->res[i].pending = false;
	r->nak = v;
	r->nak_psn = e->tx_psn;
	ibp_resp_put(r, IBP_RESP_DEAD, true);
}

static bool send_read_packet(struct ibp_qp *q, struct ibp_rdres *e)
{
	struct wire_ib_packet p = answer(q, read_opcode(e), e->tx_psn);
	uint64_t skip = (uint64_t)psn_diff(e->tx_psn, e->first_psn) * q->conn.resp.mtu, off;
	uint64_t left = e->tx_bytes - skip;
	struct eng_mkey *mk;
	struct iovec *iov;
	int max, n = 0, v;

	p.payload_len = left < q->conn.resp.mtu ? (uint32_t)left : q->conn.resp.mtu;
	p.pad = -p.payload_len & 3;
	p.syndrome = WIRE_SYN_ACK;
	p.msn = e->msn;
	p.rkey = e->rkey;
	q->conn.resp.plain = e->plain;
	iov = ibp_train_begin(q->port, q->qp, &q->conn.path, true,
			      ibp_packet_size(wire_ib_shape(p.opcode), p.payload_len), &max);
	if (!iov)
		return false;
	if (!e->pending || e->tx_psn != p.psn)
		return true; /* what left before it met a fault */
	if (p.payload_len) {
		v = eng_mkey_remote(q->port->dev, e->pd, q->qp, e->rkey, e->va + skip,
				    p.payload_len, IBV_ACCESS_REMOTE_READ, &mk, &off);
		n = v ? 0 : eng_mkey_iov(mk, off, p.payload_len, iov, max);
		if (v || n < 0) {
			refuse_read(q, e, v ? (enum eng_verdict)v : ENG_V_RX_BOUNDS);
			return true;
		}
	}
	if (ibp_train_end(q->port, &p, n, n > 0) < 0) {
		refuse_read(q, e, ENG_V_RX_FAULT);
		return true;
	}
	if (e->tx_psn == e->tx_end)
		e->pending = e->replay = false;
	e->tx_psn = psn_add(e->tx_psn, 1);
	return true;
}

void ibp_resp_fault(struct ibp_qp *q, uint32_t psn)
{
	for (uint32_t i = 0; i < IBP_RD_ATOMIC; i++) {
		struct ibp_rdres *e = &q->conn.resp.res[i];

		if (e->used && !e->atomic && psn_diff(psn, e->first_psn) >= 0 &&
		    psn_diff(psn, e->last_psn) <= 0) {
			e->tx_psn = psn;
			refuse_read(q, e, ENG_V_RX_FAULT);
			ibp_activate(q);
			return;
		}
	}
}

/* Oldest first: the ring's next victim is its oldest entry. */
static struct ibp_rdres *oldest_pending(struct ibp_qp *q)
{
	uint32_t depth = q->conn.resp.res_used ? q->qp->attr.max_dest_rd_atomic : 0;

	if (depth > IBP_RD_ATOMIC)
		depth = IBP_RD_ATOMIC;
	for (uint32_t i = 0; i < depth; i++) {
		struct ibp_rdres *e = &q->conn.resp.res[(q->conn.resp.res_next + i) % depth];

		if (e->pending)
			return e;
	}
	return NULL;
}

/* The NAK leaves before the state changes, or the peer would see a timeout. */
static bool put_fatal(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	uint8_t syndrome;

	/* Alone: a fault in what leaves before it would take it along, and may
	 * be the earlier thing to tell. */
	ibp_train_flush(q->port);
	syndrome = eng_verdicts[r->nak].nak;
	if (!put_aeth(q, syndrome ? syndrome : 0x63, r->nak_psn))
		return false;
	ibp_count(q->port, ENG_C_nak_sent);
	r->nak_put = true;
	ibp_train_flush(q->port);
	return true;
}

static bool send_fatal(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	struct eng_why why = { .key = q->recv.rkey, .addr = q->recv.va + q->recv.offset, .doing = "a request" };
	enum eng_verdict v;

	if (!r->nak_put && !put_fatal(q))
		return false;
	if (q->port->train.waiting && ibp_train_has(q->port, q))
		return false;
	v = r->nak;
	r->nak = ENG_OK;
	ibp_qp_error(q, v, IBV_QPS_ERR, !q->recv.have_rwqe, &why);
	return true;
}

static bool send_naks(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	uint8_t rnr = WIRE_SYN_RNR | (q->qp->attr.min_rnr_timer & WIRE_SYN_VALUE);

	if (r->nak)
		return send_fatal(q);
	if (r->rnr_due) {
		if (!put_aeth(q, rnr, r->epsn))
			return false;
		ibp_count(q->port, ENG_C_rnr_nak_sent);
	} else if (r->seq_due) {
		q->port->shm.say_plain = r->plain_due;
		if (!put_aeth(q, WIRE_SYN_SEQUENCE, r->epsn))
			return false;
	}
	/* Either says that all before it has been executed. */
	if (r->rnr_due || r->seq_due)
		r->ack_due = false;
	r->rnr_due = r->seq_due = r->plain_due = false;
	return true;
}

void ibp_resp_run(struct ibp_qp *q, uint32_t budget)
{
	uint32_t before = q->port->sent;
	struct ibp_rdres *e;

	while ((e = oldest_pending(q))) {
		if (q->port->sent - before >= budget ||
		    !(e->atomic ? send_atomic(q, e) : send_read_packet(q, e))) {
			ibp_activate(q);
			return;
		}
	}
	if (!send_naks(q))
		ibp_activate(q);
}

bool ibp_resp_may_ack(const struct ibp_qp *q)
{
	return !ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD) && !ibp_resp_has_work(q);
}

void ibp_resp_acked(struct ibp_qp *q)
{
	q->conn.resp.ack_due = false;
	ut_list_del(&q->conn.acks);
}

void ibp_resp_owe(struct ibp_qp *q)
{
	q->conn.resp.ack_due = true;
	if (ut_list_empty(&q->conn.acks))
		ut_list_add_tail(&q->port->acks, &q->conn.acks);
}

void ibp_resp_ack(struct ibp_qp *q)
{
	uint32_t out = q->forward ? q->forward->out : 0;

	if (q->conn.resp.ack_due && ibp_resp_may_ack(q)) {
		uint32_t psn = psn_add(q->conn.resp.epsn, IBP_PSN_MASK - out);

		if (!ibp_fast_ack(q, psn) && !put_aeth(q, WIRE_SYN_ACK, psn)) {
			if (eng_qp_state(q->qp) != IBV_QPS_ERR)
				ibp_resp_owe(q);
			return;
		}
		q->conn.resp.ack_due = false;
	}
	ut_list_del(&q->conn.acks);
}

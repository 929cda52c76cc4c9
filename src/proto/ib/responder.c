/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/responder.h"

#include "engine/complete.h"
#include "engine/mw.h"
#include "engine/qp_state.h"
#include "engine/why.h"
#include "proto/ib/direct.h"
#include "proto/ib/faults.h"
#include "proto/ib/qp.h"
#include "proto/ib/xrc/home.h"

#include <stdlib.h>
#include <string.h>

void ibp_resp_reset(struct ibp_qp *q)
{
	q->recv = (struct ibp_recv){ .rwqe = q->recv.rwqe, .pd = q->qp->pd, .cq = q->qp->recv_cq };
	q->conn.resp = (struct ibp_resp){
		.framing = &ibp_frame_wire, .slow = IBP_RESP_UNCHOSEN | ibp_resp_lasting(q),
		.epsn = q->qp->attr.rq_psn & IBP_PSN_MASK, .mtu = q->conn.mtu,
	};
	ibp_slow_state(q, q->qp);
}

void ibp_resp_fatal(struct ibp_qp *q, enum eng_verdict v, uint32_t psn)
{
	struct ibp_resp *r = &q->conn.resp;

	r->nak = v;
	r->nak_psn = psn;
	ibp_resp_put(r, IBP_RESP_DEAD, true);
	r->ack_due = false;
	ibp_activate(q);
}

/* --- Sends and Writes --- */

static enum eng_verdict check_sequence(const struct ibp_recv *m, uint16_t f)
{
	enum ibp_message kind = f & WIRE_F_WRITE ? IBP_WRITE : IBP_SEND;

	if (f & (WIRE_F_MIDDLE | WIRE_F_LAST))
		return m->message == kind ? ENG_OK : ENG_V_RX_SEQUENCE;
	return m->message == IBP_NONE ? ENG_OK : ENG_V_RX_SEQUENCE;
}

static enum eng_verdict check_length(const struct ibp_qp *q, const struct wire_ib_packet *p)
{
	uint16_t f = p->shape->flags;
	uint32_t n = p->payload_len;
	bool good;

	if (!(f & WIRE_F_PAYLOAD))
		good = n == 0;
	else if (f & (WIRE_F_FIRST | WIRE_F_MIDDLE))
		good = n == q->conn.resp.mtu;
	else if (f & WIRE_F_LAST)
		good = n >= 1 && n <= q->conn.resp.mtu;
	else
		good = n <= q->conn.resp.mtu;
	return good && p->pad == (-n & 3) ? ENG_OK : ENG_V_RX_LENGTH;
}

/* XRC names the receive queue, and with it the protection domain, per message. */
static enum eng_verdict choose_srq(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct eng_srq *srq;

	if (q->qp->type != IBV_QPT_XRC_RECV)
		return ENG_OK;
	srq = eng_srq_find(q->port->dev, p->srqn);
	if (!srq || !(q->proxy ? ibp_home_domain(q->proxy, srq->xrcd)
				 : srq->xrcd == q->qp->xrcd))
		return ENG_V_RX_SRQN;
	if (!(p->shape->flags & WIRE_F_START) && (srq != q->recv.srq || p->srqn != q->recv.srqn))
		return ENG_V_RX_SRQN;
	q->recv.srqn = p->srqn;
	q->recv.srq = srq;
	q->recv.pd = srq->pd;
	q->recv.cq = srq->cq;
	return ENG_OK;
}

struct eng_cq *ibp_recv_cq(const struct ibp_qp *q)
{
	const struct eng_srq *srq;

	if (q->qp->type != IBV_QPT_XRC_RECV)
		return q->qp->recv_cq;
	srq = eng_srq_find(q->port->dev, q->recv.srqn);
	return srq && srq == q->recv.srq ? srq->cq : NULL;
}

int ibp_resp_take(struct ibp_qp *q)
{
	if (!q->recv.have_rwqe)
		q->recv.have_rwqe = q->recv.srq ? eng_srq_take(q->recv.srq, q->recv.rwqe)
				      : eng_recv_take(q->qp, q->recv.rwqe);
	return q->recv.have_rwqe ? ENG_OK : IBP_RNR;
}

/* Receive buffers are checked against the SRQ's domain when there is one. */
static struct eng_pd *recv_pd(const struct ibp_qp *q)
{
	if (q->recv.srq)
		return q->recv.srq->pd;
	return q->qp->srq ? q->qp->srq->pd : q->qp->pd;
}

int ibp_recv_pieces(const struct ibp_qp *q, uint64_t skip, uint32_t len, struct iovec *iov, int max)
{
	struct eng_rwqe *w = q->recv.rwqe;

	return eng_sge_iov(recv_pd(q), w->sge, (int)w->num_sge, skip, len, true, iov, max);
}

int ibp_recv_place(struct ibp_qp *q, const struct ibp_framing *f, size_t off, uint32_t len, uint64_t skip,
		   bool last)
{
	struct iovec iov[40];
	int n;

	if (!len)
		return ENG_OK;
	n = ibp_recv_pieces(q, skip, len, iov, 36);
	if (n < 0)
		return -n;
	return f->place(q, true, off, iov, n, len, last) < 0 ? ENG_V_LOC_FAULT : ENG_OK;
}

static void receive_done(struct ibp_qp *q, const struct wire_ib_packet *p, uint8_t opcode)
{
	if (p->shape->flags & WIRE_F_IMM)
		ibp_recv_done(q, opcode, IBV_WC_WITH_IMM, p->imm, p->se);
	else if (p->shape->flags & WIRE_F_INV)
		ibp_recv_done(q, opcode, IBV_WC_WITH_INV, p->inv_rkey, p->se);
	else
		ibp_recv_done(q, opcode, 0, 0, p->se);
}

static size_t payload_off(const struct wire_ib_packet *p, const struct link_rx *rx)
{
	return rx->off + (size_t)(p->payload - rx->data);
}

static int do_send(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	uint16_t f = p->shape->flags;
	int v;

	if (f & WIRE_F_START) {
		v = ibp_resp_take(q);
		if (v != ENG_OK)
			return v;
		q->recv.offset = 0;
		ibp_recv_message(q, IBP_SEND);
	}
	if (q->recv.offset + p->payload_len > q->recv.rwqe->length)
		return ENG_V_RX_TOO_LONG;
	v = ibp_recv_place(q, q->port->arrived, payload_off(p, rx), p->payload_len,
			   q->recv.offset, f & WIRE_F_END);
	if (v != ENG_OK)
		return v;
	q->recv.offset += p->payload_len;
	if (!(f & WIRE_F_END))
		return ENG_OK;
	ibp_recv_message(q, IBP_NONE);
	if (f & WIRE_F_INV) {
		ibp_place_settle(q->port); /* the queue pair executes nothing after it */
		if (eng_qp_state(q->qp) == IBV_QPS_ERR)
			return ENG_V_LOC_FAULT; /* a READ's data: the receive is flushed */
		/* Whatever was wrong with the key, the requester is told that it was the key. */
		if (eng_mkey_invalidate(q->qp, p->inv_rkey) != ENG_OK)
			return ENG_V_RX_INVALIDATE;
	}
	receive_done(q, p, IBV_WC_RECV);
	return ENG_OK;
}

static enum eng_verdict begin_write(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct eng_mkey *mk;
	uint64_t off;
	enum eng_verdict v = ENG_OK;

	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		return ENG_V_RX_DISABLED;
	if (p->dma_len)
		v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, p->rkey, p->va, p->dma_len,
				    IBV_ACCESS_REMOTE_WRITE, &mk, &off);
	if (p->dma_len && v == ENG_OK)
		ibp_export(q, mk, p->rkey);
	q->recv.va = p->va;
	q->recv.rkey = p->rkey;
	q->recv.length = p->dma_len;
	q->recv.offset = 0;
	return v;
}

static int place_write(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct iovec iov[40];
	struct eng_mkey *mk;
	uint64_t off;
	int v, n;

	if (!p->payload_len)
		return ENG_OK;
	v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, q->recv.rkey, q->recv.va + q->recv.offset,
			    p->payload_len, IBV_ACCESS_REMOTE_WRITE, &mk, &off);
	if (v != ENG_OK)
		return v;
	n = eng_mkey_iov(mk, off, p->payload_len, iov, 36);
	if (n < 0)
		return ENG_V_RX_BOUNDS;
	return q->port->arrived->place(q, true, payload_off(p, rx), iov, n, p->payload_len, p->shape->flags & WIRE_F_END) < 0
		       ? ENG_V_RX_FAULT : ENG_OK;
}

static int do_write(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	uint16_t f = p->shape->flags;
	uint64_t after;
	int v = ENG_OK;

	if (f & WIRE_F_START)
		v = begin_write(q, p);
	if (v != ENG_OK) {
		/* The receive that the message would have taken reports the error, if there is one. */
		if (f & WIRE_F_IMM)
			(void)ibp_resp_take(q);
		return v;
	}
	after = q->recv.offset + p->payload_len;
	if (after > q->recv.length || ((f & WIRE_F_END) && after != q->recv.length))
		return ENG_V_RX_LENGTH;
	/* The receive is taken before memory changes: RNR leaves memory unchanged. But a fault of
	 * the packets before this one is not the receive's. */
	if (f & WIRE_F_IMM) {
		ibp_place_settle(q->port);
		if (ibp_resp_is(r, IBP_RESP_DEAD) || eng_qp_state(q->qp) == IBV_QPS_ERR ||
		    (!(f & WIRE_F_START) && q->recv.message == IBP_NONE))
			return ENG_V_RX_FAULT;
		v = ibp_resp_take(q);
	}
	if (v == ENG_OK)
		v = place_write(q, p, rx);
	if (v != ENG_OK)
		return v;
	q->recv.offset = after;
	ibp_recv_message(q, f & WIRE_F_END ? IBP_NONE : IBP_WRITE);
	if (f & WIRE_F_IMM)
		receive_done(q, p, IBV_WC_RECV_RDMA_WITH_IMM);
	return ENG_OK;
}

/* --- READs, atomics, and requests that come again --- */

static uint32_t depth(const struct ibp_qp *q)
{
	uint32_t n = q->qp->attr.max_dest_rd_atomic;

	return n < IBP_RD_ATOMIC ? n : IBP_RD_ATOMIC;
}

static uint32_t responses(const struct ibp_qp *q, uint32_t len)
{
	return len ? (uint32_t)(((uint64_t)len + q->conn.resp.mtu - 1) / q->conn.resp.mtu) : 1;
}

/* Returns the oldest entry, unless its answer has not left yet. */
static struct ibp_rdres *new_entry(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	struct ibp_rdres *e;

	if (!depth(q))
		return NULL;
	e = &r->res[r->res_next % depth(q)];
	return e->used && e->pending && !e->replay ? NULL : e;
}

static void publish(struct ibp_qp *q, struct ibp_rdres *e, uint32_t n)
{
	struct ibp_resp *r = &q->conn.resp;

	r->msn = psn_add(r->msn, 1);
	e->first_psn = e->tx_start = e->tx_psn = r->epsn;
	e->last_psn = e->tx_end = psn_add(r->epsn, n - 1);
	e->msn = r->msn;
	e->used = e->pending = true;
	r->res_used = true;
	r->res_next = (r->res_next + 1) % depth(q);
	r->epsn = psn_add(r->epsn, n);
	/* The answer acknowledges all requests before it. */
	r->ack_due = false;
}

static int do_read(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e;
	struct eng_mkey *mk;
	uint64_t off;
	int v;

	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ))
		return ENG_V_RX_DISABLED;
	if (p->dma_len > 1u << 31)
		return ENG_V_RX_LENGTH;
	e = new_entry(q);
	if (!e)
		return ENG_V_RX_RD_DEPTH;
	if (p->dma_len) {
		v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, p->rkey, p->va, p->dma_len,
				    IBV_ACCESS_REMOTE_READ, &mk, &off);
		if (v != ENG_OK)
			return v;
		ibp_export(q, mk, p->rkey);
	}
	*e = (struct ibp_rdres){ .va = p->va, .rkey = p->rkey, .length = p->dma_len,
				 .tx_bytes = p->dma_len,
				 .pd = q->recv.pd };
	publish(q, e, responses(q, p->dma_len));
	ibp_activate(q);
	return ENG_OK;
}

static uint64_t execute_atomic(uint64_t *at, const struct wire_ib_packet *p)
{
	uint64_t old = p->compare;

	if (wire_ib_message(p->opcode) == WIRE_MSG_FETCH_ADD)
		return __atomic_fetch_add(at, p->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &old, p->swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return old;
}

int ibp_resp_atomic(struct ibp_qp *q, const struct wire_ib_packet *p, struct ut_stage *stage, size_t scratch,
		    struct ibp_rdres **ret)
{
	struct ibp_rdres *e;
	struct eng_mkey *mk;
	struct iovec iov[2];
	uint64_t off;
	int v;

	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC))
		return ENG_V_RX_DISABLED;
	e = new_entry(q);
	if (!e)
		return ENG_V_RX_RD_DEPTH;
	if (p->va & 7)
		return ENG_V_RX_ALIGN;
	v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, p->rkey, p->va, 8,
			    IBV_ACCESS_REMOTE_ATOMIC, &mk, &off);
	if (v != ENG_OK)
		return v;
	ibp_export(q, mk, p->rkey);
	if (eng_mkey_iov(mk, off, 8, iov, 2) != 1 || ((uintptr_t)iov[0].iov_base & 7))
		return ENG_V_RX_ALIGN;
	if (!ut_stage_word(stage, scratch, iov[0].iov_base))
		return ENG_V_RX_FAULT;
	*e = (struct ibp_rdres){ .atomic = true, .orig = execute_atomic(iov[0].iov_base, p) };
	publish(q, e, 1);
	*ret = e;
	return ENG_OK;
}

static int do_atomic(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e;
	uint8_t *at;
	size_t scratch = ibp_scratch(q->port, &at);
	int v = ibp_resp_atomic(q, p, &q->port->train.stage, scratch, &e);

	if (v == ENG_OK)
		ibp_activate(q);
	return v;
}

static struct ibp_rdres *find_entry(struct ibp_qp *q, uint32_t psn)
{
	for (uint32_t i = 0; i < depth(q); i++) {
		struct ibp_rdres *e = &q->conn.resp.res[i];

		if (e->used && psn_diff(psn, e->first_psn) >= 0 && psn_diff(psn, e->last_psn) <= 0)
			return e;
	}
	return NULL;
}

static void read_again(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e = find_entry(q, p->psn);
	uint32_t end = psn_add(p->psn, responses(q, p->dma_len) - 1);
	uint64_t off;

	if (!e || e->atomic || p->payload_len || psn_diff(end, e->last_psn) > 0)
		return;
	off = (uint64_t)psn_diff(p->psn, e->first_psn) * q->conn.resp.mtu;
	if (p->rkey != e->rkey || p->va != e->va + off || p->dma_len > e->length - off)
		return;
	/* The packets that were not sent yet are sent anyhow. */
	if (e->pending && psn_diff(p->psn, e->tx_psn) >= 0)
		return;
	/* An answer that is being sent may not become shorter. */
	if (!e->pending || off + p->dma_len > e->tx_bytes) {
		e->tx_end = end;
		e->tx_bytes = (uint32_t)(off + p->dma_len);
	}
	e->tx_start = e->tx_psn = p->psn;
	e->replay |= !e->pending;
	e->pending = true;
	ibp_activate(q);
}

static void duplicate(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	uint16_t f = p->shape->flags;
	struct ibp_rdres *e;

	if (f & WIRE_F_READ) {
		read_again(q, p);
	} else if (f & WIRE_F_ATOMIC) {
		e = find_entry(q, p->psn);
		if (e && e->atomic && !e->pending) {
			e->pending = e->replay = true;
			e->tx_psn = e->first_psn;
			ibp_activate(q);
		}
	} else if (p->ack_req) {
		ibp_resp_owe(q);
	}
}

/* --- answers --- */

bool ibp_resp_has_answers(const struct ibp_qp *q)
{
	uint32_t depth = q->qp->attr.max_dest_rd_atomic;

	for (uint32_t i = 0; i < depth && i < IBP_RD_ATOMIC; i++)
		if (q->conn.resp.res[i].pending)
			return true;
	return false;
}

static struct wire_ib_packet answer(const struct ibp_qp *q, uint8_t low, uint32_t psn)
{
	return (struct wire_ib_packet){
		.opcode = q->cls | low, .psn = psn, .pkey = q->conn.pkey, .migreq = ibp_migreq(q),
		.dest_qpn = q->qp->attr.dest_qp_num,
	};
}

bool ibp_resp_send(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	const struct ibp_framing *f = q->conn.resp.framing;
	int max;

	if (!f->begin(q, true, ibp_packet_size(wire_ib_shape(p->opcode), 0), &max))
		return false;
	f->end(q, p, 0, false);
	return true;
}

const uint16_t ibp_credits[31] = {
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

/* The syndrome of an acknowledgement: with the largest code that the receive queue is worth, if the port gives credits.
 * A shared receive queue promises nothing to one queue pair (IBTA 9.7.7.2). */
static uint8_t ack_syndrome(struct ibp_qp *q)
{
	uint32_t posted;
	uint8_t code = 30;

	if (!q->port->cfg.credits || q->qp->type != IBV_QPT_RC || q->qp->srq)
		return WIRE_SYN_ACK;
	posted = eng_ring_used(&q->qp->rq);
	while (ibp_credits[code] > posted)
		code--;
	return code;
}

static bool put_aeth(struct ibp_qp *q, uint8_t syndrome, uint32_t psn)
{
	struct wire_ib_packet p = answer(q, WIRE_MSG_ACKNOWLEDGE, psn);

	p.syndrome = syndrome;
	p.msn = q->conn.resp.msn;
	return ibp_resp_send(q, &p);
}

static bool send_atomic(struct ibp_qp *q, struct ibp_rdres *e)
{
	struct wire_ib_packet p = answer(q, WIRE_MSG_ATOMIC_ACKNOWLEDGE, e->first_psn);

	p.syndrome = ack_syndrome(q);
	p.msn = e->msn;
	p.orig = e->orig;
	if (!ibp_resp_send(q, &p))
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

/* The key may have ended since the request came: a repeated READ is then silently given up, a first
 * one is answered by a NAK in its place. */
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

/* The middle packets behind one that is in the train, whose payload begins at `off` of the key's memory: what
 * send_read_packet() would find out again is as it was. */
static void fill_train(struct ibp_qp *q, struct ibp_rdres *e, const struct eng_mkey *mk, uint64_t off)
{
	uint32_t mtu = q->conn.resp.mtu;
	struct iovec v;

	while (e->tx_psn != e->tx_end && ibp_train_has_room(q->port, q, true) && eng_mkey_iov(mk, off += mtu, mtu, &v, 1) == 1) {
		ibp_train_add_alike(q, e->tx_psn, false, &v);
		e->tx_psn = psn_add(e->tx_psn, 1);
	}
}

static bool send_read_packet(struct ibp_qp *q, struct ibp_rdres *e)
{
	struct wire_ib_packet p = answer(q, read_opcode(e), e->tx_psn);
	uint64_t skip = (uint64_t)psn_diff(e->tx_psn, e->first_psn) * q->conn.resp.mtu, off;
	uint64_t left = e->tx_bytes - skip;
	const struct ibp_framing *f = q->conn.resp.framing;
	struct eng_mkey *mk;
	struct iovec *iov;
	int max, n = 0, v;

	p.payload_len = left < q->conn.resp.mtu ? (uint32_t)left : q->conn.resp.mtu;
	p.pad = -p.payload_len & 3;
	p.syndrome = ack_syndrome(q);
	p.msn = e->msn;
	p.rkey = e->rkey;
	iov = f->begin(q, true, ibp_packet_size(wire_ib_shape(p.opcode), p.payload_len), &max);
	if (!iov)
		return false;
	if (!e->pending || e->tx_psn != p.psn)
		return true; /* packets that left before it met a fault */
	if (p.payload_len) {
		v = eng_mkey_remote(q->port->dev, e->pd, q->qp, e->rkey, e->va + skip,
				    p.payload_len, IBV_ACCESS_REMOTE_READ, &mk, &off);
		n = v ? 0 : eng_mkey_iov(mk, off, p.payload_len, iov, max);
		if (v || n < 0) {
			refuse_read(q, e, v ? (enum eng_verdict)v : ENG_V_RX_BOUNDS);
			return true;
		}
	}
	if (f->end(q, &p, n, n > 0) < 0) {
		refuse_read(q, e, ENG_V_RX_FAULT);
		return true;
	}
	if (e->tx_psn == e->tx_end)
		e->pending = e->replay = false;
	e->tx_psn = psn_add(e->tx_psn, 1);
	if (n == 1 && f == &ibp_frame_wire && !q->port->train.ready && wire_ib_shape(p.opcode)->flags & WIRE_F_MIDDLE)
		fill_train(q, e, mk, off);
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

/* Oldest first: the oldest entry is the next to be reused. */
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

/* The NAK leaves before the state changes, or the requester would see a timeout. */
static bool put_fatal(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	uint8_t syndrome;

	/* In a train of its own: a fault in packets that leave before the NAK would end the queue
	 * pair first, and may be the earlier one to report. */
	q->conn.resp.framing->flush(q->port);
	syndrome = eng_verdicts[r->nak].nak;
	if (!put_aeth(q, syndrome ? syndrome : 0x63, r->nak_psn))
		return false;
	ibp_count(q->port, ENG_C_nak_sent);
	r->nak_put = true;
	q->conn.resp.framing->flush(q->port);
	return true;
}

static bool send_fatal(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	struct eng_why why = { .key = q->recv.rkey, .addr = q->recv.va + q->recv.offset, .doing = "a request" };
	enum eng_verdict v;

	if (!r->nak_put && !put_fatal(q))
		return false;
	if (q->conn.resp.framing->holds(q->port, q))
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
		if (!put_aeth(q, WIRE_SYN_SEQUENCE, r->epsn))
			return false;
	}
	/* Both acknowledge all requests before them. */
	if (r->rnr_due || r->seq_due)
		r->ack_due = false;
	r->rnr_due = r->seq_due = false;
	return true;
}

void ibp_resp_run(struct ibp_qp *q, uint32_t budget)
{
	uint32_t before = q->port->sent;
	struct ibp_rdres *e;

	while ((e = oldest_pending(q))) {
		if (ibp_train_ends_turn(q, true, q->port->sent - before, budget) ||
		    !(e->atomic ? send_atomic(q, e) : send_read_packet(q, e))) {
			ibp_activate(q);
			return;
		}
	}
	if (!send_naks(q))
		ibp_activate(q);
}

void ibp_resp_ack(struct ibp_qp *q)
{
	uint32_t out = q->forward ? q->forward->out : 0;

	if (q->conn.resp.ack_due && ibp_resp_may_ack(q)) {
		uint32_t psn = psn_add(q->conn.resp.epsn, IBP_PSN_MASK - out);

		if (!q->conn.resp.framing->acknowledge(q, psn) && !put_aeth(q, ack_syndrome(q), psn)) {
			if (eng_qp_state(q->qp) != IBV_QPS_ERR)
				ibp_resp_owe(q);
			return;
		}
		q->conn.resp.ack_due = false;
	}
	ut_list_del(&q->conn.acks);
}

bool ibp_resp_ack_ahead(struct ibp_qp *q)
{
	const struct ibp_resp *r = &q->conn.resp;

	if (r->slow || r->framing != &ibp_frame_wire || q->forward || !ibp_resp_may_ack(q) ||
	    !ibp_train_put_ahead(q, ack_syndrome(q), psn_add(r->epsn, IBP_PSN_MASK)))
		return false;
	ibp_resp_acked(q);
	return true;
}

static struct ibp_qp *first_target_owing(struct ibp_port *port)
{
	struct ibp_qp *q;

	ut_list_each(q, &port->acks, conn.acks)
		if (q->qp->type == IBV_QPT_XRC_RECV)
			return q;
	return NULL;
}

bool ibp_resp_ack_targets(struct ibp_port *port)
{
	struct ibp_qp *q;

	while ((q = first_target_owing(port))) {
		ibp_resp_ack(q);
		if (!ut_list_empty(&q->conn.acks))
			return false;
	}
	return true;
}

/* --- requests in order --- */

/* A requester may rely on the order of the checks (IBTA 9.7.4.1, 9.9.3): sequence, length, enabled,
 * key, receive, bounds, placement. */
int ibp_resp_execute(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	uint16_t f = p->shape->flags;
	int v = check_sequence(&q->recv, f);

	if (v == ENG_OK)
		v = check_length(q, p);
	if (q->forward) {
		int away = ibp_forward_request(q, p, v);

		if (away != IBP_HERE)
			return away;
	}
	if (v == ENG_OK)
		v = choose_srq(q, p);
	if (v == ENG_OK && q->port->rules)
		v = ibp_fault_request(q, p);
	if (v != ENG_OK)
		return v;
	if (f & WIRE_F_READ)
		return do_read(q, p);
	if (f & WIRE_F_ATOMIC)
		return do_atomic(q, p);
	v = f & WIRE_F_WRITE ? do_write(q, p, rx) : do_send(q, p, rx);
	if (v == ENG_OK) {
		r->epsn = psn_add(r->epsn, 1);
		r->msn = psn_add(r->msn, !!(f & WIRE_F_END));
	}
	return v;
}

static void ahead(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;

	ibp_count(q->port, ENG_C_out_of_sequence);
	if (ibp_resp_is(r, IBP_RESP_GAP))
		return;
	ibp_resp_put(r, IBP_RESP_GAP, true);
	/* A NAK would acknowledge the READ and atomic answers that have not left. */
	if (q->forward && q->forward->out) {
		ibp_forward_hold(q);
		return;
	}
	r->seq_due = true;
	ibp_activate(q);
}

void ibp_resp_missed(struct ibp_qp *q)
{
	if (!ibp_resp_is(&q->conn.resp, IBP_RESP_DEAD))
		ahead(q);
}

static void settle_request(struct ibp_qp *q, int v, const struct wire_ib_packet *p)
{
	struct ibp_resp *r = &q->conn.resp;

	if (v == IBP_RNR) {
		/* Packets that follow are dropped without a further NAK until this PSN comes again. */
		ibp_resp_put(r, IBP_RESP_GAP, true);
		r->rnr_due = true;
		ibp_activate(q);
	} else if (v == IBP_AGAIN) {
		ibp_resp_put(r, IBP_RESP_GAP, true);
		r->seq_due = true;
		ibp_activate(q);
	} else if (v == IBP_DEFERRED) {
		ibp_forward_hold(q);
	} else if (v == IBP_AWAY) {
		return;
	} else if (v != ENG_OK) {
		ibp_resp_fatal(q, (enum eng_verdict)v, p->psn);
	} else if (p->ack_req && !(p->shape->flags & (WIRE_F_READ | WIRE_F_ATOMIC))) {
		ibp_resp_owe(q);
	}
}

/* The first request in order decides the framing of all that follow. */
static bool fits_framing(struct ibp_qp *q, bool first)
{
	const struct ibp_framing *f = q->port->arrived;
	struct ibp_resp *r = &q->conn.resp;
	uint32_t mtu = f->unit(q);

	if (!ibp_resp_is(r, IBP_RESP_UNCHOSEN))
		return r->framing == f && r->mtu == mtu;
	r->framing = f;
	r->mtu = mtu;
	ibp_resp_put(r, IBP_RESP_UNCHOSEN, !first);
	return true;
}

void ibp_resp_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	int32_t d = psn_diff(p->psn, r->epsn);

	if (ibp_resp_is(r, IBP_RESP_DEAD) || !fits_framing(q, d == 0))
		return;
	if (eng_qp_state(q->qp) == IBV_QPS_RTR)
		eng_qp_comm_est(q->qp);
	if (d > 0) {
		ahead(q);
	} else if (d < 0) {
		ibp_count(q->port, ENG_C_duplicate_request);
		if (!q->forward || !ibp_forward_covers(q, p))
			duplicate(q, p);
	} else {
		ibp_resp_put(r, IBP_RESP_GAP, false);
		r->seq_due = r->rnr_due = false;
		settle_request(q, ibp_resp_execute(q, p, rx), p);
	}
}

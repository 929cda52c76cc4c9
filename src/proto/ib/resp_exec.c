/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Execution of SEND and RDMA WRITE packets, for RC, XRC and UC. The order of
 * the checks is the order in which a peer may rely on them (IBTA 9.7.4.1,
 * 9.9.3): sequence, length, enabled, key, receive, bounds, placement.
 */
#include "proto/ib/port.h"

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

/* What the placement of a message of this host comes to. */
static int local_verdict(int r, enum eng_verdict fault)
{
	return r == IBP_AGAIN ? r : r < 0 ? (int)fault : ENG_OK;
}

int ibp_place_recv(struct ibp_qp *q, struct ut_stage *st, size_t off, uint32_t len, uint64_t skip,
		   bool last)
{
	struct eng_rwqe *w = q->recv.rwqe;
	struct iovec iov[40];
	int n;

	if (!len)
		return ENG_OK;
	n = eng_sge_iov(recv_pd(q), w->sge, (int)w->num_sge, skip, len, true, iov, 36);
	if (n < 0)
		return -n;
	if (q->port->shm.rx && st == q->port->link->rx_stage)
		return local_verdict(ibp_shm_place(q->port, iov, n, len, last), ENG_V_LOC_FAULT);
	/* A small message of its own, with nothing to wait for. */
	if (last && !skip && st->pages_checked_at && !q->port->placing.q)
		return ut_stage_scatter_user(st, off, iov, n) == (ssize_t)len ? ENG_OK
									    : ENG_V_LOC_FAULT;
	if (st == q->port->link->rx_stage)
		return ibp_place(q, true, off, iov, n, len, last) < 0 ? ENG_V_LOC_FAULT : ENG_OK;
	return ibp_scatter(st, off, iov, n, len, last) < 0 ? ENG_V_LOC_FAULT : ENG_OK;
}

void ibp_recv_done(struct ibp_qp *q, uint8_t opcode, unsigned flags, uint32_t imm, bool solicited)
{
	struct eng_cqe e = { .opcode = opcode, .byte_len = (uint32_t)q->recv.offset,
			     .wc_flags = (uint8_t)flags, .imm = imm, .solicited = solicited };

	q->recv.have_rwqe = false;
	eng_recv_done(q->qp, q->recv.cq, q->recv.rwqe->wr_id, &e);
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
	v = ibp_place_recv(q, q->port->link->rx_stage, payload_off(p, rx), p->payload_len,
			   q->recv.offset, f & WIRE_F_END);
	if (v != ENG_OK)
		return v;
	q->recv.offset += p->payload_len;
	if (!(f & WIRE_F_END))
		return ENG_OK;
	ibp_recv_message(q, IBP_NONE);
	if (f & WIRE_F_INV) {
		ibp_place_settle(q->port); /* nothing lands after it */
		if (eng_qp_state(q->qp) == IBV_QPS_ERR)
			return ENG_V_LOC_FAULT; /* a READ's data: the receive is flushed */
		/* Whatever was wrong with the key, the sender should learn that it was the key. */
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
	if (q->port->shm.rx)
		return local_verdict(ibp_shm_place(q->port, iov, n, p->payload_len,
						   p->shape->flags & WIRE_F_END),
				    ENG_V_RX_FAULT);
	return ibp_place(q, true, payload_off(p, rx), iov, n, p->payload_len,
			 p->shape->flags & WIRE_F_END) < 0 ? ENG_V_RX_FAULT : ENG_OK;
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
		/* The receive it would have taken carries the news, if there is one. */
		if (f & WIRE_F_IMM)
			(void)ibp_resp_take(q);
		return v;
	}
	after = q->recv.offset + p->payload_len;
	if (after > q->recv.length || ((f & WIRE_F_END) && after != q->recv.length))
		return ENG_V_RX_LENGTH;
	/* The receive is taken before memory changes: RNR leaves it untouched. But
	 * a fault of the packets before this one is not the receive's. */
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

int ibp_resp_execute(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	enum ibp_message before = q->recv.message;
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
	if (v != ENG_OK)
		return v;
	if (f & WIRE_F_READ)
		return ibp_resp_read(q, p);
	if (f & WIRE_F_ATOMIC)
		return ibp_resp_atomic(q, p);
	v = f & WIRE_F_WRITE ? do_write(q, p, rx) : do_send(q, p, rx);
	if (v == IBP_AGAIN)
		ibp_recv_message(q, before);
	if (v == ENG_OK) {
		r->epsn = psn_add(r->epsn, 1);
		r->msn = psn_add(r->msn, !!(f & WIRE_F_END));
	}
	return v;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/ud.h"

#include "engine/complete.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "proto/ib/qp.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "wire/grh.h"

#include <string.h>

#define GRH_BYTES 40u
#define MULTICAST_QPN 0xffffffu

static bool same_av(const struct eng_av *a, const struct eng_av *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static enum eng_verdict aim(struct ibp_qp *q, const struct eng_swqe *w)
{
	if (w->ud.pd != q->qp->pd)
		return ENG_V_LOC_AH_PD;
	if (w->length > q->port->cfg.mtu_max)
		return ENG_V_LOC_LEN;
	if (q->conn.path.valid && same_av(&q->ud_av, &w->ud.av))
		return ENG_OK;
	ibp_train_flush(q->port); /* of the path that changes */
	if (q->port->blocked)
		return ENG_OK;
	q->conn.path.valid = false;
	if (ibp_path_set(q->port, &q->conn.path, &w->ud.av, ibp_datagram_sport(q->qp->qpn)) < 0)
		return ENG_V_LOC_ROUTE;
	q->ud_av = w->ud.av;
	return ENG_OK;
}

static struct wire_ib_packet datagram(struct ibp_qp *q, const struct eng_swqe *w)
{
	/* A Q_Key with the top bit set asks for the QP's own, and QP1 has no other (IBTA 10.2.5). */
	bool own = q->qp->gsi || (w->ud.qkey & 0x80000000u);
	uint32_t qkey = own ? q->qp->attr.qkey : w->ud.qkey;
	uint32_t len = (uint32_t)w->length;

	return (struct wire_ib_packet){
		.opcode = w->opcode == IBV_WR_SEND_WITH_IMM ? WIRE_UD_SEND_ONLY_WITH_IMMEDIATE
							    : WIRE_UD_SEND_ONLY,
		.psn = q->conn.req.psn_next, .pkey = q->conn.pkey, .migreq = true,
		.dest_qpn = w->ud.qpn & MULTICAST_QPN, .qkey = qkey, .src_qpn = q->qp->qpn,
		.imm = w->imm, .se = w->flags & IBV_SEND_SOLICITED,
		.payload_len = len, .pad = -len & 3,
	};
}

static bool halt(struct ibp_qp *q, struct eng_swqe *w, enum eng_verdict v)
{
	w->verdict = (uint8_t)v;
	ibp_req_put(&q->conn.req, IBP_REQ_HALTED, true);
	return false;
}

static bool send_one(struct ibp_qp *q, struct eng_swqe *w)
{
	enum eng_verdict v = w->verdict ? (enum eng_verdict)w->verdict : aim(q, w);
	struct wire_ib_packet p;
	struct iovec *iov;
	bool user = false;
	int max, n = 0;

	if (v)
		return halt(q, w, v);
	if (q->port->blocked)
		return false;
	p = datagram(q, w);
	iov = ibp_frame_wire.begin(q, false, ibp_packet_size(wire_ib_shape(p.opcode), p.payload_len), &max);
	if (!iov || ibp_req_is(&q->conn.req, IBP_REQ_HALTED))
		return false;
	if (p.payload_len && (w->flags & IBV_SEND_INLINE)) {
		iov[0] = (struct iovec){ eng_swqe_inline(w), p.payload_len };
		n = 1;
	} else if (p.payload_len) {
		user = true;
		n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, false, iov, max);
		if (n < 0)
			return halt(q, w, (enum eng_verdict)-n);
	}
	if (ibp_frame_wire.end(q, &p, n, user) < 0)
		return halt(q, w, ENG_V_LOC_FAULT);
	w->first_psn = w->last_psn = p.psn;
	w->started = w->done = 1;
	q->conn.req.psn_next = psn_add(q->conn.req.psn_next, 1);
	q->conn.req.psn_una = q->conn.req.psn_send = q->conn.req.psn_next;
	return true;
}

void ibp_ud_run(struct ibp_qp *q, uint32_t budget)
{
	struct eng_ring *sq = &q->qp->sq;
	uint32_t before = q->port->sent;

	enum ibv_qp_state st = eng_qp_state(q->qp);

	if (st != IBV_QPS_RTS && st != IBV_QPS_SQD)
		return;
	while (st == IBV_QPS_RTS && !ibp_req_is(&q->conn.req, IBP_REQ_HALTED) && q->send.cur != atomic_load_explicit(&sq->tail, memory_order_acquire)) {
		if (q->port->sent - before >= budget) {
			ibp_activate(q);
			break;
		}
		if (!send_one(q, eng_ring_at(sq, q->send.cur)))
			break;
		q->send.cur++;
	}
	ibp_train_flush(q->port);
	if (q->port->blocked)
		ibp_activate(q);
	else
		ibp_req_complete(q);
}

/* A receive that is too small for this datagram stays for the next one. */
static bool take(struct ibp_qp *q, uint32_t payload)
{
	if (ibp_resp_take(q) != ENG_OK)
		return false;
	return q->recv.rwqe->length >= GRH_BYTES + payload;
}

/* Of a packet between LIDs, which says itself whether it has one: without, the bytes have no meaning (IBTA 11.4.1.2). */
static void put_link_grh(uint8_t grh[GRH_BYTES], const struct link_rx *rx)
{
	struct wire_grh g = { .ipver = 6, .tclass = rx->tos, .flow_label = rx->flow_label, .hop_lmt = rx->ttl,
			      .nxt_hdr = WIRE_NXT_HDR_IBA, .pay_len = (uint16_t)rx->len };

	memset(grh, 0, GRH_BYTES);
	if (!rx->grh)
		return;
	memcpy(g.sgid, rx->src, 16);
	memcpy(g.dgid, rx->dst, 16);
	wire_grh_put(grh, GRH_BYTES, &g);
}

static void put_grh(uint8_t grh[GRH_BYTES], const struct link_rx *rx)
{
	if (rx->lids)
		put_link_grh(grh, rx);
	else if (ut_ip_is_v4(rx->dst))
		wire_grh_v4(grh, rx->src + 12, rx->dst + 12, rx->tos, rx->ttl, rx->len);
	else
		wire_grh_v6(grh, rx->src, rx->dst, rx->tos, rx->ttl, rx->len);
}

static int place(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct iovec iov[40];
	uint8_t *grh;
	size_t off = ibp_scratch(q->port, &grh);
	int n;

	put_grh(grh, rx);
	n = ibp_recv_pieces(q, 0, GRH_BYTES, iov, 36);
	if (n < 0)
		return -n;
	if (ibp_scatter(&q->port->train.stage, off, iov, n, GRH_BYTES, false) < 0)
		return ENG_V_LOC_FAULT;
	return ibp_recv_place(q, &ibp_frame_wire, rx->off + (size_t)(p->payload - rx->data), p->payload_len,
			      GRH_BYTES, true);
}

/* RoCE carries no service level. Adapters report in its place the kind of packet that carried the
 * datagram, and UCX finds the destination in the GRH by it. */
static uint8_t header_kind(const struct link_rx *rx)
{
	return ut_ip_is_v4(rx->dst) ? 2 : 1;
}

/* What a completion tells of the packet's way (IBTA 11.4.2.1). */
static void tell_way(struct ibp_qp *q, struct eng_cqe *e, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	int index = q->qp->gsi ? eng_port_pkey_index(q->port->dev, p->pkey) : 0;

	eng_dev_held(q->port->dev);
	e->pkey_index = index < 0 ? 0 : (uint16_t)index;
	if (!rx->lids) {
		e->wc_flags = IBV_WC_GRH;
		e->sl = header_kind(rx);
		return;
	}
	e->wc_flags = rx->grh ? IBV_WC_GRH : 0;
	e->sl = rx->sl;
	e->slid = rx->slid;
	e->dlid_path_bits = (uint8_t)(rx->dlid & ((1u << q->port->dev->port.lmc) - 1));
}

void ibp_ud_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct eng_cqe e = {
		.opcode = IBV_WC_RECV, .byte_len = p->payload_len + GRH_BYTES,
		.src_qp = p->src_qpn, .solicited = p->se,
	};
	int v;

	tell_way(q, &e, p, rx);
	if (p->qkey != q->qp->attr.qkey) {
		ibp_count(q->port, ENG_C_rx_bad_qkey);
		return;
	}
	if (p->payload_len > q->port->cfg.mtu_max || !take(q, p->payload_len)) {
		ibp_count(q->port, ENG_C_rx_no_wqe);
		return;
	}
	v = place(q, p, rx);
	if (v != ENG_OK) {
		struct eng_why why = { .doing = "a receive" };

		ibp_qp_error(q, (enum eng_verdict)v, IBV_QPS_ERR, false, &why);
		return;
	}
	if (p->shape->flags & WIRE_F_IMM) {
		e.wc_flags |= IBV_WC_WITH_IMM;
		e.imm = p->imm;
	}
	q->recv.have_rwqe = false;
	eng_recv_done(q->qp, q->qp->recv_cq, q->recv.rwqe->wr_id, &e);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/ud.h"

#include "engine/complete.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "proto/ib/put.h"
#include "proto/ib/qp.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/sent.h"
#include "proto/ib/usual.h"
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
	q->conn.lane.epoch = 0;
	return ENG_OK;
}

/* A Q_Key with the top bit set asks for the QP's own, and QP1 has no other (IBTA 10.2.5). */
static uint32_t qkey_of(const struct ibp_qp *q, const struct eng_swqe *w)
{
	return q->qp->gsi || (w->ud.qkey & 0x80000000u) ? q->qp->attr.qkey : w->ud.qkey;
}

static uint8_t opcode_of(const struct eng_swqe *w)
{
	return w->opcode == IBV_WR_SEND_WITH_IMM ? WIRE_UD_SEND_ONLY_WITH_IMMEDIATE : WIRE_UD_SEND_ONLY;
}

static struct wire_ib_packet datagram(struct ibp_qp *q, const struct eng_swqe *w)
{
	uint32_t len = (uint32_t)w->length;

	return (struct wire_ib_packet){
		.opcode = opcode_of(w), .psn = q->conn.req.psn_next, .pkey = q->conn.pkey, .migreq = true,
		.dest_qpn = w->ud.qpn & MULTICAST_QPN, .qkey = qkey_of(q, w), .src_qpn = q->qp->qpn,
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

static void done(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;

	w->first_psn = w->last_psn = r->psn_next;
	w->started = w->done = 1;
	r->psn_next = psn_add(r->psn_next, 1);
	r->psn_una = r->psn_send = r->psn_next;
	q->send.cur++;
}

/* --- messages --- */

/* Returns true if a message may take the place of the packet: to a queue pair of another process that no management agent has, behind
 * no packet that waits. */
static bool may_be_message(const struct ibp_qp *q, uint32_t qpn)
{
	const struct ibp_port *port = q->port;

	eng_dev_held(port->dev);
	return !q->conn.path.flow.lids && !port->wire_only && !q->qp->gsi && qpn != WIRE_QPN_GSI && qpn != MULTICAST_QPN &&
	       ((qpn ^ q->qp->qpn) & ~port->dev->qpn_mask & MULTICAST_QPN) && !ibp_train_has_any(&port->train);
}

/*
 * Within a host a datagram is a message, where a lane leads to its process: no ICRC, and no datagram of the link, which a round would receive.
 * Returns false where it is a packet: also while the link still asks that process for a ring, and while the ring is full.
 */
static bool send_message(struct ibp_qp *q, struct eng_swqe *w, bool more)
{
	const uint32_t qpn = w->ud.qpn & MULTICAST_QPN, len = (uint32_t)w->length;
	struct ibp_leaving m = {
		.header = {
			.opcode = opcode_of(w), .flags = w->flags & IBV_SEND_SOLICITED ? IBP_HEADER_SE : 0, .unit = IBP_UNIT,
			.psn = q->conn.req.psn_next, .dest_qpn = qpn, .src_qpn = q->qp->qpn, .imm = w->imm,
			.rkey = qkey_of(q, w), .length = len,
			.va = ibp_header_way(q->conn.path.flow.tos, q->conn.path.flow.ttl, q->conn.pkey),
		},
		.data = len ? ibp_seen_payload(q, w) : NULL, .w = w, .bytes = len, .more = more,
	};

	eng_dev_held(q->port->dev);
	if ((qpn ^ q->ud_qpn) & ~q->port->dev->qpn_mask)
		q->conn.lane.epoch = 0; /* to another process */
	q->ud_qpn = qpn;
	if (!ibp_has_lane(q, qpn) && !shm_lane_is_watched(q->port->chan, &q->conn.lane))
		return false;
	if (!ibp_put(q, &m))
		return false;
	ibp_sent_local(q, m.header.opcode, len);
	return true;
}

/* Sends the next request as a message. Returns false if it is none, or not now. */
static bool try_message(struct ibp_qp *q, struct eng_swqe *w, bool more)
{
	if (!q->conn.path.valid || !may_be_message(q, w->ud.qpn & MULTICAST_QPN) || !send_message(q, w, more))
		return false;
	q->port->sent++;
	done(q, w);
	return true;
}

/* --- packets --- */

static bool send_one(struct ibp_qp *q, struct eng_swqe *w, bool more)
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
	if (try_message(q, w, more))
		return true;
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
	done(q, w);
	return true;
}

/* --- both --- */

void ibp_ud_run(struct ibp_qp *q, uint32_t budget)
{
	struct eng_ring *sq = &q->qp->sq;
	uint32_t before = q->port->sent, tail = atomic_load_explicit(&sq->tail, memory_order_acquire);

	enum ibv_qp_state st = eng_qp_state(q->qp);

	if (st != IBV_QPS_RTS && st != IBV_QPS_SQD)
		return;
	while (st == IBV_QPS_RTS && !ibp_req_is(&q->conn.req, IBP_REQ_HALTED) && q->send.cur != tail) {
		if (q->port->sent - before >= budget) {
			ibp_activate(q);
			break;
		}
		if (!send_one(q, eng_ring_at(sq, q->send.cur), q->send.cur + 1 != tail))
			break;
	}
	if (q->port->chan->unflushed)
		q->port->chan->ops->flush(q->port->chan);
	ibp_train_flush(q->port);
	if (q->port->blocked)
		ibp_activate(q);
	else
		ibp_req_complete(q);
}

bool ibp_ud_post(struct ibp_qp *q)
{
	struct eng_ring *sq = &q->qp->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_acquire);

	if (eng_qp_state(q->qp) != IBV_QPS_RTS || ibp_req_is(&q->conn.req, IBP_REQ_HALTED) || !ut_list_empty(&q->active))
		return false;
	while (q->send.cur != tail) {
		struct eng_swqe *w = eng_ring_at(sq, q->send.cur);

		/* blocked: aim() leaves the path as it was. */
		if (w->verdict || aim(q, w) != ENG_OK || q->port->blocked || !try_message(q, w, q->send.cur + 1 != tail))
			break;
	}
	if (q->port->chan->unflushed)
		q->port->chan->ops->flush(q->port->chan);
	ibp_req_complete(q);
	return q->send.cur == tail;
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

static void put_grh(uint8_t grh[GRH_BYTES], const struct wire_ib_packet *p, const struct link_rx *rx)
{
	uint32_t len = ibp_packet_size(p->shape, p->payload_len);

	if (rx->lids)
		put_link_grh(grh, rx);
	else if (ut_ip_is_v4(rx->dst))
		wire_grh_v4(grh, rx->src + 12, rx->dst + 12, rx->tos, rx->ttl, len);
	else
		wire_grh_v6(grh, rx->src, rx->dst, rx->tos, rx->ttl, len);
}

static int place(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ut_stage *st = &q->port->train.stage;
	struct iovec iov[40];
	uint8_t *grh;
	size_t off = ibp_scratch(q->port, &grh);
	int n;

	put_grh(grh, p, rx);
	n = ibp_recv_pieces(q, 0, GRH_BYTES, iov, 36);
	if (n < 0)
		return -n;
	st->pages_checked_at = q->port->link->rx_stage->pages_checked_at;
	if (ut_stage_scatter_user(st, off, iov, n) != GRH_BYTES)
		return ENG_V_LOC_FAULT;
	return ibp_recv_place(q, q->port->arrived, rx->off + (size_t)(p->payload - rx->data), p->payload_len,
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

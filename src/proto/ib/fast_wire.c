/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The usual packet of the wire: a Send that is one packet, on a reliable connection where nothing is
 * wrong, in its turn. It goes from the work request into the train and from the train into memory and
 * completion. These are the rules of req_send.c, port.c, resp_recv.c and resp_exec.c for that one
 * case; whatever is not it changes nothing here and is left to them.
 */
#include "proto/ib/port.h"

#include "wire/ib_fields.h"

/* --- sending --- */

/* What is posted next may leave, as long as it is the usual one. */
static bool may_send(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return q->cls == WIRE_CLASS_RC && r->chosen && !r->local && !q->send.pkt && !r->limited &&
	       !r->rnr_wait && !q->send.halted && r->psn_send == r->psn_next;
}

static bool is_usual(const struct ibp_req *r, const struct eng_swqe *w)
{
	return w->opcode == IBV_WR_SEND && !w->started && !w->verdict &&
	       !(w->flags & IBV_SEND_FENCE) && w->length <= r->mtu &&
	       (uint32_t)psn_diff(r->psn_send, r->psn_una) < r->window;
}

static void put_header(const struct ibp_qp *q, const struct eng_swqe *w, uint8_t *at)
{
	uint8_t h[WIRE_BTH_LEN] = { 0 };

	wire_set_BTH_opcode(h, WIRE_RC_SEND_ONLY);
	wire_set_BTH_se(h, !!(w->flags & IBV_SEND_SOLICITED));
	wire_set_BTH_migreq(h, 1);
	wire_set_BTH_pad(h, -w->length & 3);
	wire_set_BTH_pkey(h, q->conn.pkey);
	wire_set_BTH_dest_qpn(h, q->qp->attr.dest_qp_num);
	wire_set_BTH_ack_req(h, 1);
	wire_set_BTH_psn(h, q->conn.req.psn_next);
	memcpy(at, h, sizeof(h));
}

static bool put_payload(struct ibp_qp *q, struct eng_swqe *w, uint8_t *at)
{
	struct ut_stage *st = &q->port->train.stage;
	struct iovec iov;

	if (!w->length)
		return true;
	if (w->flags & IBV_SEND_INLINE) {
		memcpy(at, eng_swqe_inline(w), w->length);
		return true;
	}
	return eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, false, &iov, 1) == 1 &&
	       ut_stage_gather_user(st, (size_t)(at - st->base), &iov, 1) == (ssize_t)w->length;
}

bool ibp_fast_wire_send(struct ibp_qp *q, uint32_t most)
{
	uint32_t tail = atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire), n = 0;
	struct ibp_req *r = &q->conn.req;

	if (!may_send(q) || eng_qp_state(q->qp) != IBV_QPS_RTS)
		return false;
	for (; n < most && q->send.cur != tail; n++) {
		struct eng_swqe *w = eng_ring_at(&q->qp->sq, q->send.cur);
		uint32_t len = (uint32_t)w->length;
		uint8_t *at = is_usual(r, w)
				      ? ibp_train_room(q->port, q, WIRE_BTH_LEN + len + (-len & 3) + 4)
				      : NULL;

		if (!at || !put_payload(q, w, at + WIRE_BTH_LEN))
			break;
		put_header(q, w, at);
		ibp_train_add(q->port, at, WIRE_BTH_LEN + len, -len & 3);
		ibp_req_number(q, w);
	}
	return n;
}

/* --- receiving --- */

/* Its queue pair, if that is in order and waits for this one. */
static struct ibp_qp *expected(struct ibp_port *port, const uint8_t h[WIRE_BTH_LEN],
			       const struct link_rx *rx)
{
	const struct ibp_resp *r;
	struct eng_qp *qp;
	struct ibp_qp *q;

	eng_dev_held(port->dev);
	qp = eng_qp_find(port->dev, (uint32_t)wire_get_BTH_dest_qpn(h));
	if (!qp || qp->type != IBV_QPT_RC || !ibp_resp_hears(qp))
		return NULL;
	q = ibp_qp(qp);
	r = &q->conn.resp;
	if (!r->chosen || r->local || r->dead || r->gap_nak || q->recv.message != IBP_NONE ||
	    wire_get_BTH_psn(h) != r->epsn || wire_get_BTH_pkey(h) != q->conn.pkey ||
	    !ibp_path_between(&q->conn.path, rx->src, rx->dst))
		return NULL;
	return q;
}

static bool take_send(struct ibp_qp *q, const struct link_rx *rx, uint32_t len)
{
	return ibp_resp_take(q) == ENG_OK && len <= q->recv.rwqe->length &&
	       ibp_place_recv(q, q->port->link->rx_stage, rx->off + WIRE_BTH_LEN, len, 0, true) ==
		       ENG_OK;
}

bool ibp_fast_wire_take(struct ibp_port *port, const struct link_rx *rx)
{
	uint8_t h[WIRE_BTH_LEN];
	struct ibp_qp *q;
	uint32_t len;

	if (rx->len < WIRE_BTH_LEN + WIRE_ICRC_LEN || rx->data[0] != WIRE_RC_SEND_ONLY || (rx->tos & 3) == 3)
		return false;
	memcpy(h, rx->data, sizeof(h));
	len = rx->len - WIRE_BTH_LEN - WIRE_ICRC_LEN;
	if (wire_get_BTH_tver(h) || wire_get_BTH_pad(h) > len)
		return false;
	len -= (uint32_t)wire_get_BTH_pad(h);
	q = wire_get_BTH_pad(h) == (-len & 3) ? expected(port, h, rx) : NULL;
	if (!q || len > q->conn.resp.mtu)
		return false;
	if (!ibp_icrc_matches(port, q, rx))
		return true; /* counted, and that is all that becomes of it */
	if (!take_send(q, rx, len))
		return false;
	q->conn.heard = port->now;
	q->recv.offset = len;
	ibp_recv_done(q, IBV_WC_RECV, 0, 0, wire_get_BTH_se(h));
	ibp_resp_executed(q, wire_get_BTH_ack_req(h));
	return true;
}

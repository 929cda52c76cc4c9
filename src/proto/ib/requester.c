/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/requester.h"

#include "engine/mw.h"
#include "engine/qp_state.h"
#include "engine/ring.h"
#include "proto/ib/direct.h"
#include "proto/ib/post.h"
#include "proto/ib/migrate.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/retry.h"

void ibp_req_reset(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t psn = q->qp->attr.sq_psn & IBP_PSN_MASK;

	ut_timer_clear(&q->port->timers, &r->timer);
	q->send = (struct ibp_send){ .cur = q->qp->sq.head };
	*r = (struct ibp_req){
		.slow = IBP_REQ_UNCHOSEN | ibp_req_lasting(q),
		.psn_next = psn, .psn_una = psn, .psn_send = psn,
		.peer_psn = psn_add(psn, IBP_PSN_MASK),
		.retry_left = q->qp->attr.retry_cnt, .rnr_left = q->qp->attr.rnr_retry,
		.framing = &ibp_frame_wire, .deadline = UT_NEVER, .mtu = q->conn.mtu,
	};
	ibp_slow_state(q, q->qp);
	ibp_req_begin(q);
}
enum step { STEP_SENT, STEP_NEXT, STEP_STOP };

static bool is_send(uint8_t op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_SEND_WITH_INV;
}

static bool is_read_or_atomic(uint8_t op)
{
	return op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_local(uint8_t op)
{
	return op == IBV_WR_LOCAL_INV || op == IBV_WR_BIND_MW;
}

/* enum wire_ib_message of each packet of a message, by its position. */
struct op_row {
	uint8_t first, middle, last, only;
};

#define OP_ROW(op, suffix)                                                             \
	{ WIRE_MSG_##op##_FIRST, WIRE_MSG_##op##_MIDDLE, WIRE_MSG_##op##_LAST##suffix, \
	  WIRE_MSG_##op##_ONLY##suffix }
#define OP_ROW_SINGLE(message) \
	{ WIRE_MSG_##message, WIRE_MSG_##message, WIRE_MSG_##message, WIRE_MSG_##message }

static const struct op_row op_rows[] = {
	[IBV_WR_RDMA_WRITE] = OP_ROW(RDMA_WRITE, ),
	[IBV_WR_RDMA_WRITE_WITH_IMM] = OP_ROW(RDMA_WRITE, _WITH_IMMEDIATE),
	[IBV_WR_SEND] = OP_ROW(SEND, ),
	[IBV_WR_SEND_WITH_IMM] = OP_ROW(SEND, _WITH_IMMEDIATE),
	[IBV_WR_RDMA_READ] = OP_ROW_SINGLE(RDMA_READ_REQUEST),
	[IBV_WR_ATOMIC_CMP_AND_SWP] = OP_ROW_SINGLE(COMPARE_SWAP),
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = OP_ROW_SINGLE(FETCH_ADD),
	[IBV_WR_SEND_WITH_INV] = OP_ROW(SEND, _WITH_INVALIDATE),
};

static uint32_t packets_of(const struct ibp_qp *q, const struct eng_swqe *w)
{
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    w->length == 0)
		return 1;
	return (uint32_t)((w->length + q->conn.req.mtu - 1) / q->conn.req.mtu);
}

static bool sqd(const struct ibp_qp *q)
{
	return eng_qp_state(q->qp) == IBV_QPS_SQD;
}

/* Gives a work request its PSNs, when the cursor reaches it for the first time. */
static bool start(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;

	if (w->started)
		return true;
	if (sqd(q) && !q->send.begun)
		return false;
	q->send.begun = false;
	w->first_psn = r->psn_next;
	w->last_psn = psn_add(r->psn_next, packets_of(q, w) - 1);
	w->ssn = ++r->ssn;
	w->started = 1;
	if (w->opcode == IBV_WR_RDMA_READ)
		w->piece = ibp_req_piece(q);
	if (!ibp_may_be_direct(w->opcode))
		r->peer_psn = w->last_psn;
	return true;
}

static bool reads_done_before(struct ibp_qp *q, uint32_t index)
{
	struct eng_ring *sq = &q->qp->sq;

	for (uint32_t i = sq->head; i != index; i++) {
		struct eng_swqe *w = eng_ring_at(sq, i);

		if (is_read_or_atomic(w->opcode) && !w->done)
			return false;
	}
	return true;
}

/* Executes binds and invalidations: once, in order (IBTA 10.6.5.1, 10.6.7.2). */
static enum step run_local(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;
	enum eng_verdict v;

	if (!w->started) {
		if (sqd(q))
			return STEP_STOP;
		if (w->opcode == IBV_WR_LOCAL_INV && r->psn_una != r->psn_next)
			return STEP_STOP;
		if ((w->flags & IBV_SEND_FENCE) && !reads_done_before(q, q->send.cur))
			return STEP_STOP;
		v = w->opcode == IBV_WR_LOCAL_INV
			    ? eng_mkey_invalidate(q->qp, w->imm)
			    : eng_mw_bind(q->qp, w);
		w->started = w->done = 1;
		w->verdict = (uint8_t)v;
		if (v) {
			ibp_req_put(&q->conn.req, IBP_REQ_HALTED, true);
			ibp_req_complete(q);
			return STEP_STOP;
		}
	}
	q->send.cur++;
	ibp_req_complete(q);
	return STEP_NEXT;
}

/* Returns true if the packet at the cursor may leave now. n: the PSNs it uses. */
static bool may_send(struct ibp_qp *q, struct eng_swqe *w, uint32_t n)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t flight = (uint32_t)psn_diff(r->psn_send, r->psn_una);

	if (q->cls == WIRE_CLASS_UC)
		return true;
	if (r->framing == &ibp_frame_shm && w->length > IBP_SHM_PACKET && w->opcode != IBV_WR_RDMA_READ &&
	    flight >= IBP_SHM_HEAVY)
		return false;
	/* One packet is allowed beyond a window that shrank below the packets in flight: it asks
	 * for the acknowledgement that no packet in flight may have asked for. */
	if (flight && flight + n > r->window && r->since_ack != IBP_ASK_NOW)
		return false;
	if (is_read_or_atomic(w->opcode) && !ibp_req_depth_free(q))
		return false;
	if (q->send.pkt == 0 && (w->flags & IBV_SEND_FENCE) && !reads_done_before(q, q->send.cur))
		return false;
	/* One message beyond the credit limit is allowed, to ask for credits (9.7.7.2.5). */
	if (ibp_req_is(r, IBP_REQ_LIMITED) && (is_send(w->opcode) || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM) &&
	    (int32_t)((w->ssn - r->lsn - 1) << 8) > 0)
		return false;
	return true;
}

static bool want_ack(struct ibp_qp *q, bool last)
{
	struct ibp_req *r = &q->conn.req;
	bool heavy = r->framing == &ibp_frame_shm && r->window > IBP_SHM_HEAVY;
	uint32_t window = heavy ? IBP_SHM_HEAVY : r->window;
	uint32_t quarter = window / 4 ? window / 4 : 1;

	if (q->cls == WIRE_CLASS_UC)
		return false;
	if (!last && r->since_ack != IBP_ASK_NOW && ++r->since_ack < quarter)
		return false;
	r->since_ack = 0;
	return true;
}

static uint8_t pick_opcode(const struct ibp_qp *q, const struct eng_swqe *w, uint32_t n)
{
	const struct op_row *row = &op_rows[w->opcode];
	uint32_t pkt = q->send.pkt;
	uint8_t low = n == 1 ? row->only :
		      pkt == 0 ? row->first :
		      pkt == n - 1 ? row->last : row->middle;

	return q->cls | low;
}

static void fill_packet(struct ibp_qp *q, const struct eng_swqe *w, struct wire_ib_packet *p,
			uint32_t packets)
{
	struct ibp_req *r = &q->conn.req;
	uint64_t off = (uint64_t)q->send.pkt * q->conn.req.mtu;
	bool last = q->send.pkt == packets - 1;

	*p = (struct wire_ib_packet){
		.opcode = pick_opcode(q, w, packets), .psn = r->psn_send, .pkey = q->conn.pkey,
		.migreq = ibp_migreq(q), .dest_qpn = q->qp->attr.dest_qp_num, .srqn = w->srqn,
		.va = w->remote_addr, .rkey = w->rkey, .dma_len = (uint32_t)w->length,
		.se = last && (w->flags & IBV_SEND_SOLICITED) &&
		      (is_send(w->opcode) || w->opcode == IBV_WR_RDMA_WRITE_WITH_IMM),
		.imm = w->imm,
	};
	if (w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		p->swap_add = w->atomic.swap;
		p->compare = w->atomic.compare_add;
	} else if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		p->swap_add = w->atomic.compare_add;
	} else if (w->opcode == IBV_WR_RDMA_READ) {
		p->va = w->remote_addr + off;
	} else {
		p->payload_len = last ? (uint32_t)(w->length - off) : q->conn.req.mtu;
		p->pad = -p->payload_len & 3;
	}
}

/* Returns the end, in packets, of the piece of a READ that the cursor is in. */
static uint32_t piece_end(const struct eng_swqe *w, uint32_t pkt, uint32_t packets)
{
	uint32_t end = (pkt / w->piece + 1) * w->piece;

	return end < packets ? end : packets;
}

/* Names the payload of the packet. Returns the number of pieces or a negative verdict. */
static int payload(struct ibp_qp *q, struct eng_swqe *w, const struct wire_ib_packet *p,
		   struct iovec *iov, int max, bool *user)
{
	uint64_t off = (uint64_t)q->send.pkt * q->conn.req.mtu;

	*user = false;
	if (!p->payload_len)
		return 0;
	if (w->flags & IBV_SEND_INLINE) {
		iov[0] = (struct iovec){ eng_swqe_inline(w) + off, p->payload_len };
		return 1;
	}
	*user = true;
	return eng_sge_iov(q->qp->pd, w->sge, w->num_sge, off, p->payload_len, false, iov, max);
}

static void advance(struct ibp_qp *q, struct eng_swqe *w, uint32_t psns, uint32_t packets)
{
	struct ibp_req *r = &q->conn.req;
	bool fresh = r->psn_send == r->psn_next;

	if (!fresh)
		ibp_count(q->port, ENG_C_retransmits);
	r->psn_send = psn_add(r->psn_send, psns);
	if (psn_diff(r->psn_send, r->psn_next) > 0)
		r->psn_next = r->psn_send;
	if (is_read_or_atomic(w->opcode)) {
		if (q->send.pkt && fresh)
			r->ssn++; /* each piece of a READ is a message to the peer */
		ibp_req_depth_use(r, psn_add(r->psn_send, IBP_PSN_MASK));
	}
	q->send.pkt += psns;
	if (q->send.pkt == packets) {
		q->send.pkt = 0;
		q->send.cur++;
	}
	ibp_req_moved(q);
}

static void halt(struct ibp_qp *q, struct eng_swqe *w, enum eng_verdict v)
{
	w->verdict = (uint8_t)v;
	ibp_req_put(&q->conn.req, IBP_REQ_HALTED, true);
	ibp_req_complete(q);
}

/* Within a host the header of a Send may carry the acknowledgement that is due. */
static bool ack_first(struct ibp_qp *q, const struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;
	enum ibv_qp_state before = eng_qp_state(q->qp);
	uint32_t psn = r->psn_send;

	if (q->cls == WIRE_CLASS_XRC)
		return ibp_resp_ack_targets(q->port) && r->psn_send == psn && eng_qp_state(q->qp) == before;
	if (!q->conn.resp.ack_due || (r->framing == &ibp_frame_shm && is_send(w->opcode) && ibp_resp_may_ack_along(q)))
		return true;
	return ibp_resp_ack_first(q) && r->psn_send == psn && eng_qp_state(q->qp) == before;
}

/* The middle packets behind one that is in the train: all that send_packet() would find out again is as it was. */
static void fill_train(struct ibp_qp *q, struct eng_swqe *w, uint32_t packets)
{
	struct ibp_req *r = &q->conn.req;
	struct iovec v;

	while (q->send.pkt + 1 < packets && ibp_train_has_room(q->port, q, false) && may_send(q, w, 1) &&
	       eng_sge_iov(q->qp->pd, w->sge, w->num_sge, (uint64_t)q->send.pkt * r->mtu, r->mtu, false, &v, 1) == 1) {
		ibp_train_add_alike(q, r->psn_send, want_ack(q, false), &v);
		advance(q, w, 1, packets);
	}
}

static bool may_fill(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return r->framing == &ibp_frame_wire && !q->port->train.ready && q->cls == WIRE_CLASS_RC &&
	       !q->conn.resp.ack_due;
}

static enum step send_packet(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t packets = packets_of(q, w), psns = 1;
	struct wire_ib_packet p;
	struct iovec *iov;
	bool user, middle;
	int max, n;

	if (w->opcode == IBV_WR_RDMA_READ)
		psns = piece_end(w, q->send.pkt, packets) - q->send.pkt;
	if (!may_send(q, w, psns) || !ack_first(q, w))
		return STEP_STOP;
	fill_packet(q, w, &p, packets);
	if (w->opcode == IBV_WR_RDMA_READ) {
		uint64_t left = w->length - (uint64_t)q->send.pkt * q->conn.req.mtu;
		uint64_t piece = (uint64_t)psns * q->conn.req.mtu;

		p.dma_len = (uint32_t)(left < piece ? left : piece);
	}
	iov = r->framing->begin(q, false, ibp_packet_size(wire_ib_shape(p.opcode), p.payload_len), &max);
	/* Making room may have found a fault in an earlier packet. */
	if (!iov || r->psn_send != p.psn)
		return STEP_STOP;
	n = payload(q, w, &p, iov, max, &user);
	if (n < 0) {
		halt(q, w, (enum eng_verdict)-n);
		return STEP_STOP;
	}
	p.ack_req = want_ack(q, q->send.pkt + psns == packets);
	if (r->framing->end(q, &p, n, user) < 0) {
		halt(q, w, ENG_V_LOC_FAULT);
		return STEP_STOP;
	}
	middle = user && n == 1 && q->send.pkt && q->send.pkt + 1 < packets && may_fill(q);
	advance(q, w, psns, packets);
	if (middle)
		fill_train(q, w, packets);
	return STEP_SENT;
}

/* A UC request is complete once the link has its last packet. */
static void uc_done(struct ibp_qp *q, struct eng_swqe *w)
{
	w->done = 1;
	q->conn.req.psn_una = q->conn.req.psn_send;
}

static enum step run_one(struct ibp_qp *q)
{
	struct eng_swqe *w = eng_ring_at(&q->qp->sq, q->send.cur);
	uint32_t cur = q->send.cur;
	enum step s;

	if (is_local(w->opcode) && !w->verdict)
		return run_local(q, w);
	if (ibp_direct_is_open(q)) {
		if (ibp_direct(q, w, 0))
			return STEP_SENT;
		if (ibp_direct_next(q, w))
			return STEP_STOP;
	}
	if (!start(q, w))
		return STEP_STOP;
	if (w->verdict || w->length > q->port->dev->max_msg_sz) {
		halt(q, w, w->verdict ? (enum eng_verdict)w->verdict : ENG_V_LOC_LEN);
		return STEP_STOP;
	}
	s = send_packet(q, w);
	if (s == STEP_SENT && q->cls == WIRE_CLASS_UC && q->send.cur != cur)
		uc_done(q, w);
	return s;
}

void ibp_req_fault(struct ibp_qp *q, uint32_t psn)
{
	uint32_t index;
	struct eng_swqe *w = ibp_req_find(q, psn, &index);

	if (!w)
		return;
	/* Packets behind it must not leave; those before it still may. */
	q->send.cur = index;
	q->send.pkt = (uint32_t)psn_diff(psn, w->first_psn);
	q->conn.req.psn_send = psn;
	ibp_req_moved(q);
	w->done = 0;
	halt(q, w, ENG_V_LOC_FAULT);
}

void ibp_req_run(struct ibp_qp *q, uint32_t budget)
{
	struct ibp_req *r = &q->conn.req;
	enum ibv_qp_state st = eng_qp_state(q->qp);
	uint32_t before = q->port->sent;

	if (ibp_req_is(r, IBP_REQ_UNCHOSEN) && q->send.cur != q->qp->sq.tail && !ibp_shm_choose(q)) {
		q->send.begun |= st == IBV_QPS_RTS &&
			    !is_local(((struct eng_swqe *)eng_ring_at(&q->qp->sq, q->send.cur))->opcode);
		ibp_activate(q);
		return;
	}
	/* A request that failed at this end does not stop the repetition: the requests before it
	 * may be lost. */
	while (!ibp_req_is(r, IBP_REQ_RNR_WAIT) && (st == IBV_QPS_RTS || st == IBV_QPS_SQD) &&
	       q->send.cur != atomic_load_explicit(&q->qp->sq.tail, memory_order_acquire)) {
		uint32_t sent = q->port->sent - before;

		if (sent >= budget && (!q->send.pkt || ibp_train_ends_turn(q, false, sent, budget))) {
			ibp_activate(q);
			break;
		}
		if (!ibp_post_packets(q, sent < budget ? budget - sent : 1) &&
		    run_one(q) == STEP_STOP)
			break;
		st = eng_qp_state(q->qp);
	}
	if (st != IBV_QPS_RTS && st != IBV_QPS_SQD)
		return;
	if (q->cls == WIRE_CLASS_UC) {
		r->framing->flush(q->port);
		ibp_req_complete(q);
	}
	if (q->port->blocked)
		ibp_activate(q);
	if (q->cls != WIRE_CLASS_UC && ibp_req_outstanding(q) && !ibp_req_is(r, IBP_REQ_RNR_WAIT) &&
	    r->deadline == UT_NEVER)
		ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
}

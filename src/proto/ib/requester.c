/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/requester.h"

#include "engine/complete.h"
#include "engine/mw.h"
#include "engine/qp_state.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "proto/ib/direct.h"
#include "proto/ib/faults.h"
#include "proto/ib/fast.h"
#include "proto/ib/migrate.h"
#include "proto/ib/qp.h"
#include "proto/ib/responder.h"
#include "util/clock.h"

#include <endian.h>
#include <string.h>

/* --- bookkeeping --- */

static uint32_t unruled_limit(const struct ibp_qp *q)
{
	uint32_t bytes = q->port->cfg.window_bytes ? q->port->cfg.window_bytes
						   : q->port->link->rx_window;
	uint32_t unit = q->conn.mtu < 1024 ? 1024 : q->conn.mtu;
	uint32_t n = bytes / unit;

	if (q->conn.req.framing == &ibp_frame_shm)
		return IBP_SHM_WINDOW;
	return n < 2 * IBP_READ_CHUNK ? 2 * IBP_READ_CHUNK : n > 4096 ? 4096 : n;
}

static uint32_t window_limit(struct ibp_qp *q)
{
	uint32_t limit = unruled_limit(q);

	return q->port->rules ? ibp_fault_window(q, limit) : limit;
}

void ibp_req_open(struct ibp_qp *q)
{
	q->conn.req.window = q->conn.req.threshold = window_limit(q);
}

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
		.framing = &ibp_frame_wire, .threshold = UINT32_MAX, .deadline = UT_NEVER, .mtu = q->conn.mtu,
	};
	ibp_slow_state(q, q->qp);
	r->window = window_limit(q);
	if (r->window > 32)
		r->window = 32;
}

void ibp_req_arm(struct ibp_qp *q, uint64_t delay)
{
	q->conn.req.deadline = delay ? q->port->now + delay : UT_NEVER;
	/* Only earlier deadlines move the timer; a later one is found when the timer fires, so that
	 * an acknowledgement costs no heap operation. */
	if (delay && (!ut_timer_queued(&q->conn.req.timer) || q->conn.req.timer.at > q->conn.req.deadline))
		ut_timer_set(&q->port->timers, &q->conn.req.timer, q->conn.req.deadline);
}

void ibp_req_grow(struct ibp_qp *q, uint32_t packets)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t limit = window_limit(q);

	if (r->window < r->threshold) {
		r->window += packets;
	} else if ((r->grown += packets) >= r->window) {
		r->grown = 0;
		r->window++;
	}
	if (r->window > limit)
		r->window = limit;
}

void ibp_req_slow_down(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t limit = window_limit(q), most = limit < IBP_WINDOW_MIN ? limit : IBP_WINDOW_MIN;

	r->window = r->window / 2 > most ? r->window / 2 : most;
	r->threshold = r->window;
	r->grown = 0;
	r->since_ack = IBP_ASK_NOW;
}

static void progressed(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	r->retry_left = q->qp->attr.retry_cnt;
	r->rnr_left = q->qp->attr.rnr_retry;
	ibp_req_put(r, IBP_REQ_RECOVERING, false);
	ibp_req_depth_settle(r);
	if (!ibp_req_is(r, IBP_REQ_RNR_WAIT))
		ibp_req_arm(q, ibp_req_outstanding(q) ? ibp_timeout_ns(q->qp->attr.timeout) : 0);
	ibp_activate(q);
}

static struct eng_swqe *find(struct ibp_qp *q, uint32_t psn, uint32_t *index)
{
	struct eng_ring *sq = &q->qp->sq;

	for (uint32_t i = sq->head; i != sq->tail; i++) {
		struct eng_swqe *w = eng_ring_at(sq, i);

		*index = i;
		if (!w->started)
			return NULL;
		if (w->opcode == IBV_WR_LOCAL_INV || w->opcode == IBV_WR_BIND_MW)
			continue;
		if (psn_diff(psn, w->last_psn) <= 0)
			return w;
	}
	*index = sq->tail;
	return NULL;
}

static void seek(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	struct eng_swqe *w = find(q, r->psn_una, &q->send.cur);

	q->send.pkt = w ? (uint32_t)psn_diff(r->psn_una, w->first_psn) : 0;
	r->psn_send = r->psn_una;
	ibp_req_moved(q);
	ibp_activate(q);
}

static void go_back(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	seek(q);
	r->rd_count = 0;
	ibp_req_put(r, IBP_REQ_RECOVERING, true);
	r->since_ack = IBP_ASK_NOW; /* repeating the first packet asks for an acknowledgement */
}

/* The oldest request ends with an error, and the queue pair with it. */
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
		eng_dev_held(q->port->dev);
		eng_generation_end(q->port->dev, q->qp->qpn);
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

/* Each retry waits twice as long, up to the four times that IBTA allows a timeout to be late (9.7.6.1.3): one
 * loss costs no more than before, and a peer that waits for a processor has more time to answer. A timeout of a
 * second and more leaves it that time without this. */
static void arm_again(struct ibp_qp *q)
{
	unsigned int retries = q->qp->attr.retry_cnt - q->conn.req.retry_left;
	uint64_t once = ibp_timeout_ns(q->qp->attr.timeout), later = once << (retries < 2 ? retries : 2);

	if (later > UT_S)
		later = once > UT_S ? once : UT_S;
	ibp_req_arm(q, later);
}

void ibp_req_timer(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	enum ibv_qp_state st = eng_qp_state(q->qp);
	bool unread, busy;

	if (r->deadline == UT_NEVER || (st != IBV_QPS_RTS && st != IBV_QPS_SQD))
		return;
	if (r->deadline > q->port->now) {
		ut_timer_set(&q->port->timers, &r->timer, r->deadline);
		return;
	}
	if (ibp_req_is(r, IBP_REQ_RNR_WAIT)) {
		ibp_req_put(r, IBP_REQ_RNR_WAIT, false);
		go_back(q);
		ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
		return;
	}
	if (!ibp_req_outstanding(q))
		return;
	/* The peer has not consumed the packet in the ring yet: it is only late, and must not get
	 * the packet twice. */
	unread = r->framing->unread(q, &busy);
	if (unread && busy) {
		ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
		return;
	}
	ibp_count(q->port, ENG_C_local_ack_timeout_err);
	if (r->retry_left == 0 && !ibp_migrate(q)) {
		ibp_req_fail_head(q, ENG_V_RETRY_EXC);
		return;
	}
	r->retry_left = r->retry_left ? r->retry_left - 1 : q->qp->attr.retry_cnt;
	ibp_req_put(r, IBP_REQ_LIMITED, false);
	if (unread) {
		arm_again(q);
		return;
	}
	ibp_req_slow_down(q);
	go_back(q);
	arm_again(q);
}

/* IBTA table 45 in units of 10 us. */
static const uint32_t rnr_units[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
	49152,
};

uint64_t ibp_rnr_ns(uint8_t code)
{
	return rnr_units[code & 31] * 10000ull;
}

/* --- sending --- */

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
	if (r->framing == &ibp_frame_shm && w->length > IBP_SHM_COPY && w->opcode != IBV_WR_RDMA_READ &&
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
static uint32_t chunk_end(uint32_t pkt, uint32_t packets)
{
	uint32_t end = (pkt / IBP_READ_CHUNK + 1) * IBP_READ_CHUNK;

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

static enum step send_packet(struct ibp_qp *q, struct eng_swqe *w)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t packets = packets_of(q, w), psns = 1;
	struct wire_ib_packet p;
	struct iovec *iov;
	bool user;
	int max, n;

	if (w->opcode == IBV_WR_RDMA_READ)
		psns = chunk_end(q->send.pkt, packets) - q->send.pkt;
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
	if (ibp_req_is(r, IBP_REQ_PLAIN)) {
		ibp_req_put(r, IBP_REQ_PLAIN, psn_diff(p.psn, r->plain_until) < 0);
		q->port->shm.say_plain = ibp_req_is(r, IBP_REQ_PLAIN) && w->opcode == IBV_WR_RDMA_READ;
	}
	if (r->framing->end(q, &p, n, user) < 0) {
		halt(q, w, ENG_V_LOC_FAULT);
		return STEP_STOP;
	}
	advance(q, w, psns, packets);
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
	struct eng_swqe *w = find(q, psn, &index);

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
		if (q->port->sent - before >= budget) {
			ibp_activate(q);
			break;
		}
		if (!ibp_fast_send(q, budget - (q->port->sent - before)) &&
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

/* --- responses --- */

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
	struct eng_swqe *w = find(q, r->psn_una, &i);
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
			seek(q);
		ibp_req_grow(q, (uint32_t)psn_diff(r->psn_una, before));
		progressed(q);
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
	go_back(q);
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
	if (q->port->shm.plain)
		ibp_shm_plain(q);
	whole = acknowledge(q, p->psn);
	if (ibp_req_is(&q->conn.req, IBP_REQ_RNR_WAIT) || eng_qp_state(q->qp) == IBV_QPS_ERR)
		return;
	q->conn.req.retry_left = q->qp->attr.retry_cnt;
	if (ibp_req_is(&q->conn.req, IBP_REQ_RECOVERING) && q->conn.req.psn_una == before)
		return;
	if (!whole)
		ibp_count(q->port, ENG_C_implied_nak_seq_err);
	ibp_req_slow_down(q);
	go_back(q);
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

/* The answer names memory that cannot be read any more: asked again, the responder finds the fault. */
static void ask_plain(struct ibp_qp *q, uint32_t psn)
{
	struct ibp_req *r = &q->conn.req;

	/* A second answer to a request that was asked again; a plain one follows. Against a peer
	 * that never sends it there is the timer. */
	if (ibp_req_is(r, IBP_REQ_PLAIN) && psn_diff(psn, r->plain_until) < 0 && !q->port->shm.plain)
		return;
	ibp_count(q->port, ENG_C_local_again);
	ibp_shm_plain(q);
	go_back(q);
}

/* The oldest data that is missing has come, at `off` of the train's stage (scratch) or as the
 * payload of a packet. */
static void take_data(struct ibp_qp *q, struct eng_swqe *w, bool scratch, size_t off,
		      uint32_t len, uint64_t skip, bool last)
{
	struct iovec iov[40];
	uint32_t psn = q->conn.req.psn_una;
	int n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, skip, len, true, iov, 36);

	if (n >= 0) {
		int r = scratch ? ibp_scatter(&q->port->train.stage, off, iov, n, len, last)
				: q->conn.req.framing->place(q, false, off, iov, n, len, last);

		if (r == IBP_AGAIN) {
			ask_plain(q, psn);
			return;
		}
		if (r < 0)
			n = -ENG_V_LOC_FAULT;
	}
	if (n < 0) {
		ibp_req_fail_head(q, (enum eng_verdict)-n);
		return;
	}
	w->done = last;
	q->conn.req.psn_una = psn_add(psn, 1);
	if (psn_diff(q->conn.req.psn_una, q->conn.req.psn_send) > 0)
		seek(q);
	ibp_req_grow(q, 1);
	progressed(q);
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
	w = find(q, p->psn, &index);
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

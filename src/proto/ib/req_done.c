/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requester, bookkeeping half: completion in posting order, the one timer,
 * going back, and the window.
 *
 * The window grows by one packet per round trip (doubling until the first
 * loss) and halves on a loss, bounded by what the peer's socket can hold. It
 * is no fairness scheme, only what keeps go-back-N from feeding on itself.
 */
#include "proto/ib/port.h"

static uint32_t window_limit(const struct ibp_qp *q)
{
	uint32_t bytes = q->port->cfg.window_bytes ? q->port->cfg.window_bytes
						   : q->port->link->rx_window;
	uint32_t unit = q->conn.mtu < 1024 ? 1024 : q->conn.mtu;
	uint32_t n = bytes / unit;

	if (q->conn.req.local)
		return IBP_SHM_WINDOW;
	return n < 2 * IBP_READ_CHUNK ? 2 * IBP_READ_CHUNK : n > 4096 ? 4096 : n;
}

void ibp_req_reset(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	uint32_t psn = q->qp->attr.sq_psn & IBP_PSN_MASK;

	ut_timer_clear(&q->port->timers, &r->timer);
	q->send = (struct ibp_send){ .cur = q->qp->sq.head };
	*r = (struct ibp_req){
		.slow = IBP_REQ_UNCHOSEN | (q->qp->type == IBV_QPT_RC ? 0 : IBP_REQ_SERVICE),
		.psn_next = psn, .psn_una = psn, .psn_send = psn,
		.peer_psn = psn_add(psn, IBP_PSN_MASK),
		.retry_left = q->qp->attr.retry_cnt, .rnr_left = q->qp->attr.rnr_retry,
		.threshold = UINT32_MAX, .deadline = UT_NEVER, .mtu = q->conn.mtu,
	};
	ibp_slow_state(q, q->qp);
	r->window = window_limit(q) < 32 ? window_limit(q) : 32;
}

bool ibp_req_outstanding(const struct ibp_qp *q)
{
	return q->conn.req.psn_una != q->conn.req.psn_next;
}

void ibp_req_arm(struct ibp_qp *q, uint64_t delay)
{
	q->conn.req.deadline = delay ? q->port->now + delay : UT_NEVER;
	/* Only earlier deadlines move the timer; later ones are found out when
	 * it fires, so that an acknowledgement costs no heap operation. */
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

	r->window = r->window / 2 > IBP_WINDOW_MIN ? r->window / 2 : IBP_WINDOW_MIN;
	r->threshold = r->window;
	r->grown = 0;
	r->since_ack = IBP_ASK_NOW;
}

void ibp_req_progress(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	r->retry_left = q->qp->attr.retry_cnt;
	r->rnr_left = q->qp->attr.rnr_retry;
	ibp_req_put(r, IBP_REQ_RECOVERING, false);
	while (r->rd_count && psn_diff(r->psn_una, r->rd_last[r->rd_head]) > 0) {
		r->rd_head = (r->rd_head + 1) % IBP_RD_ATOMIC;
		r->rd_count--;
	}
	if (!ibp_req_is(r, IBP_REQ_RNR_WAIT))
		ibp_req_arm(q, ibp_req_outstanding(q) ? ibp_timeout_ns(q->qp->attr.timeout) : 0);
	ibp_activate(q);
}

struct eng_swqe *ibp_req_find(struct ibp_qp *q, uint32_t psn, uint32_t *index)
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

void ibp_req_seek(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;
	struct eng_swqe *w = ibp_req_find(q, r->psn_una, &q->send.cur);

	q->send.pkt = w ? (uint32_t)psn_diff(r->psn_una, w->first_psn) : 0;
	r->psn_send = r->psn_una;
	ibp_req_moved(q);
	ibp_activate(q);
}

void ibp_req_go_back(struct ibp_qp *q)
{
	struct ibp_req *r = &q->conn.req;

	ibp_req_seek(q);
	r->rd_count = 0;
	ibp_req_put(r, IBP_REQ_RECOVERING, true);
	r->since_ack = IBP_ASK_NOW; /* the first packet again asks for an answer */
}

/* The oldest request ends with an error, and the QP with it. */
void ibp_req_fail_head(struct ibp_qp *q, enum eng_verdict v)
{
	struct eng_why why = { 0 };
	struct eng_swqe *w;
	bool datagram = q->qp->type == IBV_QPT_UC || q->qp->type == IBV_QPT_UD;

	/* What was put together of it leaves before its buffer is given back; the
	 * flush may find a fault of its own and end the queue. */
	if (!q->port->train.waiting && ibp_train_has(q->port, q)) {
		enum ibv_qp_state before = eng_qp_state(q->qp);

		ibp_train_flush(q->port);
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
	/* Unreliable services stop sending only; receiving goes on (10.3.1.7). */
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

/* Unreliable messages are complete when the link has them, not before. */
static bool on_the_way(const struct ibp_qp *q)
{
	return (q->cls == WIRE_CLASS_UC || q->cls == WIRE_CLASS_UD) && ibp_train_has(q->port, q);
}

void ibp_req_complete(struct ibp_qp *q)
{
	struct eng_ring *sq = &q->qp->sq;
	struct eng_swqe *w;

	if (on_the_way(q))
		return;
	/* A completion may overrun its queue, which stops the QP. */
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

/*
 * After each retry twice as long, up to the four times that IBTA allows a timeout to be late: one loss
 * costs no more than before, and a peer that waits for a processor has three times as long to answer.
 */
static void arm_again(struct ibp_qp *q)
{
	unsigned int retries = q->qp->attr.retry_cnt - q->conn.req.retry_left;

	ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout) << (retries < 2 ? retries : 2));
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
		ibp_req_go_back(q);
		ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
		return;
	}
	if (!ibp_req_outstanding(q))
		return;
	/* The peer has not come to it. While it works it is only late, and must not find it twice. */
	unread = ibp_shm_unread(q, &busy);
	if (unread && busy) {
		ibp_req_arm(q, ibp_timeout_ns(q->qp->attr.timeout));
		return;
	}
	ibp_count(q->port, ENG_C_local_ack_timeout_err);
	if (r->retry_left == 0) {
		ibp_req_fail_head(q, ENG_V_RETRY_EXC);
		return;
	}
	r->retry_left--;
	ibp_req_put(r, IBP_REQ_LIMITED, false);
	if (unread) {
		arm_again(q);
		return;
	}
	ibp_req_slow_down(q);
	ibp_req_go_back(q);
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

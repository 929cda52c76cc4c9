/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/retry.h"

#include "engine/ring.h"
#include "proto/ib/faults.h"
#include "proto/ib/migrate.h"
#include "proto/ib/requester.h"
#include "proto/ib/responses.h"
#include "util/clock.h"

#define WINDOW_FIRST 32u /* packets, until the first acknowledgement */
#define PIECE_LEAST 16u  /* packets of a piece of a READ, whatever the window is */
#define PIECE_BYTES (256u << 10)
#define PIECE_ENDS 3u    /* packets of a piece that are not in full trains */

/* --- the window --- */

static uint32_t unruled_limit(const struct ibp_qp *q)
{
	uint32_t bytes = q->port->cfg.window_bytes ? q->port->cfg.window_bytes
						   : q->port->link->rx_window;
	uint32_t unit = q->conn.mtu < 1024 ? 1024 : q->conn.mtu;
	uint32_t n = bytes / unit;

	if (q->conn.req.framing == &ibp_frame_shm)
		return IBP_SHM_WINDOW;
	return n < 2 * PIECE_LEAST ? 2 * PIECE_LEAST : n > 4096 ? 4096 : n;
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

void ibp_req_begin(struct ibp_qp *q)
{
	uint32_t limit = window_limit(q);

	q->conn.req.threshold = UINT32_MAX;
	q->conn.req.window = limit < WINDOW_FIRST ? limit : WINDOW_FIRST;
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

uint16_t ibp_req_piece(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;
	uint32_t train = ibp_train_packets(q->port, WIRE_BTH_LEN + r->mtu + WIRE_ICRC_LEN);
	uint32_t most = PIECE_BYTES / r->mtu;

	if (most > r->window / 2)
		most = r->window / 2;
	if (r->framing == &ibp_frame_shm || !train || most < PIECE_ENDS + train)
		return PIECE_LEAST;
	return (uint16_t)(PIECE_ENDS + (most - PIECE_ENDS) / train * train);
}

/* --- the cursor goes back --- */

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
	r->since_ack = IBP_ASK_NOW; /* repeating the first packet asks for an acknowledgement */
}

/* --- the timer --- */

void ibp_req_arm(struct ibp_qp *q, uint64_t delay)
{
	q->conn.req.deadline = delay ? q->port->now + delay : UT_NEVER;
	/* Only earlier deadlines move the timer; a later one is found when the timer fires, so that
	 * an acknowledgement costs no heap operation. */
	if (delay && (!ut_timer_queued(&q->conn.req.timer) || q->conn.req.timer.at > q->conn.req.deadline))
		ut_timer_set(&q->port->timers, &q->conn.req.timer, q->conn.req.deadline);
}

void ibp_req_progressed(struct ibp_qp *q)
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
		ibp_req_go_back(q);
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

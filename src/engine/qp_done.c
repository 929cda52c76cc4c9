/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ends of work requests and of QPs. Each request that was taken ends here
 * exactly once: completed, failed, flushed, or dropped without a word by RESET.
 */
#include "engine/qp.h"
#include "engine/qp_attr.h"
#include "engine/recv_fill.h"
#include "engine/wr_table.h"

#include "engine/event.h"
#include "util/log.h"

#include <errno.h>

/* An XRC target may outlive the handle it was made with. */
static void tell(struct eng_qp *qp, enum ibv_event_type type)
{
	const struct eng_qp_hearer *h;

	if (qp->ctx)
		eng_async_raise(qp->ctx, type, qp->user);
	ut_list_each(h, &qp->hearers, node)
		eng_async_raise(h->ctx, type, h->user);
}

static void push(struct eng_qp *qp, struct eng_cq *cq, const struct eng_cqe *e,
		 enum eng_verdict overrun)
{
	if (eng_cq_push(cq, e))
		return;
	eng_qp_fail(qp, overrun, IBV_QPS_ERR, true);
	eng_dev_mark(qp->dev, qp);
}

static void send_end(struct eng_qp *qp, enum eng_verdict v)
{
	const struct eng_swqe *w = eng_ring_head(&qp->sq);
	struct eng_cqe e;
	bool loud;

	if (!w)
		return;
	loud = v != ENG_OK || (w->flags & IBV_SEND_SIGNALED);
	e = (struct eng_cqe){
		.wr_id = w->wr_id,
		.qpn = qp->qpn,
		.byte_len = (uint32_t)w->length,
		.vendor_err = (uint32_t)v,
		.status = (uint8_t)eng_verdicts[v].send,
		.opcode = (uint8_t)eng_wr_row(w->opcode)->wc,
		.qp = qp,
	};
	/* The slot first: whoever sees the completion may post at once, and must
	 * not find the queue full. Pairs with the poster's acquire. */
	eng_ring_drop(&qp->sq);
	if (loud)
		push(qp, qp->send_cq, &e, ENG_V_TX_CQ_FULL);
}

void eng_send_done(struct eng_qp *qp, enum eng_verdict v)
{
	send_end(qp, v);
}

void eng_send_flush(struct eng_qp *qp)
{
	send_end(qp, ENG_V_FLUSH);
}

void eng_recv_done(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, struct eng_cqe *e)
{
	e->wr_id = wr_id;
	e->status = IBV_WC_SUCCESS;
	e->vendor_err = 0;
	e->qpn = qp->qpn;
	e->qp = qp;
	push(qp, cq, e, ENG_V_RX_CQ_FULL);
}

void eng_recv_failed(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, enum eng_verdict v)
{
	struct eng_cqe e = {
		.wr_id = wr_id,
		.qpn = qp->qpn,
		.vendor_err = (uint32_t)v,
		.status = (uint8_t)eng_verdicts[v].recv,
		.opcode = IBV_WC_RECV,
		.qp = qp,
	};

	push(qp, cq, &e, ENG_V_RX_CQ_FULL);
}

bool eng_recv_take(struct eng_qp *qp, struct eng_rwqe *buf)
{
	return qp->srq ? eng_srq_take(qp->srq, buf) : eng_recv_pop(&qp->rq, buf);
}

static void fail(struct eng_qp *qp, enum eng_verdict v, enum ibv_qp_state next, int event)
{
	bool said = qp->why_said == v;

	qp->why_said = 0;
	if (eng_qp_state(qp) == IBV_QPS_ERR)
		return;
	if (!said)
		eng_why(qp, v, NULL);
	qp->why_said = 0;
	qp->sq_draining = qp->sqd_notify = false;
	eng_qp_set_state(qp, next);
	ut_debug("%s: QP 0x%06x is in error: %s", qp->dev->name, qp->qpn, eng_verdicts[v].name);
	if (event != ENG_NO_EVENT)
		tell(qp, (enum ibv_event_type)event);
}

void eng_qp_fail(struct eng_qp *qp, enum eng_verdict v, enum ibv_qp_state next, bool raise)
{
	fail(qp, v, next, raise ? eng_verdicts[v].event : ENG_NO_EVENT);
}

void eng_qp_fail_stream(struct eng_qp *qp, enum eng_verdict v)
{
	fail(qp, v, IBV_QPS_ERR, eng_verdicts[v].stream);
}

/* See eng_post_recv(): what is posted behind these is flushed by its poster. */
static void flush_receives(struct eng_qp *qp)
{
	uint32_t n;

	ut_lock(&qp->rq.lock);
	n = eng_ring_used(&qp->rq);
	ut_unlock(&qp->rq.lock);
	while (n--) {
		const struct eng_rwqe *w = eng_ring_head(&qp->rq);
		uint64_t wr_id = w->wr_id;

		eng_ring_drop(&qp->rq);
		eng_recv_failed(qp, qp->recv_cq, wr_id, ENG_V_FLUSH);
	}
}

void eng_qp_flush(struct eng_qp *qp)
{
	/* The state is stored; see what was posted before it could be seen. */
	atomic_thread_fence(memory_order_seq_cst);
	while (eng_ring_used(&qp->sq))
		eng_send_flush(qp);
	if (eng_qp_state(qp) != IBV_QPS_ERR)
		return;
	flush_receives(qp);
	if (qp->srq && !qp->last_wqe_raised) {
		qp->last_wqe_raised = true;
		tell(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	}
}

bool eng_qp_flush_if_dead(struct eng_qp *qp)
{
	enum ibv_qp_state s = eng_qp_state(qp);

	if (s != IBV_QPS_ERR && s != IBV_QPS_SQE)
		return false;
	eng_qp_flush(qp);
	return true;
}

void eng_qp_comm_est(struct eng_qp *qp)
{
	if (qp->comm_est_raised)
		return;
	qp->comm_est_raised = true;
	qp->dev->proto->qp_state(qp);
	tell(qp, IBV_EVENT_COMM_EST);
}

void eng_qp_drained(struct eng_qp *qp)
{
	if (eng_qp_state(qp) != IBV_QPS_SQD || !qp->sq_draining)
		return;
	qp->sq_draining = false;
	if (qp->sqd_notify)
		tell(qp, IBV_EVENT_SQ_DRAINED);
	qp->sqd_notify = false;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/qp_state.h"

#include "engine/event.h"
#include "engine/pending.h"
#include "engine/qp.h"
#include "engine/qp_attr.h"
#include "engine/refuse.h"
#include "engine/why.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/probe.h"

#include <errno.h>
#include <sched.h>

/* A peer delays an acknowledgement by 50 us at most (device/progress/deferred.h); the rest is for its
 * thread to get a processor. */
#define ANSWER_NS 200000ull

void eng_qp_set_state(struct eng_qp *qp, enum ibv_qp_state to)
{
	eng_dev_held(qp->dev);
	UT_PROBE3(qp_state, qp->qpn, qp->attr.qp_state, to);
	if (to == IBV_QPS_ERR || to == IBV_QPS_RESET)
		eng_dev_revoke(qp->dev, qp->qpn);
	qp->attr.qp_state = to;
	qp->attr.cur_qp_state = to;
	atomic_store_explicit(&qp->state, (uint8_t)to, memory_order_seq_cst);
	qp->dev->proto->qp_state(qp);
}

void eng_qp_clear(struct eng_qp *qp)
{
	qp->attr = (struct ibv_qp_attr){
		.qp_state = eng_qp_state(qp),
		.cur_qp_state = eng_qp_state(qp),
		.path_mtu = IBV_MTU_256,
		.path_mig_state = IBV_MIG_MIGRATED,
		.port_num = qp->gsi ? ENG_PORT_NUM : 0, /* set at creation */
		.cap = qp->cap,
	};
	qp->sq_draining = qp->sqd_notify = false;
	qp->comm_est_raised = qp->last_wqe_raised = false;
	qp->why_said = 0;
	/* Posting threads read the state under these locks; it is RESET already. */
	eng_ring_clear(&qp->sq);
	eng_ring_clear(&qp->rq);
}

/* RNICs know one idle state, which a query reports as INIT. */
static enum ibv_qp_state reported(const struct eng_dev *dev, enum ibv_qp_state state)
{
	return dev->proto->streams && state == IBV_QPS_RESET ? IBV_QPS_INIT : state;
}

static enum eng_refusal fault_of(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
				 enum ibv_qp_state from, enum ibv_qp_state to)
{
	int required, optional;

	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != from &&
	    attr->cur_qp_state != reported(qp->dev, from))
		return ENG_R_QP_CURRENT;
	if (qp->dev->proto->streams)
		return eng_qp_stream_transition(from, to) ? eng_qp_check_stream_values(qp, attr, mask)
							  : ENG_R_QP_STATE;
	if (!eng_qp_transition(qp, from, to, &required, &optional))
		return ENG_R_QP_STATE;
	if ((mask & required) != required)
		return ENG_R_QP_MISSING;
	if (mask & ~(required | optional | IBV_QP_STATE))
		return ENG_R_QP_FOREIGN;
	if (qp->sq_draining && to != IBV_QPS_ERR && to != IBV_QPS_RESET)
		return ENG_R_QP_DRAINING;
	return eng_qp_check_values(qp, attr, mask, to);
}

static int check(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask, enum ibv_qp_state from,
		 enum ibv_qp_state to)
{
	int r = eng_refuse_qp(qp, fault_of(qp, attr, mask, from, to));

	return r < 0 ? r : qp->dev->proto->qp_check(qp, attr, mask, to);
}

static void take_path(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	if (mask & IBV_QP_PKEY_INDEX)
		to->pkey_index = from->pkey_index;
	if (mask & IBV_QP_PORT)
		to->port_num = from->port_num;
	if (mask & IBV_QP_AV)
		to->ah_attr = from->ah_attr;
	if (mask & IBV_QP_PATH_MTU)
		to->path_mtu = from->path_mtu;
	if (mask & IBV_QP_DEST_QPN)
		to->dest_qp_num = from->dest_qp_num;
	if (mask & IBV_QP_PATH_MIG_STATE)
		to->path_mig_state = from->path_mig_state;
}

static void take_rest(struct ibv_qp_attr *to, const struct ibv_qp_attr *from, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS)
		to->qp_access_flags = from->qp_access_flags;
	if (mask & IBV_QP_QKEY)
		to->qkey = from->qkey;
	if (mask & IBV_QP_TIMEOUT)
		to->timeout = from->timeout;
	if (mask & IBV_QP_RETRY_CNT)
		to->retry_cnt = from->retry_cnt;
	if (mask & IBV_QP_RNR_RETRY)
		to->rnr_retry = from->rnr_retry;
	if (mask & IBV_QP_RQ_PSN)
		to->rq_psn = from->rq_psn & 0xffffff;
	if (mask & IBV_QP_SQ_PSN)
		to->sq_psn = from->sq_psn & 0xffffff;
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = from->max_rd_atomic;
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = from->max_dest_rd_atomic;
	if (mask & IBV_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = from->min_rnr_timer;
	if (!(mask & IBV_QP_ALT_PATH))
		return;
	to->alt_ah_attr = from->alt_ah_attr;
	to->alt_pkey_index = from->alt_pkey_index;
	to->alt_port_num = from->alt_port_num;
	to->alt_timeout = from->alt_timeout;
}

static void move(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
		 enum ibv_qp_state from, enum ibv_qp_state to)
{
	take_path(&qp->attr, attr, mask);
	take_rest(&qp->attr, attr, mask);
	if (to == IBV_QPS_SQD && from == IBV_QPS_RTS) {
		qp->sqd_notify = (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY) && attr->en_sqd_async_notify;
		qp->attr.en_sqd_async_notify = qp->sqd_notify;
		qp->sq_draining = true;
	} else if (to != IBV_QPS_SQD) {
		qp->sq_draining = qp->sqd_notify = false;
	}
	eng_qp_set_state(qp, to);
	if (to == IBV_QPS_RESET)
		eng_qp_clear(qp);
	dev->proto->qp_moved(qp, from, mask);
	/* Requests may wait: to be flushed, or to be sent. */
	if (to == IBV_QPS_RTS || to == IBV_QPS_ERR)
		eng_dev_mark(dev, qp);
}

void eng_qp_move(struct eng_qp *qp, enum ibv_qp_state to)
{
	qp->sq_draining = qp->sqd_notify = false;
	eng_qp_set_state(qp, to);
	eng_dev_mark(qp->dev, qp);
}

/*
 * Packets that arrived before a queue pair ends count: a Send whose acknowledgement lies unread would be
 * flushed although the peer has received it, and so would one of the peer if its acknowledgement is delayed
 * here. Programs that end a connection over TCP are faster than either.
 */
static void settle(struct eng_dev *dev, struct eng_qp *qp, enum ibv_qp_state to)
	UT_REQUIRES(dev->lock)
{
	enum ibv_qp_state from = eng_qp_state(qp);
	uint64_t until;

	if ((to != IBV_QPS_ERR && to != IBV_QPS_RESET) ||
	    (from != IBV_QPS_RTR && from != IBV_QPS_RTS && from != IBV_QPS_SQD))
		return;
	/* If requests are pending, the first round only sends. */
	for (int i = 0; i < 2; i++)
		dev->ops->progress(dev);
	/* The peer may delay the acknowledgement of a message that its program has received already. */
	until = ut_now() + ANSWER_NS;
	while (eng_ring_used(&qp->sq) && eng_qp_state(qp) == from) {
		sched_yield();
		dev->ops->progress(dev);
		if (ut_now() > until)
			break;
	}
}

static int modify(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask)
	UT_REQUIRES(dev->lock)
{
	enum ibv_qp_state from = eng_qp_state(qp), to = mask & IBV_QP_STATE ? attr->qp_state : from;
	int r = check(qp, attr, mask, from, to);

	if (r == 0)
		move(dev, qp, attr, mask, from, to);
	return r;
}

int eng_qp_modify_held(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct eng_dev *dev = qp->dev;

	eng_dev_held(dev);
	return modify(dev, qp, attr, mask);
}

int eng_qp_modify(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct eng_dev *dev = qp->dev;
	int refused = dev->refuses(dev, "modify_qp");
	int r;

	if (refused < 0)
		return refused;
	if (mask & ~ENG_QP_STANDARD)
		return eng_refuse_qp(qp, ENG_R_QP_MASK);
	if (mask == 0)
		return 0;
	mask = eng_qp_drop_bits(qp->type, mask);
	ut_lock(&dev->lock);
	if (mask & IBV_QP_STATE)
		settle(dev, qp, attr->qp_state);
	r = modify(dev, qp, attr, mask);
	eng_dev_unlock(dev);
	return r;
}

int eng_qp_end(struct eng_dev *dev, uint32_t qpn)
{
	static const struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct eng_qp *qp;
	int r = 0;

	ut_lock(&dev->lock);
	qp = eng_qp_find(dev, qpn);
	/* A queue pair in RESET has nothing to end; no call of the program is refused. */
	if (qp && !dev->proto->streams && eng_qp_state(qp) == IBV_QPS_RESET)
		r = -EINVAL;
	else if (qp) {
		settle(dev, qp, IBV_QPS_ERR);
		r = check(qp, &attr, IBV_QP_STATE, eng_qp_state(qp), IBV_QPS_ERR);
	}
	if (qp && r == 0)
		move(dev, qp, &attr, IBV_QP_STATE, eng_qp_state(qp), IBV_QPS_ERR);
	eng_dev_unlock(dev);
	return r;
}

int eng_qp_query(struct eng_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct eng_dev *dev = qp->dev;

	if (mask & ~ENG_QP_STANDARD)
		return eng_refuse_qp(qp, ENG_R_QP_MASK);
	ut_lock(&dev->lock);
	*attr = qp->attr;
	attr->sq_draining = qp->sq_draining;
	attr->cap = qp->cap;
	attr->qp_state = attr->cur_qp_state = reported(dev, attr->qp_state);
	eng_dev_unlock(dev);
	return 0;
}

/* --- failure, and events about the state --- */

void eng_qp_tell(struct eng_qp *qp, enum ibv_event_type type)
{
	const struct eng_qp_hearer *h;

	if (qp->ctx)
		eng_async_raise(qp->ctx, type, qp->user);
	ut_list_each(h, &qp->hearers, node)
		eng_async_raise(h->ctx, type, h->user);
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
		eng_qp_tell(qp, (enum ibv_event_type)event);
}

void eng_qp_fail(struct eng_qp *qp, enum eng_verdict v, enum ibv_qp_state next, bool raise)
{
	fail(qp, v, next, raise ? eng_verdicts[v].event : ENG_NO_EVENT);
}

void eng_qp_fail_stream(struct eng_qp *qp, enum eng_verdict v)
{
	fail(qp, v, IBV_QPS_ERR, eng_verdicts[v].stream);
}

void eng_qp_comm_est(struct eng_qp *qp)
{
	if (qp->comm_est_raised)
		return;
	qp->comm_est_raised = true;
	qp->dev->proto->qp_state(qp);
	eng_qp_tell(qp, IBV_EVENT_COMM_EST);
}

void eng_qp_drained(struct eng_qp *qp)
{
	if (eng_qp_state(qp) != IBV_QPS_SQD || !qp->sq_draining)
		return;
	qp->sq_draining = false;
	if (qp->sqd_notify)
		eng_qp_tell(qp, IBV_EVENT_SQ_DRAINED);
	qp->sqd_notify = false;
}

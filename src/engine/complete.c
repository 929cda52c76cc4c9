/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/complete.h"

#include "engine/dev.h"
#include "engine/pending.h"
#include "engine/qp_state.h"
#include "engine/ring.h"

void eng_count_failed(struct eng_dev *dev, enum ibv_wc_status status, bool send)
{
	uint64_t *c = dev->counters;

	eng_dev_held(dev);
	if (status == IBV_WC_WR_FLUSH_ERR) {
		c[send ? ENG_C_req_cqe_flush_error : ENG_C_resp_cqe_flush_error]++;
		return;
	}
	c[send ? ENG_C_req_cqe_error : ENG_C_resp_cqe_error]++;
	if (!send) {
		c[ENG_C_resp_local_length_error] += status == IBV_WC_LOC_LEN_ERR;
		return;
	}
	c[ENG_C_req_remote_access_errors] += status == IBV_WC_REM_ACCESS_ERR;
	c[ENG_C_req_remote_invalid_request] += status == IBV_WC_REM_INV_REQ_ERR;
	c[ENG_C_retry_exceeded_err] += status == IBV_WC_RETRY_EXC_ERR;
	c[ENG_C_retry_rnr_exceeded_err] += status == IBV_WC_RNR_RETRY_EXC_ERR;
}

void eng_complete_apart(struct eng_qp *qp, struct eng_cq *cq, uint64_t wr_id, uint32_t bytes, uint8_t opcode, uint8_t flags,
			uint32_t imm, bool solicited, enum eng_verdict overrun)
{
	UT_PROBE5(complete, qp->qpn, wr_id, IBV_WC_SUCCESS, opcode, bytes);
	if (__builtin_expect(!eng_cq_enter_usual(cq, qp, wr_id, bytes, opcode, flags, imm, solicited), 0))
		eng_complete_overrun(qp, overrun);
}

void eng_complete_overrun(struct eng_qp *qp, enum eng_verdict v)
{
	eng_qp_fail(qp, v, IBV_QPS_ERR, true);
	eng_dev_mark(qp->dev, qp);
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

	eng_count_failed(qp->dev, eng_verdicts[v].recv, false);
	eng_complete(qp, cq, &e, ENG_V_RX_CQ_FULL);
}

/* A thread that posts further receives sees the state and flushes them (eng_post_recv). */
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
	/* The state is stored; requests that were posted before it could be seen are read behind this. */
	atomic_thread_fence(memory_order_seq_cst);
	while (eng_ring_used(&qp->sq))
		eng_send_done(qp, ENG_V_FLUSH);
	if (eng_qp_state(qp) != IBV_QPS_ERR)
		return;
	flush_receives(qp);
	if (qp->srq && !qp->last_wqe_raised) {
		qp->last_wqe_raised = true;
		eng_qp_tell(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
	}
}

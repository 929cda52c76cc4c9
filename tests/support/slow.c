/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/slow.h"

#include "proto/ib/requester.h"
#include "support/check.h"

#define FOLLOWS (IBP_REQ_SERVICE | IBP_REQ_STATE | IBP_REQ_IN_MESSAGE | IBP_REQ_BEHIND)

static uint32_t bit(bool on, uint32_t b)
{
	return on ? b : 0;
}

static void check_requester(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;
	uint32_t want = bit(q->qp->type != IBV_QPT_RC, IBP_REQ_SERVICE) |
			bit(eng_qp_state(q->qp) != IBV_QPS_RTS, IBP_REQ_STATE) |
			bit(q->send.pkt, IBP_REQ_IN_MESSAGE) |
			bit(r->psn_send != r->psn_next, IBP_REQ_BEHIND);

	CHECK_MSG((r->slow & FOLLOWS) == want, "req.slow 0x%x, state says 0x%x", r->slow, want);
	if (want & IBP_REQ_STATE)
		return;
	CHECK(!ibp_req_is(r, IBP_REQ_UNCHOSEN) || (r->framing == &ibp_frame_wire && !ibp_req_outstanding(q)));
	CHECK(!ibp_req_is(r, IBP_REQ_RNR_WAIT) || r->deadline != UT_NEVER);
	CHECK(!ibp_req_is(r, IBP_REQ_RECOVERING) || ibp_req_outstanding(q));
}

static void check_responder(const struct ibp_qp *q)
{
	const struct ibp_resp *r = &q->conn.resp;
	uint32_t follows = IBP_RESP_SERVICE | IBP_RESP_STATE | IBP_RESP_IN_MESSAGE;
	uint32_t want = bit(q->qp->type != IBV_QPT_RC, IBP_RESP_SERVICE) |
			bit(!ibp_resp_hears(q->qp), IBP_RESP_STATE) |
			bit(q->recv.message != IBP_NONE, IBP_RESP_IN_MESSAGE);

	CHECK_MSG((r->slow & follows) == want, "resp.slow 0x%x, state says 0x%x", r->slow, want);
	if (want & IBP_RESP_STATE)
		return;
	CHECK(!r->nak || ibp_resp_is(r, IBP_RESP_DEAD));
	CHECK(!(r->seq_due || r->rnr_due) || ibp_resp_is(r, IBP_RESP_GAP));
}

void slow_check(struct eng_qp *qp)
{
	ut_lock(&qp->dev->lock);
	check_requester(ibp_qp(qp));
	check_responder(ibp_qp(qp));
	ut_unlock(&qp->dev->lock);
}

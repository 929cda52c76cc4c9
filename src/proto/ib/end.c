/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How a QP ends, by the wish of its program or by a fault, and what becomes of its work then. */
#include "proto/ib/port.h"

#include <string.h>

void ibp_qp_stop(struct ibp_qp *q)
{
	ibp_train_leave(q->port, q);
	ibp_coalesce_end(q->port);
	if (q->port->placing.q == q)
		ibp_place_drop(q->port);
	if (q->forward)
		ibp_forward_stop(q);
	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
	ut_list_del(&q->active);
	ut_list_del(&q->conn.acks);
	ut_list_del(&q->conn.unarmed);
}

void ibp_recv_end(struct ibp_qp *q, enum eng_verdict v)
{
	struct eng_cq *cq = ibp_recv_cq(q);

	if (q->recv.have_rwqe && cq)
		eng_recv_failed(q->qp, cq, q->recv.rwqe->wr_id, v);
	q->recv.have_rwqe = false;
}

static void fail(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		 bool sending, struct eng_why *why)
{
	if (q->qp->type != IBV_QPT_UD) {
		memcpy(why->peer.raw, q->conn.path.flow.dst, 16);
		why->peer_qpn = q->qp->attr.dest_qp_num;
	}
	eng_why(q->qp, v, why);
	eng_qp_fail(q->qp, v, next, raise);
	if (next == IBV_QPS_ERR) {
		ibp_qp_stop(q);
		ibp_recv_end(q, sending ? ENG_V_FLUSH : v);
	}
	eng_qp_flush(q->qp);
}

void ibp_qp_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		  struct eng_why *why)
{
	fail(q, v, next, raise, false, why);
}

void ibp_send_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next,
		    struct eng_why *why)
{
	fail(q, v, next, false, true, why);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/uc.h"

#include "engine/qp_state.h"
#include "engine/why.h"
#include "proto/ib/qp.h"
#include "proto/ib/responder.h"

static void give_up(struct ibp_qp *q)
{
	ibp_recv_message(q, IBP_NONE);
	q->recv.skipping = true;
}

static void local_fault(struct ibp_qp *q, enum eng_verdict v)
{
	struct eng_why why = { .doing = "a receive" };

	ibp_qp_error(q, v, IBV_QPS_ERR, false, &why);
}

/*
 * Payload is placed after the packet was executed, when the train ends; here a place was not writable. A Send has consumed
 * a receive, whose completion reports the fault. A Write has none: UC drops it silently.
 */
void ibp_uc_fault(struct ibp_qp *q)
{
	bool send = q->recv.message == IBP_SEND;

	give_up(q);
	if (send)
		local_fault(q, ENG_V_LOC_FAULT);
}

void ibp_uc_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	bool begins = p->shape->flags & WIRE_F_START;
	int v;

	if (eng_qp_state(q->qp) == IBV_QPS_RTR)
		eng_qp_comm_est(q->qp);
	if (p->psn != r->epsn)
		give_up(q);
	r->epsn = p->psn;
	if (begins) {
		ibp_recv_message(q, IBP_NONE);
		q->recv.skipping = false;
		r->framing = q->port->arrived;
		r->mtu = q->port->arrived->unit(q);
	}
	if (q->recv.skipping) {
		r->epsn = psn_add(p->psn, 1);
		return;
	}
	v = ibp_resp_execute(q, p, rx);
	r->epsn = psn_add(p->psn, 1); /* also behind a packet that was refused, whose execution leaves it */
	if (v == ENG_OK)
		return;
	/* Faults of the receive's own memory complete it; all others are dropped: UC answers nothing. */
	give_up(q);
	if (v == ENG_V_LOC_KEY || v == ENG_V_LOC_PD || v == ENG_V_LOC_RIGHTS ||
	    v == ENG_V_LOC_BOUNDS || v == ENG_V_LOC_FAULT)
		local_fault(q, (enum eng_verdict)v);
	else if (v == IBP_RNR)
		ibp_count(q->port, ENG_C_rx_no_wqe);
}

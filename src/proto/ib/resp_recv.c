/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Responder of RC and XRC: PSN rules (IBTA 9.7.4) around the execution of
 * requests (resp_exec.c, resp_rd.c). Answers are not sent here but noted and
 * sent in order by resp_send.c.
 */
#include "proto/ib/port.h"

#include <stdlib.h>
#include <string.h>

void ibp_resp_reset(struct ibp_qp *q)
{
	q->recv = (struct ibp_recv){ .rwqe = q->recv.rwqe, .pd = q->qp->pd, .cq = q->qp->recv_cq };
	q->conn.resp = (struct ibp_resp){
		.slow = IBP_RESP_UNCHOSEN | (q->qp->type == IBV_QPT_RC ? 0 : IBP_RESP_SERVICE),
		.epsn = q->qp->attr.rq_psn & IBP_PSN_MASK, .mtu = q->conn.mtu,
	};
	ibp_slow_state(q, q->qp);
}

void ibp_resp_fatal(struct ibp_qp *q, enum eng_verdict v, uint32_t psn)
{
	struct ibp_resp *r = &q->conn.resp;

	r->nak = v;
	r->nak_psn = psn;
	ibp_resp_put(r, IBP_RESP_DEAD, true);
	r->ack_due = false;
	ibp_activate(q);
}

static void ahead(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;

	ibp_count(q->port, ENG_C_out_of_sequence);
	if (ibp_resp_is(r, IBP_RESP_GAP))
		return;
	ibp_resp_put(r, IBP_RESP_GAP, true);
	/* A NAK would acknowledge what is out. */
	if (q->forward && q->forward->out) {
		ibp_forward_hold(q);
		return;
	}
	r->seq_due = true;
	ibp_activate(q);
}

static void answer(struct ibp_qp *q, int v, const struct wire_ib_packet *p)
{
	struct ibp_resp *r = &q->conn.resp;

	if (v == IBP_RNR) {
		/* What follows is dropped without a word until this PSN comes
		 * again: the peer knows already. */
		ibp_resp_put(r, IBP_RESP_GAP, true);
		r->rnr_due = true;
		ibp_activate(q);
	} else if (v == IBP_AGAIN) {
		ibp_count(q->port, ENG_C_local_again);
		ibp_resp_put(r, IBP_RESP_GAP, true);
		r->seq_due = r->plain_due = true;
		ibp_activate(q);
	} else if (v == IBP_HOLD) {
		ibp_forward_hold(q);
	} else if (v == IBP_AWAY) {
		return;
	} else if (v != ENG_OK) {
		ibp_resp_fatal(q, (enum eng_verdict)v, p->psn);
	} else if (p->ack_req && !(p->shape->flags & (WIRE_F_READ | WIRE_F_ATOMIC))) {
		ibp_resp_owe(q);
	}
}

/* Requests are of one kind; which one, the first in order says. */
static bool fits_kind(struct ibp_qp *q, bool first)
{
	const struct ibp_shm *shm = &q->port->shm;
	struct ibp_resp *r = &q->conn.resp;
	uint32_t mtu = shm->rx ? shm->unit : q->conn.mtu;

	if (!ibp_resp_is(r, IBP_RESP_UNCHOSEN))
		return r->local == (shm->rx != NULL) && r->mtu == mtu;
	r->local = shm->rx != NULL;
	r->mtu = mtu;
	ibp_resp_put(r, IBP_RESP_UNCHOSEN, !first);
	return true;
}

void ibp_resp_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx)
{
	struct ibp_resp *r = &q->conn.resp;
	int32_t d = psn_diff(p->psn, r->epsn);

	if (ibp_resp_is(r, IBP_RESP_DEAD) || !fits_kind(q, d == 0))
		return;
	if (eng_qp_state(q->qp) == IBV_QPS_RTR)
		eng_qp_comm_est(q->qp);
	if (d > 0) {
		ahead(q);
	} else if (d < 0) {
		ibp_count(q->port, ENG_C_duplicate_request);
		if (!q->forward || !ibp_forward_covers(q, p))
			ibp_resp_duplicate(q, p);
	} else {
		ibp_resp_put(r, IBP_RESP_GAP, false);
		r->seq_due = r->rnr_due = false;
		answer(q, ibp_resp_execute(q, p, rx), p);
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Is the peer still there? A connection that is silent says nothing about it:
 * an end that only awaits messages would wait for a dead one for ever. What may
 * always be sent is a request that was answered already: the responder
 * acknowledges a duplicate and does nothing else (IBTA 9.7.5.1.1, C9-105), so any
 * adapter answers, and a host without one refuses the datagram.
 */
#include "proto/ib/port.h"

#include <errno.h>

static bool may_ask(const struct ibp_qp *q)
{
	enum ibv_qp_state st = eng_qp_state(q->qp);

	return (st == IBV_QPS_RTS || st == IBV_QPS_SQD) && q->conn.path.valid &&
	       (q->qp->type == IBV_QPT_RC || q->qp->type == IBV_QPT_XRC_SEND);
}

/* An empty message under the PSN before the oldest that is not acknowledged. */
static int ask(struct ibp_qp *q)
{
	struct wire_ib_packet p = {
		.opcode = q->cls | WIRE_MSG_SEND_ONLY, .psn = psn_add(q->conn.req.psn_una, IBP_PSN_MASK),
		.pkey = q->conn.pkey, .migreq = true, .dest_qpn = q->qp->attr.dest_qp_num,
		.ack_req = true,
	};
	int max;

	if (!ibp_train_begin(q->port, q->qp, &q->conn.path, false,
			     ibp_packet_size(wire_ib_shape(p.opcode), 0), &max))
		return -EAGAIN;
	ibp_train_end(q->port, &p, 0, false);
	return 0;
}

/* By both numbers: one of them may be another QP's by now. */
static struct ibp_qp *find(struct eng_dev *dev, uint32_t qpn, uint32_t peer)
{
	struct eng_qp *qp;

	eng_dev_held(dev);
	qp = eng_qp_find(dev, qpn);
	if (!qp || qp->type == IBV_QPT_UD || eng_qp_state(qp) < IBV_QPS_RTR ||
	    eng_qp_state(qp) == IBV_QPS_ERR || qp->attr.dest_qp_num != peer)
		return NULL;
	return ibp_qp(qp);
}

int ibp_probe(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since)
{
	struct ibp_qp *q = find(dev, qpn, peer);

	if (!q)
		return -ENOENT;
	if (q->conn.heard > since)
		return 1;
	if (!may_ask(q))
		return -EOPNOTSUPP;
	/* What is outstanding asks by itself, and has its own count of tries. */
	return ibp_req_outstanding(q) ? 0 : ask(q);
}

void ibp_peer_gone(struct eng_dev *dev, uint32_t qpn, uint32_t peer)
{
	struct eng_why why = { .doing = "a silent connection" };
	struct ibp_qp *q = find(dev, qpn, peer);

	if (!q)
		return;
	if (ibp_req_outstanding(q))
		ibp_req_fail_head(q, ENG_V_UNREACHABLE);
	else
		ibp_send_error(q, ENG_V_UNREACHABLE, IBV_QPS_ERR, &why);
}

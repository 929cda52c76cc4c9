/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion notification of RoCEv2 (annex A17.9.3): a receiver of marked
 * packets tells the sender, at most once per interval and QP; a sender that is
 * told shrinks its window, at most once per interval. The window, unlike the
 * rate of DCQCN, already recovers by itself (req_done.c).
 */
#include "proto/ib/port.h"

void ibp_ecn_marked(struct ibp_qp *q, const struct link_rx *rx)
{
	struct wire_ib_packet p = {
		.opcode = WIRE_CNP_NOTIFICATION, .pkey = q->conn.pkey, .becn = true,
		.dest_qpn = q->qp->attr.dest_qp_num,
	};
	int max;

	(void)rx;
	ibp_count(q->port, ENG_C_np_ecn_marked_roce_packets);
	if (q->port->now < q->conn.resp.cnp_at)
		return;
	if (!ibp_train_begin(q->port, q->qp, &q->conn.path, true,
			     ibp_packet_size(wire_ib_shape(p.opcode), 0), &max))
		return;
	ibp_train_end(q->port, &p, 0, false);
	q->conn.resp.cnp_at = q->port->now + IBP_CNP_INTERVAL;
	ibp_count(q->port, ENG_C_np_cnp_sent);
}

void ibp_cnp_receive(struct ibp_qp *q)
{
	ibp_count(q->port, ENG_C_rp_cnp_handled);
	if (!q->port->cfg.rate_control || q->port->now < q->conn.req.cnp_at)
		return;
	q->conn.req.cnp_at = q->port->now + IBP_CNP_INTERVAL;
	ibp_req_slow_down(q);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/ecn.h"

#include "proto/ib/responder.h"
#include "proto/ib/retry.h"

#define CNP_INTERVAL 50000u /* ns between notifications of one flow */
#define ECN_BITS 3u /* RFC 3168 section 5: the lower bits of the traffic class */

/* In a train of its own: no router may mark a notification, and a train has one traffic class. */
static bool send_unmarked(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	const struct ibp_framing *f = q->conn.resp.framing;
	uint8_t *tos = &q->conn.path.flow.tos, marked = *tos;
	bool ok;

	if (!(marked & ECN_BITS))
		return ibp_resp_send(q, p);
	f->flush(q->port);
	*tos = marked & (uint8_t)~ECN_BITS;
	ok = ibp_resp_send(q, p);
	f->flush(q->port);
	*tos = marked;
	return ok;
}

void ibp_ecn_marked(struct ibp_qp *q)
{
	struct wire_ib_packet p = {
		.opcode = WIRE_CNP_NOTIFICATION, .pkey = q->conn.pkey, .becn = true,
		.dest_qpn = q->qp->attr.dest_qp_num,
	};
	ibp_count(q->port, ENG_C_np_ecn_marked_roce_packets);
	if (q->port->now < q->conn.resp.cnp_at)
		return;
	if (!send_unmarked(q, &p))
		return;
	q->conn.resp.cnp_at = q->port->now + CNP_INTERVAL;
	ibp_count(q->port, ENG_C_np_cnp_sent);
}

void ibp_cnp_receive(struct ibp_qp *q)
{
	ibp_count(q->port, ENG_C_rp_cnp_handled);
	if (!q->port->cfg.rate_control || q->port->now < q->conn.req.cnp_at)
		return;
	q->conn.req.cnp_at = q->port->now + CNP_INTERVAL;
	ibp_req_slow_down(q);
}

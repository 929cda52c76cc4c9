/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/route.h"

#include "proto/ib/port.h"
#include "wire/ib_link.h"
#include "wire/ib_opcode.h"

#include <errno.h>

static bool has_route(const struct ibp_qp *q)
{
	return q->conn.path.valid && q->conn.path.flow.lids && q->qp->type != IBV_QPT_UD && q->port->shm.stage.base;
}

static enum ibp_route ask(struct ibp_qp *q)
{
	struct ut_flow ends;
	struct link *l = q->port->link;
	int r = l->ops->ends(l, &q->conn.path.flow, q->conn.pkey, q->conn.mtu, &ends);

	if (r < 0)
		return r == -EAGAIN ? IBP_ROUTE_ASKED : IBP_ROUTE_REFUSED;
	q->conn.path.chan = ends;
	return IBP_ROUTE_GOOD;
}

void ibp_route_follow(struct ibp_qp *q)
{
	enum ibp_route r = has_route(q) ? ask(q) : IBP_ROUTE_GOOD;

	q->conn.route = (uint8_t)r;
	ibp_req_put(&q->conn.req, IBP_REQ_ROUTE, r != IBP_ROUTE_GOOD);
	ibp_resp_put(&q->conn.resp, IBP_RESP_ROUTE, r != IBP_ROUTE_GOOD);
}

void ibp_routes_follow(struct ibp_port *port)
{
	struct eng_qp *qp;
	uint32_t pos = 0;

	eng_dev_held(port->dev);
	port->routes = port->link->routes;
	while ((qp = ut_idtab_next(&port->dev->qps, &pos)))
		ibp_route_follow(ibp_qp(qp));
}

void ibp_route_show_pkey(struct ibp_qp *q)
{
	ibp_req_put(&q->conn.req, IBP_REQ_ROUTE, true);
}

/* Octets from LRH to ICRC, as counters of ports have them (IBTA 16.1.3.5). */
void ibp_route_passed(struct ibp_qp *q, uint8_t first, uint32_t len, bool back)
{
	const struct ut_flow *f = &q->conn.path.chan;
	uint32_t packets = len > q->conn.mtu ? (len + q->conn.mtu - 1) / q->conn.mtu : 1;
	uint32_t each = WIRE_LRH_LEN + (f->grh ? WIRE_GRH_LEN : 0) + WIRE_BTH_LEN + WIRE_ICRC_LEN;
	uint32_t more = wire_ib_shape(first)->hdr_len - WIRE_BTH_LEN;
	struct ut_flow turned;

	if (back) {
		turned = *f;
		turned.slid = f->dlid;
		turned.dlid = f->slid;
		f = &turned;
	}
	q->port->link->ops->passed(q->port->link, f, packets, ((uint64_t)packets * each + more + len + 3) / 4);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/route.h"

#include "proto/ib/port.h"

#include <errno.h>

static bool has_route(const struct ibp_qp *q)
{
	return q->conn.path.valid && q->conn.path.flow.lids && q->qp->type != IBV_QPT_UD && q->port->shm.stage.base;
}

static enum ibp_route ask(struct ibp_qp *q)
{
	struct ut_flow ends, back;
	struct link *l = q->port->link;
	int r = l->ops->ends(l, &q->conn.path.flow, q->conn.pkey, q->conn.mtu, &ends);

	if (r < 0)
		return r == -EAGAIN ? IBP_ROUTE_ASKED : IBP_ROUTE_REFUSED;
	q->conn.path.chan = back = ends;
	q->conn.path.from = NULL;
	back.slid = ends.dlid;
	back.dlid = ends.slid;
	q->conn.path.there = l->ops->count(l, &ends);
	q->conn.path.back = l->ops->count(l, &back);
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

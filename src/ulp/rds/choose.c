/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/choose.h"

#include "ulp/rds/keep.h"
#include "ulp/rds/node.h"
#include "ulp/rds/rdma.h"
#include "ulp/rds/tcp.h"

#include <linux/rds.h>

static const struct rds_transport *other(const struct rds_conn *c)
{
	return c->via == &rds_tcp ? &rds_rdma : &rds_tcp;
}

struct rds_conn *rds_choose(struct rds_node *n, const struct rds_sock *s, const struct rsp_addr *to)
{
	struct rds_conn *rdma, *tcp;

	if (s->transport == (int)RDS_TRANS_TCP || (s->transport != (int)RDS_TRANS_IB && !rds_listener_prefers_rdma(n, &s->bound)))
		return rds_node_conn(n, &s->bound, to, &rds_tcp);
	rdma = rds_node_conn(n, &s->bound, to, &rds_rdma);
	tcp = rds_node_find_conn(n, &s->bound, to, &rds_tcp);
	if (!rdma || !tcp || s->transport == (int)RDS_TRANS_IB)
		return rdma;
	return tcp->flow.nr || (tcp->has_stood && !rdma->has_stood) ? tcp : rdma;
}

static bool has_movable(const struct rds_flow *f)
{
	const struct rds_message *m;

	ut_list_each(m, &f->waiting, node)
		if (m->either)
			return true;
	return false;
}

bool rds_choose_may(const struct rds_conn *c)
{
	return !c->has_stood && rds_listener_prefers_rdma(c->node, &c->local) && has_movable(&c->flow);
}

void rds_choose_again(struct rds_conn *c)
{
	struct rds_conn *to = rds_choose_may(c) ? rds_node_conn(c->node, &c->local, &c->peer, other(c)) : NULL;

	if (!to)
		return;
	rds_flow_move(&c->flow, &to->flow);
	rds_keep_moved(to);
	to->via->kick(to);
}

void rds_choose_stood(struct rds_conn *c)
{
	struct rds_conn *from = rds_node_find_conn(c->node, &c->local, &c->peer, other(c));

	if (!from || from->has_stood)
		return;
	rds_flow_move(&from->flow, &c->flow);
	rds_keep_moved(c);
}

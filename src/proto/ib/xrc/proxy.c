/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stand-ins: QP objects on which an owner (forward.h) executes what the targets of other processes hand
 * on. They are made as targets come, found by the target's number, and given to others when idle.
 */
#include "proto/ib/port.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

void ibp_forwards_init(struct ibp_port *port)
{
	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		ut_list_init(&port->forwards.keys[i]);
	ut_list_init(&port->forwards.spare);
	ut_list_init(&port->forwards.due);
}

static void destroy(struct ibp_proxy *s)
{
	struct ibp_qp *q = s->q;

	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
	ut_list_del(&q->active);
	ut_list_del(&s->node);
	ut_list_del(&s->due);
	free(q->recv.rwqe);
	eng_qp_stand_in_free(q->qp);
	free(s);
}

static void destroy_all(struct ut_list *list)
{
	struct ibp_proxy *s;

	while ((s = ut_list_first(list, struct ibp_proxy, node)))
		destroy(s);
}

void ibp_forwards_fini(struct ibp_port *port)
{
	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		destroy_all(&port->forwards.keys[i]);
	destroy_all(&port->forwards.spare);
}

static int fill(struct ibp_port *port, struct ibp_proxy *s, struct eng_qp *qp)
{
	uint32_t sges = (uint32_t)port->dev->attr.orig_attr.max_sge;
	struct ibp_qp *q = ibp_qp(qp);

	q->qp = qp;
	q->port = port;
	q->cls = WIRE_CLASS_XRC;
	q->proxy = s;
	ut_list_init(&q->active);
	ut_list_init(&q->conn.acks);
	ut_list_init(&q->conn.unarmed);
	s->q = q;
	ut_list_init(&s->node);
	ut_list_init(&s->due);
	q->recv.rwqe = ut_zalloc(sizeof(struct eng_rwqe) + sges * sizeof(struct ibv_sge));
	return q->recv.rwqe ? ut_heap_reserve(&port->timers) : -ENOMEM;
}

static struct ibp_proxy *make(struct ibp_port *port)
{
	struct ibp_proxy *s = ut_zalloc(sizeof(*s));
	struct eng_qp *qp = s ? eng_qp_stand_in(port->dev) : NULL;

	if (!qp) {
		free(s);
		return NULL;
	}
	if (fill(port, s, qp) < 0) {
		destroy(s);
		return NULL;
	}
	port->forwards.n++;
	return s;
}

/* The one that was used the longest time ago. */
static struct ibp_proxy *idle(struct ibp_port *port)
{
	struct ibp_proxy *s, *best = NULL;

	for (unsigned i = 0; i < IBP_PROXY_KEYS; i++)
		ut_list_each(s, &port->forwards.keys[i], node)
			if (s->q->recv.message == IBP_NONE && ut_list_empty(&s->due) &&
			    (!best || s->touched < best->touched))
				best = s;
	return best;
}

struct ibp_proxy *ibp_proxy_unused(struct ibp_port *port)
{
	struct ibp_proxy *s = ut_list_first(&port->forwards.spare, struct ibp_proxy, node);

	if (!s && port->forwards.n < IBP_PROXIES_MAX)
		s = make(port);
	return s ? s : idle(port);
}

struct ut_list *ibp_proxy_key(struct ibp_port *port, uint32_t qpn)
{
	return &port->forwards.keys[qpn % IBP_PROXY_KEYS];
}

struct ibp_proxy *ibp_proxy_find(struct ibp_port *port, const struct shm_message *rx, uint32_t qpn)
{
	struct ibp_proxy *s;

	ut_list_each(s, ibp_proxy_key(port, qpn), node)
		if (s->q->qp->qpn == qpn && !memcmp(s->back.dst, rx->src, 16) &&
		    !memcmp(s->back.src, rx->dst, 16))
			return s;
	return NULL;
}

/* What was in work will not be finished. */
void ibp_proxy_end(struct ibp_proxy *s, enum eng_verdict v)
{
	struct ibp_qp *q = s->q;

	ibp_recv_end(q, v);
	eng_qp_revive(q->qp); /* no matter if there was no room for that */
	ibp_recv_message(q, IBP_NONE);
	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
}

void ibp_proxy_retire(struct ibp_proxy *s)
{
	ibp_proxy_end(s, ENG_V_FLUSH);
	ut_list_del(&s->due);
	ut_list_del(&s->node);
	ut_list_add_tail(&s->q->port->forwards.spare, &s->node);
}

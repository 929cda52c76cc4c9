/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The manager of one adapter: its ops, its clock, its beginning and end. */
#include "cm/mpa/mpa.h"

#include "cm/mpa/active.h"
#include "cm/mpa/ep.h"
#include "cm/mpa/passive.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- making endpoints --- */

/* SDP has no port space of its own here: its Hello is the private data of a TCP port's request. */
static bool is_tcp(uint64_t service)
{
	return service >> 16 == CM_PS_TCP || service >> 16 == CM_PS_SDP;
}

static struct mpa_ep *fresh(struct cm_port *p, const struct cm_bind *b)
{
	struct mpa_ep *e;

	if (!is_tcp(b->service))
		return NULL;
	e = mpa_ep_new(mpa_of(p));
	if (!e)
		return NULL;
	e->ep.local = b->local;
	e->ep.service = b->service;
	e->ep.opt = b->opt;
	e->ep.local.port = (uint16_t)b->service;
	return e;
}

static int no_ep(const struct cm_bind *b)
{
	return !is_tcp(b->service) ? -EINVAL : -ENOMEM;
}

static int ep_bind(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	struct link_streams *streams = mpa_of(p)->cfg.streams;
	struct mpa_ep *e = fresh(p, b);
	int r;

	if (!e)
		return no_ep(b);
	r = streams->ops->bind(streams, &e->ep.local, b->opt.reuse, b->opt.afonly, &e->port);
	if (r < 0) {
		mpa_ep_free(e);
		return r;
	}
	e->claimed = true;
	e->ep.local = e->port->local;
	e->ep.service = cm_ip_service((enum cm_ps)(b->service >> 16), e->ep.local.port);
	*ret = &e->ep;
	return 0;
}

/*
 * No port yet: the host chooses it while connecting, when it may take one that
 * is in use towards other peers. A port bound beforehand could not be shared, and
 * those in TIME_WAIT would limit the rate of connections.
 */
static int ep_create(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret)
{
	struct mpa_ep *e = fresh(p, b);

	if (!e)
		return no_ep(b);
	e->ep.local.port = 0;
	*ret = &e->ep;
	return 0;
}

/* --- the rest of the ops --- */

static int ep_establish(struct cm_ep *ep)
{
	(void)ep;
	return 0;
}

static int ep_notify(struct cm_ep *ep, enum ibv_event_type event)
{
	(void)ep;
	(void)event; /* the protocol tells of the first frame itself */
	return 0;
}

/* As in the kernel: after the peer's end it is no error to ask for it once more. */
static int ep_disconnect(struct cm_ep *ep)
{
	struct mpa_ep *e = mpa_ep_of(ep);

	switch (e->state) {
	case MPA_WAIT_RTR:
	case MPA_ESTABLISHED:
		mpa_timer_stop(e);
		mpa_ep_state(e, MPA_CLOSING);
		if (e->qp)
			e->m->cfg.proto->disconnect(e->qp);
		return 0;
	case MPA_CLOSING:
		return 0;
	case MPA_OVER:
		return e->end == CM_EV_DISCONNECTED ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

static int ep_qp_attr(struct cm_ep *ep, struct ibv_qp_attr *attr, int *mask)
{
	enum mpa_state state = mpa_ep_of(ep)->state;

	if (state == MPA_LISTENING)
		return -EINVAL;
	switch (attr->qp_state) {
	case IBV_QPS_INIT:
		attr->port_num = ENG_PORT_NUM;
		attr->qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_ATOMIC;
		*mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT;
		/* With its stream it is in RTS, where only the rights can change. */
		if (mpa_ep_of(ep)->qp)
			*mask = IBV_QP_ACCESS_FLAGS;
		return 0;
	case IBV_QPS_RTR:
	case IBV_QPS_RTS: /* attaching the stream does it */
		*mask = 0;
		return 0;
	default:
		return -EINVAL;
	}
}

/* A stream has the path that the host's routing gives it. */
static int ep_load_path(struct cm_ep *ep, const struct cm_path *path)
{
	return -EOPNOTSUPP;
}

static void ep_destroy(struct cm_ep *ep)
{
	mpa_ep_destroy(mpa_ep_of(ep));
}

static const struct cm_ops mpa_ops = {
	.name = "mpa", .moves_qp = true,
	.qp_types = 1u << IBV_QPT_RC,
	.spaces = 1u << (CM_PS_TCP >> 1 & 31) | 1u << (CM_PS_SDP >> 1 & 31), /* cm_space_bit(), as a constant */
	.bind = ep_bind, .listen = mpa_listen, .create = ep_create, .connect = mpa_connect,
	.accept = mpa_accept, .reject = mpa_reject, .establish = ep_establish,
	.notify = ep_notify, .load_path = ep_load_path, .disconnect = ep_disconnect, .qp_attr = ep_qp_attr,
	.destroy = ep_destroy,
};

/* --- the manager --- */

int mpa_init(struct cm_port *ret, struct eng_dev *dev, const struct mpa_config *cfg)
{
	struct mpa *m = ut_zalloc(sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->port = ret;
	m->dev = dev;
	m->cfg = *cfg;
	ut_list_init(&m->eps);
	ut_list_init(&m->due);
	for (int i = 0; i < MPA_PEER_BUCKETS; i++)
		ut_list_init(&m->peers[i]);
	ret->ops = &mpa_ops; /* its user is set by the caller */
	ret->dev = dev;
	ret->manager = m;
	return 0;
}

static void end_quietly(struct mpa_ep *e)
{
	e->done = NULL;
	if (e->flushing || e->state == MPA_REJECTING) {
		mpa_drop_stream(e, false);
		mpa_ep_free(e);
		return;
	}
	mpa_ep_destroy(e); /* may leave it flushing, which comes round again */
}

void mpa_fini(struct cm_port *p)
{
	struct mpa *m = mpa_of(p);
	struct mpa_ep *e;

	while ((e = ut_list_first(&m->eps, struct mpa_ep, node)))
		end_quietly(e);
	ut_heap_fini(&m->timers);
	free(m);
	p->manager = NULL;
}

static void expired(struct mpa_ep *e, uint64_t now)
{
	if (e->wait) {
		uint64_t at = now + e->wait;

		e->wait = 0;
		ut_timer_set(&e->m->timers, &e->timer, at);
	} else if (e->state == MPA_WAIT_REPLY || e->state == MPA_WAIT_WAY || e->retrying) {
		mpa_active_expired(e);
	} else {
		mpa_passive_expired(e);
	}
}

/* One thing to tell; when there are two it comes round again. */
static void tell_due(struct mpa_ep *e)
{
	struct cm_param p = e->done ? mpa_peer_param(e, &e->peer) : mpa_local_param(e);

	if (e->due_turn) {
		e->due_turn = false;
		mpa_passive_turn(e);
		return;
	}
	if (e->due_ready) {
		e->due_ready = false;
		if (e->due_end)
			ut_list_add_tail(&e->m->due, &e->due);
		mpa_tell(e, CM_EV_ESTABLISHED, 0, &p);
		return;
	}
	e->due_end = false;
	mpa_tell(e, e->end, e->end_status, NULL);
}

int mpa_run(struct cm_port *p, uint64_t now)
{
	struct mpa *m = mpa_of(p);
	struct ut_timer *t;
	struct ut_list *n;
	int did = 0;

	while ((t = ut_heap_expired(&m->timers, now))) {
		expired(ut_container(t, struct mpa_ep, timer), now);
		did++;
	}
	while ((n = ut_list_pop(&m->due))) {
		tell_due(ut_container(n, struct mpa_ep, due));
		did++;
	}
	return did;
}

uint64_t mpa_deadline(struct cm_port *p)
{
	struct mpa *m = mpa_of(p);

	return ut_list_empty(&m->due) ? ut_heap_next(&m->timers) : 0;
}

void mpa_observe(struct cm_port *p, struct link_tap *tap)
{
	mpa_of(p)->tap = tap;
}

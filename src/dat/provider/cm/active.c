/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/active.h"

#include "dat/provider/cm/conn.h"
#include "dat/core/private.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/dto/recv.h"
#include "dat/provider/ep/ep.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "util/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_MS = 4000, STEP_TRIES = 15, RETRY_MAX = 7 };

/* Environment variables of Debian's provider, which large jobs set high. */
static int env_number(const char *name, int dflt)
{
	const char *s = ut_env(name);
	char *end;
	long v = s ? strtol(s, &end, 0) : 0;

	return s && end != s && v > 0 && v <= 1000000 ? (int)v : dflt;
}

int dpr_conn_start(struct dpr_conn *c)
{
	int ms = env_number("DAPL_CM_ARP_TIMEOUT_MS", STEP_MS);

	return rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&c->remote, ms) ? errno : 0;
}

static int route(struct dpr_conn *c)
{
	int ms = env_number("DAPL_CM_ROUTE_TIMEOUT_MS", STEP_MS);

	return rdma_resolve_route(c->id, ms) ? errno : 0;
}

struct rdma_conn_param dpr_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out)
{
	return (struct rdma_conn_param){
		.private_data = out->len ? out->data : NULL,
		.private_data_len = out->len,
		.responder_resources = (uint8_t)attr->max_rdma_read_in,
		.initiator_depth = (uint8_t)attr->max_rdma_read_out,
		.flow_control = 1,
		.retry_count = RETRY_MAX,
		.rnr_retry_count = RETRY_MAX,
	};
}

static int request(struct dpr_conn *c, struct dpr_ep *ep) UT_REQUIRES(ep->lock)
{
	struct rdma_conn_param p = dpr_conn_param(&ep->attr, &c->out);

	if (c->ud)
		return dpr_ud_request(c, ep);
	return dpr_count_cm(c->ia, DCNT_IA_CM_REQ_TX, rdma_connect(c->id, &p));
}

static int retry(struct dpr_conn *c, const char *variable, int (*step)(struct dpr_conn *),
		 int status)
{
	if (status != -ETIMEDOUT || ++c->tries >= (unsigned int)env_number(variable, STEP_TRIES))
		return EHOSTUNREACH;
	return step(c);
}

static int advance(struct dpr_conn *c, struct dpr_ep *ep, const struct dpr_cm_event *e)
	UT_REQUIRES(ep->lock)
{
	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		c->tries = 0;
		return route(c);
	case RDMA_CM_EVENT_ADDR_ERROR:
		return retry(c, "DAPL_CM_ARP_RETRY_COUNT", dpr_conn_start, e->status);
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return retry(c, "DAPL_CM_ROUTE_RETRY_COUNT", route, e->status);
	default:
		return request(c, ep);
	}
}

void dpr_conn_resolve(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	struct dpr_ep *ep = dpr_conn_lock_ep(c);
	bool refused = e->type == RDMA_CM_EVENT_ROUTE_RESOLVED;
	int err = 0;

	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	if (c->ud ? c->waiting : ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		err = advance(c, ep, e);
	dpr_conn_unlock_ep(ep);
	if (err)
		dpr_log(DPR_LOG_CM, "connection %p: address, route or request failed (%s): the attempt "
			"ends; check the route to the peer", (void *)c, strerror(err));
	if (err)
		dpr_conn_failed(c, refused ? DAT_CONNECTION_EVENT_NON_PEER_REJECTED
					   : DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* The connection stays with the endpoint: the event points to its private data. */
void dpr_conn_failed(struct dpr_conn *c, DAT_EVENT_NUMBER event)
{
	struct dpr_ep *ep = c->ud ? NULL : dpr_conn_lock_ep(c);
	struct dpr_ep_step s;

	if (c->ud)
		dpr_ud_failed(c, false);
	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	s = dpr_ep_step(ep->state, DPR_ON_REFUSED, true);
	if (!s.ret && !ep->ending) {
		dpr_ep_apply(ep, DPR_ON_REFUSED);
		dpr_timer_cancel(&c->timer); /* in the loop: the handler does not run */
		dpr_ep_qp_error(ep);
		if (!ep->qp)
			dpr_ep_fail_posted(ep);
		dpr_ep_queue_event(ep->connect, ep, s.event ? s.event : event, c->in.len,
				   c->in.data);
		atomic_store(&ep->early, false);
	}
	dpr_obj_hold(&ep->obj);
	dpr_conn_unlock_ep(ep);
	dpr_ep_reap(ep);
	dpr_obj_put(&ep->obj);
}

/* Ends an attempt at its timeout. Destroying the id withdraws the request. */
static void withdraw(struct dpr_conn *c)
{
	struct dpr_ep *ep = dpr_conn_lock_ep(c);
	bool mine;

	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	mine = ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING && !ep->ending;
	if (mine) {
		dpr_ep_apply(ep, DPR_ON_REFUSED);
		ep->conn = NULL;
		dpr_ep_qp_error(ep);
		dpr_ep_queue_event(ep->connect, ep, DAT_CONNECTION_EVENT_TIMED_OUT, 0, NULL);
		atomic_store(&ep->early, false);
	}
	dpr_obj_hold(&ep->obj);
	dpr_conn_unlock_ep(ep);
	if (mine) {
		dpr_conn_leave(c);
		dpr_conn_put(c); /* the endpoint's reference */
	}
	dpr_ep_reap(ep);
	dpr_obj_put(&ep->obj);
}

void dpr_conn_timeout(struct dpr_timer *t)
{
	struct dpr_conn *c = ut_container(t, struct dpr_conn, timer);

	if (!dpr_conn_hold_alive(c))
		return;
	if (c->ud)
		dpr_ud_failed(c, false);
	else
		withdraw(c);
	dpr_conn_put(c);
}

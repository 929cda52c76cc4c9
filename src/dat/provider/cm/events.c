/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/events.h"

#include "dat/provider/cm/active.h"
#include "dat/provider/cm/conn.h"
#include "dat/core/private.h"
#include "dat/provider/cm/sp.h"
#include "dat/provider/cm/sp_request.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/ep/ep.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/device.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <string.h>

enum { BATCH = 64 }; /* then timers and completions are served */

/* --- what happened to a connection --- */

/* Counts the messages that rdma_cm reports. The third one (RTU) has no event of its own. */
static void count(struct dpr_conn *c, enum rdma_cm_event_type type)
{
	uint64_t *n = c->ia->counters;

	if (type == RDMA_CM_EVENT_ESTABLISHED) {
		dpr_count(&n[c->active ? DCNT_IA_CM_REP_RX : DCNT_IA_CM_RTU_RX], 1);
		dpr_count(&n[c->active ? DCNT_IA_CM_ACTIVE_EST : DCNT_IA_CM_PASSIVE_EST], 1);
		if (c->active)
			dpr_count(&n[DCNT_IA_CM_RTU_TX], 1);
	} else if (type == RDMA_CM_EVENT_UNREACHABLE) {
		dpr_count(&n[DCNT_IA_CM_ERR_TIMEOUT], 1);
	} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
		bool ours = atomic_exchange(&c->over, true);

		dpr_count(&n[ours ? DCNT_IA_CM_DREP_RX : DCNT_IA_CM_DREQ_RX], 1);
	}
}

static void established(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	struct dpr_ep *ep = c->ud ? NULL : dpr_conn_lock_ep(c);

	if (c->ud)
		dpr_ud_established(c, e);

	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	if (!ep->ending) {
		if (c->active)
			c->in = e->in;
		dpr_ep_established(ep, c->active ? &c->in : NULL);
	}
	dpr_timer_cancel(&c->timer); /* in the loop: the handler does not run */
	dpr_obj_hold(&ep->obj);
	dpr_conn_unlock_ep(ep);
	dpr_ep_reap(ep); /* completions that waited for ESTABLISHED */
	if (atomic_load(&ep->failed)) /* so did an error of the queue pair */
		dpr_ep_broken(ep);
	dpr_obj_put(&ep->obj);
}

static void rejected(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	DAT_EVENT_NUMBER event;

	if (c->ud) {
		dpr_ud_rejected(c, e);
		return;
	}
	c->in = e->in;
	event = dpr_private_rejected(&c->in, e->status, c->ia->iwarp);
	dpr_count(&c->ia->counters[event == DAT_CONNECTION_EVENT_PEER_REJECTED
					   ? DCNT_IA_CM_USER_REJ_RX : DCNT_IA_CM_ERR_REJ_RX], 1);
	dpr_conn_failed(c, event);
}

/* A request that is not answered yet: dat_cr_accept finds `gone`. */
static void ended(struct dpr_conn *c, enum dpr_ep_do why)
{
	struct dpr_ep *ep = dpr_conn_ep(c);

	atomic_store(&c->gone, true);
	if (!ep)
		return;
	dpr_ep_end(ep, c, why);
	dpr_obj_put(&ep->obj);
}

static void handle(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	dpr_log(DPR_LOG_CM, "connection %p, %s side: %s, status %d", (void *)c,
		c->active ? "active" : "passive", rdma_event_str(e->type), e->status);
	count(c, e->type);
	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		dpr_conn_resolve(c, e);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(c, e);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (c->active)
			rejected(c, e);
		else
			ended(c, DPR_ON_REFUSED);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		if (c->ud && c->active)
			dpr_ud_rejected(c, e);
		else if (c->active)
			dpr_conn_failed(c, DAT_CONNECTION_EVENT_UNREACHABLE);
		else
			ended(c, DPR_ON_REFUSED);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		if (c->active)
			dpr_conn_failed(c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		else
			ended(c, DPR_ON_REFUSED);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* Over iWARP the peer's Terminate is both: an error of the queue pair, which is queued first, and the
		 * end of the connection. The error makes it BROKEN. */
		dpr_device_events(c->ia);
		ended(c, DPR_ON_DISCONNECTED);
		dpr_conn_disconnect(c); /* over RoCE the answer to the peer's, which waits for it */
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ended(c, DPR_ON_BROKEN);
		break;
	default:
		break;
	}
}

/* --- the channel --- */

static void copy(const struct rdma_cm_event *ev, struct dpr_cm_event *e)
{
	const void *data = ev->param.conn.private_data;
	uint8_t len = ev->param.conn.private_data_len;

	e->type = ev->event;
	e->status = ev->status;
	e->id = ev->id;
	e->responder_resources = e->initiator_depth = 0;
	if (ev->id->ps == RDMA_PS_UDP) {
		e->ud = ev->param.ud;
		data = ev->param.ud.private_data;
		len = ev->param.ud.private_data_len;
	} else {
		e->responder_resources = ev->param.conn.responder_resources;
		e->initiator_depth = ev->param.conn.initiator_depth;
	}
	memset(&e->in, 0, sizeof(e->in));
	e->in.len = data ? len : 0;
	if (e->in.len)
		memcpy(e->in.data, data, e->in.len);
}

/* The listening id is not destroyed before its event is acknowledged, so sp is still alive here. */
static void on_request(struct rdma_cm_event *ev)
{
	struct dpr_sp *sp = dpr_sp_of_context(ev->listen_id->context);
	struct dpr_cm_event e;

	if (sp)
		dpr_obj_hold(&sp->obj);
	copy(ev, &e);
	e.id->context = NULL;
	rdma_ack_cm_event(ev);
	if (sp) {
		dpr_count(&sp->obj.ia->counters[DCNT_IA_CM_REQ_RX], 1);
		dpr_sp_request(sp, &e);
		dpr_obj_put(&sp->obj);
	} else {
		rdma_destroy_id(e.id);
	}
}

static void on_conn(struct dpr_conn *c, struct rdma_cm_event *ev)
{
	bool alive = dpr_conn_hold_alive(c);
	struct dpr_cm_event e;

	if (alive)
		copy(ev, &e);
	rdma_ack_cm_event(ev);
	if (!alive)
		return;
	handle(c, &e);
	dpr_conn_put(c);
}

static void one(struct dpr_ia *ia, struct rdma_cm_event *ev)
{
	bool gone = ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL;
	void *context = ev->id->context;

	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		on_request(ev);
	} else if (ev->id == ia->id || !context || dpr_sp_of_context(context)) {
		bool ours = ev->id == ia->id;

		rdma_ack_cm_event(ev);
		if (gone && ours)
			dpr_async_event(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, dpr_ia_public(ia),
					DAT_IA_CATASTROPHIC_ERROR);
	} else {
		on_conn(context, ev);
	}
}

void dpr_conn_ready(struct dpr_ia *ia)
{
	struct rdma_cm_event *ev;

	for (int i = 0; i < BATCH && !rdma_get_cm_event(ia->channel, &ev); i++)
		one(ia, ev);
}

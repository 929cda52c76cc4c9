/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What managers report. These run under dev->lock of the manager's adapter:
 * they move the state and queue, nothing else. An event that the state does not
 * expect (late, twice, after destroy) ends here.
 */
#include "cm/cma/event.h"

#include "cm/cma/chan.h"
#include "cm/cma/id.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

static void fill(struct cma_qev *q, const struct cma_id *id, const struct cm_event *ev)
{
	uint16_t len = ev->param.private_len;

	if (len > CM_PRIVATE_MAX)
		len = CM_PRIVATE_MAX;
	q->e.param = ev->param;
	q->e.param.private_len = len;
	q->e.param.private_data = NULL;
	if (len && ev->param.private_data) {
		memcpy(q->e.data, ev->param.private_data, len);
		q->e.param.private_data = q->e.data;
	}
	q->e.ud = id->qp_type == IBV_QPT_UD;
	q->e.qpn = ev->remote_qpn;
	q->e.qkey = ev->qkey;
	q->e.ah = ev->ah;
}

static void happened(struct cma_id *id, const struct cm_event *ev)
{
	bool ud = id->qp_type == IBV_QPT_UD;
	struct cma_qev *q;
	int next;

	ut_lock(&id->c->lock);
	next = cma_next(id->state, cma_act_of(ev));
	if (next >= 0) {
		id->state = (enum cma_state)next;
		if (ev->type == CM_EV_RESPONSE || ev->type == CM_EV_ESTABLISHED)
			id->peer_ece = ev->param.ece;
		if (ev->type == CM_EV_RESPONSE)
			id->responded = true;
		/* ESTABLISHED is news unless the application has confirmed a RESPONSE. */
		q = ev->type == CM_EV_ESTABLISHED && id->responded ? NULL :
		    cma_qev_get(id, cma_type_of(ev, ud), ev->status);
		if (q) {
			fill(q, id, ev);
			cma_queue(id->c, q);
		}
	} else {
		ut_debug("event %d in state \"%s\" is not reported", ev->type,
			 cma_state_name(id->state));
	}
	ut_unlock(&id->c->lock);
	if (next >= 0)
		cma_say(ev);
}

/* --- requests --- */

/* The type of the QP that answers. */
static enum ibv_qp_type answering(const struct cma_id *listener, const struct cm_event *ev)
{
	if (listener->qp_type == IBV_QPT_UD)
		return IBV_QPT_UD;
	return ev->param.qp_type == IBV_QPT_XRC_SEND ? IBV_QPT_XRC_RECV : ev->param.qp_type;
}

static int family_of(const struct cma_id *listener, const struct cm_ep *ep)
{
	if (listener->family == AF_IB)
		return AF_IB;
	return ut_ip_is_v4(ep->local.addr) ? AF_INET : AF_INET6;
}

/* A request names both addresses, so its identifier starts in the state of an active one after
 * connect. */
static void inherit(struct cma_id *id, struct cma_id *from, const struct cm_event *ev)
{
	id->state = CMA_CONNECT;
	id->chan = from->chan;
	id->user = from->user;
	id->opt = from->opt;
	id->opt.reuse = false;
	id->family = family_of(from, ev->ep);
	id->space = from->space; /* fixed since it is bound */
	id->port = ev->ep->port;
	id->ep = ev->ep;
	id->local = ev->ep->local;
	id->remote = ev->ep->remote;
	id->has_local = id->has_remote = true;
	id->asked_rd = ev->param.responder_resources;
	id->asked_depth = ev->param.initiator_depth;
	id->peer_ece = ev->param.ece;
	id->path = ev->ep->path;
	ut_list_add_tail(&from->c->ids, &id->node);
}

static int take_request(struct cma_id *from, struct cma_id *id, struct cma_qev *q,
			const struct cm_event *ev)
{
	struct cma *c = from->c;
	int r = 0;

	ut_lock(&c->lock);
	if (from->state != CMA_LISTENING)
		r = -ESHUTDOWN;
	else if (from->untaken >= from->untaken_max)
		r = -ENOBUFS;
	if (r == 0) {
		inherit(id, from, ev);
		ev->ep->user = id;
		fill(q, id, ev);
		q->owner = from;
		q->e.id = id;
		q->e.listener = from;
		cma_queue(c, q);
	}
	ut_unlock(&c->lock);
	return r;
}

static int request(struct cma_id *from, const struct cm_event *ev)
{
	enum ibv_qp_type type = answering(from, ev);
	struct cma_qev *q;
	struct cma_id *id;
	int r;

	if (type != from->qp_type) {
		ut_info("a request for QP type %d came to a listener for type %d",
			ev->param.qp_type, from->qp_type);
		return -EPROTOTYPE;
	}
	r = cma_id_new(from->c, from->ps, type, &id);
	if (r < 0)
		return r;
	q = cma_qev_new(id, RDMA_CM_EVENT_CONNECT_REQUEST, ev->status);
	r = q ? take_request(from, id, q, ev) : -ENOMEM;
	if (r < 0) {
		free(q);
		cma_id_put(id);
	}
	return r;
}

static int on_event(struct cm_port *p, const struct cm_event *ev)
{
	struct cm_ep *ep = ev->type == CM_EV_REQUEST ? ev->listener : ev->ep;
	struct cma_id *id = ep->user;

	(void)p;
	if (ev->type == CM_EV_REQUEST)
		return request(id, ev);
	happened(id, ev);
	return 0;
}

const struct cm_user cma_user = { .event = on_event };

/* --- sentences --- */

/*
 * A connection that failed says so once, in words: managers report numbers, and
 * a program often prints nothing but the name of the event.
 */

/* IBTA table 107 (12.6.7.2). */
static const char *reason_text(int reason)
{
	switch (reason) {
	case CM_REJ_NO_QP:
	case CM_REJ_NO_RESOURCES:
		return "the other end has no resources";
	case CM_REJ_TIMEOUT:
		return "the other end gave up waiting for us";
	case CM_REJ_UNSUPPORTED:
		return "a request that the other end does not support";
	case CM_REJ_INVALID_COMM_ID:
	case CM_REJ_INVALID_INSTANCE:
		return "the other end does not know this connection";
	case CM_REJ_INVALID_SERVICE_ID:
		return "nobody listens there";
	case CM_REJ_INVALID_TRANSPORT:
		return "the other end serves no such type of QP";
	case CM_REJ_STALE:
		return "the other end has an older connection of this QP";
	case CM_REJ_INVALID_GID:
		return "the address is not the other end's";
	case CM_REJ_INVALID_MTU:
		return "the other end cannot have this path MTU";
	case CM_REJ_CONSUMER:
		return "by the program at the other end";
	case CM_REJ_DUPLICATE_COMM_ID:
		return "its number is in use at the other end";
	case CM_REJ_CLASS_VERSION:
		return "the other end speaks another version";
	case CM_REJ_VENDOR_OPTION:
		return "for its enhanced options, by the program at the other end";
	default:
		return "see IBTA table 107";
	}
}

/* As far as we send it ourselves. */
static const char *sidr_text(int status)
{
	switch (status) {
	case 1:
		return "nobody serves datagrams there";
	case 2:
		return "refused by the program at the other end";
	default:
		return "the other end refused";
	}
}

void cma_say(const struct cm_event *ev)
{
	const struct link_end *local = &ev->ep->local, *remote = &ev->ep->remote;
	struct cm_port *p = ev->ep->port;
	const char *text = strerrordesc_np(-ev->status);

	if (ev->said)
		return;
	if (!text)
		text = "unknown error";
	switch (ev->type) {
	case CM_EV_REJECTED:
		if (ev->status > 0)
			cm_why(p, local, remote, "rejected, %s (reason %d)",
			       reason_text(ev->status), ev->status);
		else
			cm_why(p, local, remote, "rejected, %s", text);
		break;
	case CM_EV_UNREACHABLE:
		if (ev->status > 0)
			cm_why(p, local, remote, "%s (status %d)", sidr_text(ev->status),
			       ev->status);
		else
			cm_why(p, local, remote, "not reached, %s", text);
		break;
	case CM_EV_ERROR:
		cm_why(p, local, remote, "failed, %s", text);
		break;
	case CM_EV_DISCONNECTED:
		if (ev->status)
			cm_why(p, local, remote, "broken, %s", text);
		break;
	default:
		break;
	}
}

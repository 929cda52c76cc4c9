/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What managers report. These run under dev->lock of the manager's adapter:
 * they move the state and queue, nothing else. An event that the state does not
 * expect (late, twice, after destroy) ends here.
 */
#include "cm/cma/event.h"

#include "cm/cma/id.h"
#include "cm/why.h"
#include "engine/semfd.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/*
 * The Linux kernel shows no event of a passive identifier until the program has accepted it: what ends
 * it before makes rdma_accept() fail. ESTABLISHED is news unless the application has confirmed a RESPONSE.
 */
static bool is_news(const struct cma_id *id, const struct cm_event *ev)
{
	return !id->unaccepted && !(ev->type == CM_EV_ESTABLISHED && id->responded);
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
		q = is_news(id, ev) ? cma_qev_get(id, cma_type_of(ev, ud), ev->status) : NULL;
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
	id->unaccepted = true;
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
		ut_info("a request for QP type %d came to a listener for type %d: it is rejected; use one "
			"type at both ends",
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

struct text {
	int code;
	const char *cause, *remedy;
};

/* IBTA table 107 (12.6.7.2). The last row stands for all others. */
static const struct text reasons[] = {
	{ CM_REJ_NO_QP, "the peer has no queue pair", "raise its limits, or try again" },
	{ CM_REJ_NO_RESOURCES, "the peer has no resources", "raise its limits, or try again" },
	{ CM_REJ_TIMEOUT, "the peer waited too long for this end", "answer faster, or raise its timeout" },
	{ CM_REJ_UNSUPPORTED, "the peer does not support the request", "connect without the option that it lacks" },
	{ CM_REJ_INVALID_COMM_ID, "the peer does not know the connection", "connect again" },
	{ CM_REJ_INVALID_INSTANCE, "the peer does not know the connection", "connect again" },
	{ CM_REJ_INVALID_SERVICE_ID, "no program listens at that port",
	  "start the server there, or correct address and port" },
	{ CM_REJ_INVALID_TRANSPORT, "the peer serves no such type of QP", "use the same QP type at both ends" },
	{ CM_REJ_STALE, "the peer has an older connection of this QP", "connect again, it has ended that one" },
	{ CM_REJ_INVALID_GID, "the address is not the peer's", "correct the address" },
	{ CM_REJ_INVALID_MTU, "the peer cannot have this path MTU", "use a smaller path MTU" },
	{ CM_REJ_CONSUMER, "the program at the peer refused", "see its messages, and dapple why there" },
	{ CM_REJ_DUPLICATE_COMM_ID, "its communication ID is in use at the peer", "connect again" },
	{ CM_REJ_CLASS_VERSION, "the peer has another version of the CM class", "use version 2 at the peer" },
	{ CM_REJ_VENDOR_OPTION, "the program at the peer refused its enhanced options",
	  "connect without rdma_set_local_ece()" },
	{ 0, "the peer refused", "see IBTA table 107" },
};

/* SIDR (12.11), as far as Dapple sends it. */
static const struct text sidr[] = {
	{ 1, "no program serves datagrams there", "start the server there, or correct address and port" },
	{ 2, "the program at the peer refused", "see its messages, and dapple why there" },
	{ 0, "the peer refused", "see IBTA 12.11.2" },
};

/* APR (12.8.2), as far as Dapple and rows of the table that a user can act on. */
static const struct text alternates[] = {
	{ CM_APR_INVALID_COMM_ID, "the peer does not know the connection", "connect again" },
	{ CM_APR_UNSUPPORTED, "the peer has no alternate paths", "use one path, or an adapter with several LIDs at the peer" },
	{ CM_APR_REJECTED, "the peer is loading a path of its own, or its queue pair cannot take one", "load it again" },
	{ CM_APR_IS_CURRENT, "the connection uses that path already", "name another LID or SL" },
	{ CM_APR_INVALID_QPN, "the peer has another queue pair", "connect again" },
	{ CM_APR_INVALID_LID, "a LID of the path is not a LID of the ends", "query the path again" },
	{ CM_APR_INVALID_GID, "a GID of the path is not a GID of the ends", "query the path again" },
	{ 0, "the peer refused the path", "see IBTA table 117" },
};

static const struct text *text_of(const struct text *row, int code)
{
	while (row->code && row->code != code)
		row++;
	return row;
}

void cma_say(const struct cm_event *ev)
{
	const struct link_end *local = &ev->ep->local, *remote = &ev->ep->remote;
	struct cm_port *p = ev->ep->port;
	const char *text = strerrordesc_np(-ev->status);
	const struct text *t;

	if (ev->said)
		return;
	if (!text)
		text = "unknown error";
	switch (ev->type) {
	case CM_EV_REJECTED:
		t = text_of(reasons, ev->status);
		if (ev->status > 0)
			cm_why(p, local, remote, "%s: rejected (reason %d); %s", t->cause, ev->status, t->remedy);
		else
			cm_why(p, local, remote, "%s: rejected by the program at the peer; see its messages, and dapple why there", text);
		break;
	case CM_EV_UNREACHABLE:
		t = text_of(sidr, ev->status);
		if (ev->status > 0)
			cm_why(p, local, remote, "%s: rejected (status %d); %s", t->cause, ev->status, t->remedy);
		else
			cm_why(p, local, remote, "%s: not reached; check the address, and the peer's firewall", text);
		break;
	case CM_EV_ERROR:
		cm_why(p, local, remote, "%s: failed; check whether the peer process still runs", text);
		break;
	case CM_EV_ALTERNATE:
		t = text_of(alternates, ev->status);
		if (ev->status > 0)
			cm_why(p, local, remote, "%s: no alternate path was loaded (status %d); %s", t->cause, ev->status, t->remedy);
		else if (ev->status < 0)
			cm_why(p, local, remote, "%s: no alternate path was loaded; check whether the peer process still runs", text);
		break;
	case CM_EV_DISCONNECTED:
		if (ev->status)
			cm_why(p, local, remote, "%s: broken; check whether the peer process still runs", text);
		break;
	default:
		break;
	}
}

/* --- channels --- */

/*
 * Channels. One queue in the order in which things happened, whatever the
 * identifier; the descriptor counts what is queued, so it is readable exactly
 * while there is an event. Queue and count change under one lock.
 */

int cma_chan_create(struct cma *c, struct cma_chan **ret)
{
	struct cma_chan *ch;
	int fd;

	if (cma_foreign(c))
		return -EIO;
	ch = ut_zalloc(sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	fd = eng_semfd_open();
	if (fd < 0) {
		free(ch);
		return fd;
	}
	ch->c = c;
	ch->fd = fd;
	ut_list_init(&ch->events);
	*ret = ch;
	return 0;
}

int cma_chan_destroy(struct cma_chan *ch)
{
	struct cma *c = ch->c;
	bool busy;

	/* The descriptor is the child's own, the rest an unreliable copy. */
	if (cma_foreign(c)) {
		syscall(SYS_close, ch->fd);
		return 0;
	}
	ut_lock(&c->lock);
	busy = ch->n_ids != 0;
	ut_unlock(&c->lock);
	if (busy)
		return -EBUSY;
	/* Without identifiers there are no events. */
	syscall(SYS_close, ch->fd);
	free(ch);
	return 0;
}

int cma_chan_fd(const struct cma_chan *ch)
{
	return ch->fd;
}

static void qev_init(struct cma_qev *q, struct cma_id *owner, int type, int status)
{
	*q = (struct cma_qev){ .owner = owner, .e = { .type = type, .status = status,
						      .id = owner } };
	ut_list_init(&q->node);
}

struct cma_qev *cma_qev_new(struct cma_id *owner, int type, int status)
{
	struct cma_qev *q = ut_malloc(sizeof(*q));

	if (q)
		qev_init(q, owner, type, status);
	return q;
}

struct cma_qev *cma_qev_get(struct cma_id *owner, int type, int status)
{
	struct cma_qev *q = cma_qev_new(owner, type, status);

	if (q)
		return q;
	q = owner->spare;
	owner->spare = NULL;
	if (q)
		qev_init(q, owner, type, status);
	else
		ut_error("an event of rdma_cm (enum rdma_cm_event_type: %d) finds no memory: rdma_get_cm_event does not return it, "
			 "and a program that waits for it hangs; raise the limits on memory (ulimit -v, cgroup) and start the "
			 "program again", type);
	return q;
}

void cma_queue(struct cma *c, struct cma_qev *q)
{
	struct cma_chan *ch = q->owner->chan;

	if (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		q->owner->untaken++;
	ut_list_add_tail(&ch->events, &q->node);
	eng_semfd_up(ch->fd);
}

static void taken(struct cma *c, struct cma_chan *ch, struct cma_qev *q) UT_REQUIRES(c->lock)
{
	ut_list_del(&q->node);
	eng_semfd_down(ch->fd);
	if (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		q->owner->untaken--;
}

void cma_unqueue(struct cma *c, struct cma_id *id, const struct cma_mc *mc, struct ut_list *to)
{
	struct cma_chan *ch = id->chan;
	struct cma_qev *q, *tmp;

	ut_list_each_safe(q, tmp, &ch->events, node) {
		if (q->owner != id || (mc && q->mc != mc))
			continue;
		taken(c, ch, q);
		ut_list_add_tail(to, &q->node);
	}
}

/* What an event shows is as it is when it is taken. */
static void show(const struct cma_qev *q, struct cma_event *ret)
{
	*ret = q->e;
	ret->user = q->owner->user;
	if (ret->param.private_data)
		ret->param.private_data = ret->data;
}

/* From now on the application has to destroy what the request brought. */
static void hand_over(struct cma_chan *ch, const struct cma_qev *q)
{
	if (q->e.id == q->owner)
		return;
	q->e.id->known = true;
	ch->n_ids++;
}

int cma_event_next(struct cma_chan *ch, bool requests_too, struct cma_event *ret)
{
	struct cma *c = ch->c;
	struct cma_qev *q, *spent = NULL;

	if (cma_foreign(c))
		return -EIO;
	ut_lock(&c->lock);
	q = ut_list_first(&ch->events, struct cma_qev, node);
	if (!q || (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST && !requests_too)) {
		ut_unlock(&c->lock);
		return q ? -EBUSY : -EAGAIN;
	}
	taken(c, ch, q);
	show(q, ret);
	hand_over(ch, q);
	if (q->owner->spare)
		spent = q;
	else
		q->owner->spare = q;
	ut_unlock(&c->lock);
	free(spent);
	return 0;
}

int cma_write_event(struct cma_id *id, int type, int status, uint64_t arg)
{
	struct cma_qev *q;

	if (cma_foreign(id->c))
		return -EIO;
	q = cma_qev_new(id, type, status);
	if (!q)
		return -ENOMEM;
	q->e.arg = arg;
	ut_lock(&id->c->lock);
	cma_queue(id->c, q);
	ut_unlock(&id->c->lock);
	return 0;
}

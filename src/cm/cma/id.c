/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers: creation, migration between channels, destruction, queries, and the table of their states. */
#include "cm/cma/id.h"

#include "cm/cma/addr.h"
#include "cm/cma/event.h"
#include "cm/cma/mcast.h"
#include "cm/cma/port.h"
#include "util/alloc.h"
#include "util/ip.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

struct cma *cma_new(const struct cma_host *host, uint64_t seed)
{
	struct cma *c = ut_zalloc(sizeof(*c));

	if (!c)
		return NULL;
	c->host = host;
	ut_mutex_init(&c->lock);
	ut_lock(&c->lock);
	ut_list_init(&c->ids);
	c->rng.state = seed;
	ut_unlock(&c->lock);
	return c;
}

void cma_forget(struct cma *c)
{
	atomic_store(&c->dead, true);
}

/* --- states and references --- */

int cma_move(struct cma_id *id, enum cma_act act, enum cma_state *old)
{
	int next;

	ut_lock(&id->c->lock);
	next = cma_next(id->state, act);
	if (next >= 0) {
		if (old)
			*old = id->state;
		id->state = (enum cma_state)next;
	}
	ut_unlock(&id->c->lock);
	return next < 0 ? next : 0;
}

int cma_may(struct cma_id *id, enum cma_act act)
{
	int next;

	ut_lock(&id->c->lock);
	next = cma_next(id->state, act);
	ut_unlock(&id->c->lock);
	return next < 0 ? next : 0;
}

void cma_move_back(struct cma_id *id, enum cma_state from, enum cma_state to)
{
	ut_lock(&id->c->lock);
	if (id->state == from)
		id->state = to;
	ut_unlock(&id->c->lock);
}

struct cm_options cma_opt(struct cma_id *id)
{
	struct cm_options opt;

	ut_lock(&id->c->lock);
	opt = id->opt;
	ut_unlock(&id->c->lock);
	return opt;
}

int cma_family(struct cma_id *id)
{
	int family;

	ut_lock(&id->c->lock);
	family = id->family;
	ut_unlock(&id->c->lock);
	return family;
}

void cma_id_put(struct cma_id *id)
{
	bool last;

	ut_lock(&id->c->lock);
	last = --id->refs == 0;
	ut_unlock(&id->c->lock);
	if (!last)
		return;
	ut_mutex_fini(&id->call);
	free(id->spare);
	free(id->answer);
	free(id);
}

/* --- beginning --- */

int cma_id_new(struct cma *c, enum cm_ps ps, enum ibv_qp_type type, struct cma_id **ret)
{
	struct cma_id *id = ut_zalloc(sizeof(*id));

	if (!id)
		return -ENOMEM;
	id->spare = cma_qev_new(id, 0, 0);
	if (!id->spare) {
		free(id);
		return -ENOMEM;
	}
	id->c = c;
	id->ps = id->space = ps;
	id->qp_type = type;
	id->opt.tos = -1;
	id->path = (struct cm_path){ .slid = CM_LID_PERMISSIVE, .dlid = CM_LID_PERMISSIVE,
				     .pkey = WIRE_PKEY_DEFAULT, .hop_limit = CMA_HOP_LIMIT };
	id->refs = 1;
	ut_mutex_init(&id->call);
	ut_list_init(&id->subs);
	ut_list_init(&id->mcs);
	ut_list_init(&id->node);
	*ret = id;
	return 0;
}

static bool fits(enum cm_ps ps, enum ibv_qp_type t)
{
	switch (ps) {
	case CM_PS_SDP:
		return t == IBV_QPT_RC;
	case CM_PS_TCP:
		return t == IBV_QPT_RC || t == IBV_QPT_UC || t == IBV_QPT_XRC_SEND ||
		       t == IBV_QPT_XRC_RECV;
	case CM_PS_UDP:
	case CM_PS_IPOIB:
		return t == IBV_QPT_UD;
	case CM_PS_IB:
		return t == IBV_QPT_RC || t == IBV_QPT_UC || t == IBV_QPT_UD ||
		       t == IBV_QPT_XRC_SEND || t == IBV_QPT_XRC_RECV;
	default:
		return false;
	}
}

int cma_id_create(struct cma_chan *ch, void *user, enum cm_ps ps, enum ibv_qp_type qp_type,
		  struct cma_id **ret)
{
	struct cma *c = ch->c;
	struct cma_id *id;
	int r;

	if (cma_foreign(c))
		return -EIO;
	if (!fits(ps, qp_type))
		return -EINVAL;
	r = cma_id_new(c, ps, qp_type, &id);
	if (r < 0)
		return r;
	id->user = user;
	id->chan = ch;
	id->known = true;
	ut_lock(&c->lock);
	ch->n_ids++;
	ut_list_add_tail(&c->ids, &id->node);
	ut_unlock(&c->lock);
	*ret = id;
	return 0;
}

void cma_id_set_user(struct cma_id *id, void *user)
{
	if (cma_foreign(id->c))
		return;
	ut_lock(&id->c->lock);
	id->user = user;
	ut_unlock(&id->c->lock);
}

/* --- migration --- */

/* Requests that wait in the queue move with their listener, and so does what is queued for
 * them already: the order of a connection's events must survive. */
static void move_events(struct cma *c, struct cma_id *id, struct cma_chan *to)
	UT_REQUIRES(c->lock)
{
	struct ut_list moved = UT_LIST_INIT(moved);
	struct cma_qev *q;
	struct ut_list *n;

	cma_unqueue(c, id, NULL, &moved);
	id->chan = to;
	while ((n = ut_list_pop(&moved))) {
		q = ut_container(n, struct cma_qev, node);
		cma_queue(c, q);
		if (q->e.id != id)
			move_events(c, q->e.id, to);
	}
}

int cma_id_migrate(struct cma_id *id, struct cma_chan *to)
{
	struct cma *c = id->c;

	if (cma_foreign(c))
		return -EIO;
	if (to->c != c)
		return -EINVAL;
	ut_lock(&c->lock);
	if (id->chan != to) {
		id->chan->n_ids--;
		to->n_ids++;
		move_events(c, id, to);
	}
	ut_unlock(&c->lock);
	return 0;
}

/* --- end --- */

static void destroy_eps(struct cma_id *id)
{
	struct cma_sub *s, *tmp;

	if (id->ep)
		cma_ep_destroy(id, id->port, id->ep);
	id->ep = NULL;
	ut_list_each_safe(s, tmp, &id->subs, node)
		cma_sub_drop(id, s);
}

static void finish(struct cma_id *id);

/* Dead from here on: up-calls queue nothing, requests are refused. */
static void kill_id(struct cma_id *id, struct ut_list *events)
{
	struct cma *c = id->c;

	ut_lock(&c->lock);
	id->state = CMA_DEAD;
	ut_list_del(&id->node);
	cma_unqueue(c, id, NULL, events);
	if (id->known)
		id->chan->n_ids--;
	ut_unlock(&c->lock);
}

/* Frees the events of a destroyed identifier, and destroys the identifiers of connection requests that the program
 * has not taken. The queue of such an identifier has no requests, so the recursion ends there. */
static void drop(struct cma_id *id, struct ut_list *events)
{
	struct ut_list *n;

	while ((n = ut_list_pop(events))) {
		struct cma_qev *q = ut_container(n, struct cma_qev, node);

		if (q->e.id != id)
			finish(q->e.id);
		free(q);
	}
}

static void finish(struct cma_id *id)
{
	struct ut_list events = UT_LIST_INIT(events);

	ut_lock(&id->call);
	kill_id(id, &events);
	drop(id, &events);
	cma_leave_all(id);
	destroy_eps(id);
	ut_unlock(&id->call);
	cma_id_put(id);
}

void cma_id_destroy(struct cma_id *id)
{
	/* After a fork the child has a copy of the parent's identifier; the parent destroys the original. */
	if (!cma_foreign(id->c))
		finish(id);
}

/* --- queries --- */

/* Reads what c->lock guards: state, family, options, path. */
static void look(struct cma_id *id, struct cma_info *ret, int *family)
{
	ut_lock(&id->c->lock);
	*family = id->family;
	ret->routed = id->state == CMA_ROUTED || id->state == CMA_CONNECT ||
		      id->state == CMA_DISCONNECT;
	ret->peer_ece = id->peer_ece;
	ret->path = id->path;
	if (!ret->path.traffic_class && id->opt.tos > 0)
		ret->path.traffic_class = (uint8_t)id->opt.tos;
	ut_unlock(&id->c->lock);
}

/* The manager chooses the local port of an active side in connect; it is read from the endpoint once. */
static void look_local(struct cma_id *id)
{
	if (!id->ep || id->local.port)
		return;
	cma_port_lock(id->port);
	id->local.port = id->ep->local.port;
	cma_port_unlock(id->port);
}

/* The GID of the port that has an address: the address itself, but on an InfiniBand link. */
static void gid_of(const struct cma_id *id, const uint8_t addr[16], uint8_t ret[16])
{
	bool ib = false;

	if (id->port) {
		cma_port_lock(id->port);
		ib = id->port->dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
		cma_port_unlock(id->port);
	}
	if (ib)
		id->c->host->to_gid(id->port, addr, ret);
	else
		memcpy(ret, addr, 16);
}

static void look_port(struct cma_id *id, struct cma_info *ret)
{
	if (!id->port)
		return;
	look_local(id);
	ret->dev = id->port->dev;
	ret->device = id->port->dev->name;
	ret->port_num = ENG_PORT_NUM;
	ret->moves_qp = id->port->ops->moves_qp;
	gid_of(id, id->local.addr, ret->sgid.raw);
}

/* AF_IB shows the GID of a port. */
static void write_addr(struct cma_id *id, int family, const struct link_end *end, struct sockaddr_storage *ret)
{
	struct link_end e = *end;

	if (family == AF_IB && !ut_ip_is_any(end->addr))
		gid_of(id, end->addr, e.addr);
	cma_addr_write(family, &e, id->service ? id->service : cm_ip_service(id->space, end->port), ret);
}

void cma_query(struct cma_id *id, struct cma_info *ret)
{
	int family;

	*ret = (struct cma_info){ .path.pkey = WIRE_PKEY_DEFAULT };
	if (!cma_enter(id))
		return;
	look(id, ret, &family);
	look_port(id, ret);
	if (id->has_local)
		write_addr(id, family, &id->local, &ret->local);
	if (id->has_remote)
		write_addr(id, family, id->asked.family ? &id->asked.end : &id->remote, &ret->remote);
	if (id->has_remote)
		gid_of(id, id->remote.addr, ret->dgid.raw);
	if (id->qp_type == IBV_QPT_UD)
		ret->qkey = id->ps == CM_PS_IPOIB ? CMA_QKEY_IPOIB : CMA_QKEY;
	ut_unlock(&id->call);
}

/* --- states --- */

/* One letter per cell: the state after the act, in the order of enum cma_state; '.' = illegal. IDLE, BOUND, NAME asked for,
 * ADDRESS resolved, QUERY of the route, ROUTED, LISTENING, CONNECT, DISCONNECT, GONE (device removed), X = destroyed. */
static const char letter[CMA_STATES + 1] = "IBNAQRLCDGX";

static const char *const rows[CMA_ACTS] = {
	/*                      IBNAQRLCDGX */
	[CMA_DO_BIND]       = "B..........",
	[CMA_DO_RESOLVE]    = "AA.........",
	[CMA_DO_NAME]       = "...N.......",
	[CMA_DO_ROUTE]      = "...Q.......",
	[CMA_DO_PATH]       = "...R.......",
	[CMA_DO_LISTEN]     = "LL.........",
	[CMA_DO_CONNECT]    = ".....C.....",
	[CMA_DO_ACCEPT]     = ".......C...",
	[CMA_DO_REJECT]     = ".......C...",
	[CMA_DO_ESTABLISH]  = ".......C...",
	[CMA_DO_NOTIFY]     = ".......C...",
	/* Programs disconnect once more when they hear that the peer did. */
	[CMA_DO_DISCONNECT] = ".......CDG.",
	[CMA_DO_ALTERNATE]  = ".......C...",
	[CMA_DO_JOIN]       = ".B.A.......",
	[CMA_DO_DEVICE]     = "I..........",
	[CMA_DO_AFONLY]     = "IB.........",
	/* Setting the option is legal in these states. A listener may not clear it, which option.c checks: the act has
	 * no value. */
	[CMA_DO_REUSE]      = "IBNAQRLC...",
	[CMA_ON_PATH]       = "....R......",
	[CMA_ON_NO_PATH]    = "....A......",
	[CMA_ON_CONN]       = ".......C...",
	[CMA_ON_ALTERNATE]  = ".......C...",
	[CMA_ON_END]        = ".......D...",
	[CMA_ON_TIMEWAIT]   = "........D..",
	[CMA_ON_GONE]       = ".GGGGGGGG..",
	[CMA_ON_DESTROY]    = "XXXXXXXXXX.",
};

int cma_next(enum cma_state now, enum cma_act act)
{
	for (int s = 0; s < CMA_STATES; s++)
		if (letter[s] == rows[act][now])
			return s;
	return -EINVAL;
}

const char *cma_state_name(enum cma_state s)
{
	static const char *const names[CMA_STATES] = {
		"idle", "bound", "resolving the address", "address resolved", "resolving the route", "route resolved", "listening",
		"connecting or connected", "disconnected", "device removed", "destroyed",
	};

	return names[s];
}

enum cma_act cma_act_of(const struct cm_event *ev)
{
	switch (ev->type) {
	case CM_EV_DISCONNECTED:
		return CMA_ON_END;
	case CM_EV_TIMEWAIT_EXIT:
		return CMA_ON_TIMEWAIT;
	case CM_EV_ALTERNATE:
		return CMA_ON_ALTERNATE;
	default:
		return CMA_ON_CONN;
	}
}

int cma_type_of(const struct cm_event *ev, bool ud)
{
	switch (ev->type) {
	case CM_EV_REQUEST:
		return RDMA_CM_EVENT_CONNECT_REQUEST;
	case CM_EV_RESPONSE:
		return RDMA_CM_EVENT_CONNECT_RESPONSE;
	case CM_EV_ESTABLISHED:
		return RDMA_CM_EVENT_ESTABLISHED;
	case CM_EV_REJECTED:
		return RDMA_CM_EVENT_REJECTED;
	case CM_EV_DISCONNECTED:
		return RDMA_CM_EVENT_DISCONNECTED;
	case CM_EV_TIMEWAIT_EXIT:
		return RDMA_CM_EVENT_TIMEWAIT_EXIT;
	case CM_EV_ALTERNATE:
		return ev->status ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED;
	case CM_EV_UNREACHABLE:
		return RDMA_CM_EVENT_UNREACHABLE;
	case CM_EV_ERROR:
	default:
		/* librdmacm reports a SIDR status other than 0 as UNREACHABLE. */
		return ud && ev->status > 0 ? RDMA_CM_EVENT_UNREACHABLE
					    : RDMA_CM_EVENT_CONNECT_ERROR;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolving. The adapter of an address is known when the call returns, and told as an event: a
 * wrong address, no route, no adapter are ADDR_ERROR with the errno as status, and the
 * identifier may try another address. Only a source that cannot be bound, or a call out of turn,
 * fails at once. A path record is known at once on RoCE and iWARP; a subnet administrator
 * answers later (cma_path_answer).
 */
#include "cm/cma.h"

#include "cm/cma/bind.h"
#include "cm/cma/event.h"
#include "cm/cma/id.h"
#include "cm/cma/port.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

/* Of the endpoints for any address the one of the source remains. */
static int keep_sub(struct cma_id *id, struct cm_port *p, const struct link_end *src)
{
	struct cma_sub *s, *tmp;

	ut_list_each(s, &id->subs, node)
		if (s->port == p && ut_ip_same(s->ep->local.addr, src->addr))
			break;
	/* The port is taken there: that is why it was left out. */
	if (&s->node == &id->subs)
		return -EADDRINUSE;
	id->ep = s->ep;
	ut_list_del(&s->node);
	free(s);
	ut_list_each_safe(s, tmp, &id->subs, node)
		cma_sub_drop(id, s);
	return 0;
}

static int take_source(struct cma_id *id, const struct link_end *src)
{
	struct cm_port *p;
	int r;

	if (id->ep) /* bound to one address */
		return 0;
	r = cma_port_find(id, src, &p);
	if (r == 0)
		r = id->any ? keep_sub(id, p, src) : cma_ep_create(id, p, src, &id->ep);
	if (r < 0)
		/* The host has the address, and no adapter does. */
		return r == -EADDRNOTAVAIL ? -ENODEV : r;
	id->port = p;
	id->any = false;
	id->local = id->ep->local;
	id->has_local = true;
	return 0;
}

static int resolve(struct cma_id *id, const struct cma_addr *dst)
{
	struct link_end to = dst->end, src = { 0 };
	bool v4 = ut_ip_is_v4(to.addr);
	int r;

	cma_addr_set_any(&src, v4);
	if (id->ep)
		src = id->local;
	/* Nowhere is here. */
	if (ut_ip_is_any(to.addr) && ut_ip_is_any(src.addr))
		cma_addr_set_loopback(&to, v4);
	else if (ut_ip_is_any(to.addr))
		memcpy(to.addr, src.addr, sizeof(to.addr));
	r = ut_ip_is_v4(src.addr) == v4 ? id->c->host->route(&to, &src) : -EAFNOSUPPORT;
	if (r == 0)
		r = take_source(id, &src);
	if (r < 0)
		return r;
	if (!to.scope)
		to.scope = src.scope;
	id->remote = to;
	id->has_remote = true;
	ut_lock(&id->c->lock);
	id->family = dst->family;
	ut_unlock(&id->c->lock);
	return 0;
}

/* Queues ADDR_RESOLVED or ADDR_ERROR. A device that went meanwhile has changed the state already. */
static void tell(struct cma_id *id, struct cma_qev *q, enum cma_state from, const struct cma_addr *dst, int status)
{
	enum cma_state back = id->has_local ? CMA_BOUND : CMA_IDLE;
	char text[CMA_TEXT];

	if (status < 0)
		ut_info("cannot resolve %s (%s): the identifier gets RDMA_CM_EVENT_ADDR_ERROR",
			cma_addr_text(&dst->end, text, sizeof(text)), strerror(-status));
	ut_lock(&id->c->lock);
	if (id->state == from)
		id->state = status < 0 ? back : CMA_ADDR;
	q->e.type = status < 0 ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED;
	q->e.status = status;
	cma_queue(id->c, q);
	ut_unlock(&id->c->lock);
}

/* --- addresses that the host does not know --- */

/* The question has a ticket before it is asked, as that for a path. */
static int begin_name(struct cma_id *id, struct cma_qev *q)
{
	int next;

	ut_lock(&id->c->lock);
	next = cma_next(id->state, CMA_DO_NAME);
	if (next >= 0) {
		id->state = (enum cma_state)next;
		id->ticket = ++id->c->tickets;
		id->answer = q;
	}
	ut_unlock(&id->c->lock);
	return next < 0 ? next : 0;
}

/* Returns true if the subnet was asked: its answer tells the event. */
static bool ask_name(struct cma_id *id, struct cma_qev *q, const struct cma_addr *dst, int timeout_ms)
{
	if (ut_ip_is_any(dst->end.addr) || ut_ip_is_group(dst->end.addr) || begin_name(id, q) < 0)
		return false;
	id->asked = *dst;
	if (id->c->host->name(id->port, dst->end.addr, timeout_ms, id->ticket) == -EINPROGRESS)
		return true;
	id->asked.family = 0;
	ut_lock(&id->c->lock);
	id->answer = NULL;
	if (id->state == CMA_NAME_QUERY)
		id->state = CMA_ADDR;
	ut_unlock(&id->c->lock);
	return false;
}

/* Finds the identifier that waits for an answer; cma_id_put() gives it back. */
static struct cma_id *hold_asker(struct cma *c, uint64_t ticket)
{
	struct cma_id *id, *found = NULL;

	ut_lock(&c->lock);
	ut_list_each(id, &c->ids, node)
		if (id->answer && id->ticket == ticket) {
			found = id;
			id->refs++;
			break;
		}
	ut_unlock(&c->lock);
	return found;
}

/* NULL: the identifier has been destroyed. */
static struct cma_qev *take_answer(struct cma_id *id)
{
	struct cma_qev *q = NULL;

	ut_lock(&id->c->lock);
	if (id->state != CMA_DEAD) {
		q = id->answer;
		id->answer = NULL;
	}
	ut_unlock(&id->c->lock);
	return q;
}

static void name_answered(struct cma_id *id, int status, const uint8_t addr[16])
{
	struct cma_qev *q = take_answer(id);
	struct cma_addr own = id->asked;

	if (!q)
		return;
	own.end.scope = 0;
	if (status == 0) {
		memcpy(own.end.addr, addr, 16);
		status = resolve(id, &own);
	}
	own = id->asked;
	if (status < 0)
		id->asked.family = 0;
	tell(id, q, CMA_NAME_QUERY, &own, status);
}

void cma_name_answer(struct cma *c, uint64_t ticket, int status, const uint8_t addr[16])
{
	struct cma_id *id = cma_foreign(c) ? NULL : hold_asker(c, ticket);

	if (!id)
		return;
	ut_lock(&id->call);
	name_answered(id, status, addr);
	ut_unlock(&id->call);
	cma_id_put(id);
}

/* --- calls --- */

/* An identifier without a source takes the one given; any address with port 0 is none. */
static int bind_source(struct cma_id *id, const struct sockaddr *src)
{
	struct cma_addr a;
	int r;

	if (!src)
		return 0;
	r = cma_addr_take(id->c->host, src, &a);
	if (r < 0 || (ut_ip_is_any(a.end.addr) && !a.end.port))
		return r;
	return cma_bind_addr(id, &a);
}

static int resolve_call(struct cma_id *id, const struct sockaddr *src, const struct sockaddr *dst, int timeout_ms)
{
	struct cma_addr to;
	enum cma_state old;
	struct cma_qev *q;
	int r = cma_addr_take(id->c->host, dst, &to);

	if (r == 0)
		r = cma_move(id, CMA_DO_RESOLVE, &old);
	if (r < 0)
		return r;
	q = cma_qev_new(id, 0, 0);
	/* An endpoint has one service ID: that of a bound one is its own, not the destination's. */
	r = !q ? -ENOMEM : to.service && (src || old != CMA_IDLE) ? -EPROTONOSUPPORT : cma_take_service(id, &to);
	if (r == 0 && old == CMA_IDLE)
		r = bind_source(id, src);
	if (r < 0) {
		cma_move_back(id, CMA_ADDR, old);
		free(q);
		return r;
	}
	r = resolve(id, &to);
	if (r == 0 || r == -EAFNOSUPPORT || !ask_name(id, q, &to, timeout_ms))
		tell(id, q, CMA_ADDR, &to, r);
	return 0;
}

int cma_resolve_addr(struct cma_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, resolve_call(id, src, dst, timeout_ms));
}

/* ROUTE_RESOLVED or ROUTE_ERROR. A device that went meanwhile has changed the state already. */
static void tell_path(struct cma *c, struct cma_id *id, int status, const struct cm_path *path)
	UT_REQUIRES(c->lock)
{
	struct cma_qev *q = id->answer;
	int next = cma_next(id->state, status < 0 ? CMA_ON_NO_PATH : CMA_ON_PATH);

	id->answer = NULL;
	if (next >= 0)
		id->state = (enum cma_state)next;
	if (status == 0)
		id->path = *path;
	q->e.type = status < 0 ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED;
	q->e.status = status;
	cma_queue(c, q);
}

/* The question has a ticket before it is asked: its answer may overtake the return of the call. */
static int begin_query(struct cma_id *id, struct cma_qev *q)
{
	int next;

	ut_lock(&id->c->lock);
	next = cma_next(id->state, CMA_DO_ROUTE);
	if (next >= 0) {
		id->state = (enum cma_state)next;
		id->ticket = ++id->c->tickets;
		id->answer = q;
	}
	ut_unlock(&id->c->lock);
	return next < 0 ? next : 0;
}

static int route_call(struct cma_id *id, int timeout_ms)
{
	struct cma_qev *q = cma_qev_new(id, 0, 0);
	struct cm_path path = { 0 };
	int r = q ? begin_query(id, q) : -ENOMEM;

	if (r < 0) {
		free(q);
		return r;
	}
	r = id->c->host->path(id->port, &id->local, &id->remote, timeout_ms, id->ticket, &path);
	if (r == -EINPROGRESS)
		return 0;
	ut_lock(&id->c->lock);
	tell_path(id->c, id, r, &path);
	ut_unlock(&id->c->lock);
	return 0;
}

void cma_path_answer(struct cma *c, uint64_t ticket, int status, const struct cm_path *path)
{
	struct cma_id *id;

	if (cma_foreign(c))
		return;
	ut_lock(&c->lock);
	ut_list_each(id, &c->ids, node)
		if (id->answer && id->ticket == ticket) {
			tell_path(c, id, status, path);
			break;
		}
	ut_unlock(&c->lock);
}

int cma_resolve_route(struct cma_id *id, int timeout_ms)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, route_call(id, timeout_ms));
}

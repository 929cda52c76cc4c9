/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Binding. A port is claimed here and not at listen(), so that a second bind
 * hears EADDRINUSE at once. Any address means all addresses of all adapters
 * that serve the identifier. The kind that comes first must have the port at all of
 * them, or the call fails with EADDRINUSE: peers of this host reach that kind, and a
 * second server would never be asked. Of other kinds an address that refuses (iWARP
 * shares its ports with all TCP programs) is left out and logged; and so is what refuses
 * for other reasons, unless all do. Port 0 with any address:
 * the first endpoint chooses, and when another adapter has that port taken the
 * choice is made again, while the first choice is still held.
 */
#include "cm/cma/bind.h"

#include "cm/cma/id.h"
#include "cm/cma/port.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHOICES 32 /* of an ephemeral port, before taken ones are left out */

struct target {
	struct cm_port *port;
	struct link_end local;
};

struct targets {
	struct target *v;
	int n, cap;
};

static int target_add(struct targets *t, struct cm_port *p, const struct link_end *local)
{
	if (t->n == t->cap) {
		int cap = t->cap ? 2 * t->cap : 16;
		struct target *v = ut_realloc(t->v, (size_t)cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = (struct target){ .port = p, .local = *local };
	return 0;
}

static int add_port(struct cma_id *id, struct cm_port *p, int family, struct targets *t)
{
	bool afonly = cma_opt(id).afonly;
	struct link_end *v;
	int n, r = 0;

	n = cma_port_addrs(id->c, p, &v);
	if (n < 0)
		return n;
	for (int i = 0; i < n && r == 0; i++)
		if (cma_any_takes(family, afonly, v[i].addr))
			r = target_add(t, p, &v[i]);
	free(v);
	return r;
}

/* Returns 0, or the reason why there is no adapter. One that has no address of the family yet is none of the targets. */
static int find_targets(struct cma_id *id, int family, struct targets *t)
{
	struct cm_port **v;
	int n = cma_ports(id->c, &v), why = -ENODEV, r = 0;
	bool ready = false;

	if (n < 0)
		return n;
	for (int i = 0; i < n && r != -ENOMEM; i++) {
		if (!cma_port_chosen(id, v[i]))
			continue;
		r = cma_port_ready(id, v[i]);
		ready |= r == 0;
		if (r == 0)
			r = add_port(id, v[i], family, t);
		else if (r != -ENODEV) {
			ut_warn("cannot attach adapter %s (%s): a bind to any address leaves it out; see "
				"dapple doctor",
				v[i]->dev->name, strerror(-r));
			why = why == -ENODEV ? r : why;
		}
	}
	free(v);
	if (r == -ENOMEM)
		return r;
	return ready ? 0 : why;
}

static void drop_subs(struct cma_id *id)
{
	struct cma_sub *s, *tmp;

	ut_list_each_safe(s, tmp, &id->subs, node)
		cma_sub_drop(id, s);
}

static void note_left_out(struct cma_id *id, struct cm_port *p, const struct link_end *e, int r)
{
	char text[CMA_TEXT];

	ut_warn("%s: cannot bind %s (%s): a bind to any address leaves it out; choose another port, or see "
		"dapple doctor", p->dev->name,
		cma_addr_text(e, text, sizeof(text)), strerror(-r));
}

static bool first_kind(const struct targets *t, const struct cm_port *p)
{
	return p->ops == t->v[0].port->ops;
}

/*
 * Binds all from `from` on to one port. 0, or why the call must fail. *ret_refused becomes the
 * first reason why one was left out. strict: a taken port is never left out.
 */
static int bind_all(struct cma_id *id, const struct targets *t, int from, uint16_t port,
		    bool strict, int *ret_refused)
{
	for (int i = from; i < t->n; i++) {
		struct link_end e = t->v[i].local;
		int r;

		e.port = port;
		r = cma_sub_add(id, t->v[i].port, &e);
		if (r == 0)
			continue;
		if (r == -ENOMEM ||
		    (r == -EADDRINUSE && (strict || first_kind(t, t->v[i].port))))
			return r;
		note_left_out(id, t->v[i].port, &e, r);
		*ret_refused = *ret_refused ? *ret_refused : r;
	}
	return 0;
}

/* The first target that has a port to give; its place, or why there is none. */
static int bind_first(struct cma_id *id, const struct targets *t)
{
	int r = -ENODEV;

	for (int at = 0; at < t->n && r != -ENOMEM; at++) {
		r = cma_sub_add(id, t->v[at].port, &t->v[at].local);
		if (r == 0)
			return at;
	}
	return r;
}

static int bind_chosen(struct cma_id *id, const struct targets *t, uint16_t *port)
{
	struct ut_list earlier = UT_LIST_INIT(earlier);
	struct cma_sub *s, *tmp;
	int r = 0, at = 0, refused = 0;

	for (int tries = 0; tries < CHOICES; tries++) {
		/* The choice of before is held until there is another. */
		ut_list_each_safe(s, tmp, &id->subs, node) {
			ut_list_del(&s->node);
			ut_list_add_tail(&earlier, &s->node);
		}
		at = bind_first(id, t);
		ut_list_each_safe(s, tmp, &earlier, node)
			cma_sub_drop(id, s);
		if (at < 0)
			return at;
		*port = ut_list_first(&id->subs, struct cma_sub, node)->ep->local.port;
		r = bind_all(id, t, at + 1, *port, tries < CHOICES - 1, &refused);
		if (r != -EADDRINUSE)
			break;
	}
	return r;
}

/* The address of the device that the identifier wants, if that has one of no interface: InfiniBand (RFC 4391). A device on
 * an interface has addresses that come and go, and listens on all of them. */
static bool has_own(const struct cma_id *id, const struct targets *t)
{
	struct cm_port *p;
	bool ib;

	if (!id->device[0] || t->n != 1)
		return false;
	p = t->v[0].port;
	cma_port_lock(p);
	ib = p->dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND;
	cma_port_unlock(p);
	return ib;
}

static int bind_only(struct cma_id *id, const struct targets *t)
{
	int r = cma_ep_bind(id, t->v[0].port, &t->v[0].local, &id->ep);

	if (r < 0)
		return r;
	id->port = t->v[0].port;
	id->local = id->ep->local;
	return 0;
}

/* Dynamic ports, RFC 6335, 6. No adapter has an address on which it could be taken. */
static uint16_t any_port(struct cma *c)
{
	uint16_t r;

	ut_lock(&c->lock);
	r = (uint16_t)(49152 + ut_rng_below(&c->rng, 16384));
	ut_unlock(&c->lock);
	return r;
}

static int bind_any(struct cma_id *id, const struct cma_addr *a)
{
	struct targets t = { 0 };
	uint16_t port = a->end.port;
	int r = find_targets(id, a->family, &t), refused = -ENODEV;

	if (r == 0 && !port && has_own(id, &t)) {
		r = bind_only(id, &t);
		free(t.v);
		return r;
	}
	if (r == 0 && !t.n) {
		/* As in a kernel: addresses of the family may come later. */
		port = port ? port : any_port(id->c);
	} else if (r == 0 && port) {
		refused = 0;
		r = bind_all(id, &t, 0, port, false, &refused);
	} else if (r == 0) {
		r = bind_chosen(id, &t, &port);
	}
	free(t.v);
	if (r < 0 || (t.n && ut_list_empty(&id->subs))) {
		drop_subs(id);
		return r ? r : refused;
	}
	id->local = a->end;
	id->local.port = port;
	id->any = true;
	return 0;
}

static int bind_one(struct cma_id *id, const struct cma_addr *a)
{
	struct cm_port *p;
	int r = cma_port_find(id, &a->end, &p);

	if (r == 0)
		r = cma_ep_bind(id, p, &a->end, &id->ep);
	if (r < 0)
		return r;
	id->port = p;
	id->local = id->ep->local;
	return 0;
}

int cma_take_service(struct cma_id *id, const struct cma_addr *a)
{
	if (a->service && (id->ps != CM_PS_IB || ut_ip_is_any(a->end.addr)))
		return -EPROTONOSUPPORT;
	if (a->service)
		id->service = a->service;
	return 0;
}

int cma_bind_addr(struct cma_id *id, const struct cma_addr *a)
{
	enum cm_ps before = id->space;
	int r = cma_take_service(id, a);

	if (r < 0)
		return r;

	/* A service ID may name another space only where the identifier has none of its own. */
	if (a->space && a->space != (uint16_t)id->ps && id->ps != CM_PS_IB)
		return -EPROTONOSUPPORT;
	if (a->space)
		id->space = (enum cm_ps)a->space;
	r = ut_ip_is_any(a->end.addr) ? bind_any(id, a) : bind_one(id, a);
	if (r < 0) {
		id->space = before;
		id->service = 0;
		return r;
	}
	id->has_local = true;
	ut_lock(&id->c->lock);
	id->family = a->family;
	ut_unlock(&id->c->lock);
	return 0;
}

static int bind_call(struct cma_id *id, const struct sockaddr *addr)
{
	struct cma_addr a;
	enum cma_state old;
	int r = cma_addr_take(id->c->host, addr, &a);

	if (r == 0)
		r = cma_move(id, CMA_DO_BIND, &old);
	if (r < 0)
		return r;
	r = cma_bind_addr(id, &a);
	if (r < 0)
		cma_move_back(id, CMA_BOUND, old);
	return r;
}

int cma_bind(struct cma_id *id, const struct sockaddr *addr)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, bind_call(id, addr));
}

/* --- listening --- */

/* Listening on one address, or on every one that the bind has found. */

static bool afonly_drops(struct cma_id *id, const struct cma_sub *s)
{
	return !cma_any_takes(cma_family(id), cma_opt(id).afonly, s->ep->local.addr);
}

/* Without an address there is nothing to do yet: change.c listens on those that come. */
static int listen_any(struct cma_id *id)
{
	struct cma_sub *s, *tmp;
	char text[CMA_TEXT];
	const struct cm_ops *kind; /* the first, see bind.c */
	int good = 0, first = 0;

	s = ut_list_first(&id->subs, struct cma_sub, node);
	kind = s ? s->port->ops : NULL;
	ut_list_each_safe(s, tmp, &id->subs, node) {
		int r;

		/* The option may have come after the bind. */
		if (afonly_drops(id, s)) {
			cma_sub_drop(id, s);
			continue;
		}
		r = cma_ep_listen(id, s->port, s->ep);
		good += r == 0;
		if (r == 0)
			continue;
		if (r == -EADDRINUSE && s->port->ops == kind)
			return r;
		ut_warn("%s: cannot listen on %s (%s): connections to it are refused; choose another port, "
			"or see dapple doctor", s->port->dev->name,
			cma_addr_text(&s->ep->local, text, sizeof(text)), strerror(-r));
		first = first ? first : r;
		cma_sub_drop(id, s);
	}
	return good ? 0 : first;
}

static int start(struct cma_id *id, enum cma_state old)
{
	struct cma_addr any = { .family = AF_INET };
	int r;

	if (old == CMA_IDLE) {
		cma_addr_set_any(&any.end, true);
		r = cma_bind_addr(id, &any);
		if (r < 0)
			return r;
	}
	return id->any ? listen_any(id) : cma_ep_listen(id, id->port, id->ep);
}

/* Each endpoint of a wildcard has the backlog that was asked for, and lets others wait. */
static void set_most(struct cma_id *id, int backlog)
{
	uint32_t most = backlog > 0 && backlog < CMA_BACKLOG_MAX ? (uint32_t)backlog
								 : CMA_BACKLOG_MAX;
	uint32_t n = 0;
	struct cma_sub *s;

	ut_list_each(s, &id->subs, node)
		n++;
	ut_lock(&id->c->lock);
	id->untaken_max = n > 1 ? n * most : most;
	ut_unlock(&id->c->lock);
}

static int listen_call(struct cma_id *id, int backlog)
{
	enum cma_state old;
	int r;

	set_most(id, backlog);
	/* Listening before the manager does, so that its first request is not refused. */
	r = cma_move(id, CMA_DO_LISTEN, &old);
	if (r < 0)
		return r;
	id->backlog = backlog > 0 ? backlog : 0;
	r = start(id, old);
	set_most(id, backlog);
	if (r < 0)
		cma_move_back(id, CMA_LISTENING, id->has_local ? CMA_BOUND : CMA_IDLE);
	return r;
}

int cma_listen(struct cma_id *id, int backlog)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, listen_call(id, backlog));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which adapter. It follows the local source address, and where adapters of
 * several kinds have that address the first in listing order is it, at both
 * ends, whether or not it can serve the identifier: a silent step to the next
 * kind would make two ends that cannot talk.
 */
#include "cm/cma/port.h"

#include "cm/cma/event.h"
#include "cm/cma/id.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_FIRST 32
#define ADDRS_FIRST 16

int cma_ports(struct cma *c, struct cm_port ***ret)
{
	int room = PORTS_FIRST, n;

	for (;;) {
		struct cm_port **v = ut_calloc((size_t)room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		n = c->host->ports(v, room);
		if (n <= room) {
			*ret = v;
			return n < 0 ? 0 : n;
		}
		free(v);
		room = n;
	}
}

int cma_port_addrs(struct cma *c, struct cm_port *p, struct link_end **ret)
{
	int room = ADDRS_FIRST, n;

	for (;;) {
		struct link_end *v = ut_calloc((size_t)room, sizeof(*v));

		if (!v)
			return -ENOMEM;
		n = c->host->addrs(p, v, room);
		if (n <= room) {
			*ret = v;
			return n < 0 ? 0 : n;
		}
		free(v);
		room = n;
	}
}

static bool serves(const struct cma_id *id, const struct cm_port *p)
{
	return (p->ops->qp_types & 1u << id->qp_type) && (p->ops->spaces & cm_space_bit(id->ps));
}

int cma_port_ready(struct cma_id *id, struct cm_port *p)
{
	int r = id->c->host->attach(p);

	if (r < 0)
		return r;
	p->user = &cma_user;
	if (serves(id, p))
		return 0;
	ut_info("%s: %s has no port space 0x%04x with QP type %d", p->dev->name,
		p->ops->name, (unsigned)id->ps, id->qp_type);
	return -ENODEV;
}

int cma_port_find(struct cma_id *id, const struct link_end *src, struct cm_port **ret)
{
	struct cm_port **v, *found = NULL;
	int n = cma_ports(id->c, &v), r;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !found; i++)
		if (cma_port_chosen(id, v[i]) &&
		    id->c->host->has_addr(v[i], src->addr, src->scope))
			found = v[i];
	free(v);
	if (!found)
		return -EADDRNOTAVAIL;
	r = cma_port_ready(id, found);
	if (r == 0)
		*ret = found;
	return r;
}

/* --- endpoints: each is one manager's, and touched under its adapter's lock only --- */

/* Endpoints of an identifier: each is one manager's, and touched under its adapter's lock only. */

typedef int make_fn(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);

static int make(struct cma_id *id, struct cm_port *p, make_fn *fn, const struct link_end *local,
		struct cm_ep **ret)
{
	struct cm_bind b = {
		.service = id->service ? id->service : cm_ip_service(id->space, local->port),
		.local = *local,
		.opt = cma_opt(id),
	};
	struct cm_ep *ep = NULL;
	int r;

	cma_port_lock(p);
	r = fn(p, &b, &ep);
	if (r == 0) {
		ep->user = id;
		*ret = ep;
	}
	cma_port_unlock(p);
	return r;
}

int cma_ep_bind(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		struct cm_ep **ret)
{
	return make(id, p, p->ops->bind, local, ret);
}

int cma_ep_create(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		  struct cm_ep **ret)
{
	return make(id, p, p->ops->create, local, ret);
}

int cma_ep_listen(struct cma_id *id, struct cm_port *p, struct cm_ep *ep)
{
	int r;

	cma_port_lock(p);
	ep->opt = cma_opt(id);
	r = p->ops->listen(ep, id->backlog);
	cma_port_unlock(p);
	return r;
}

void cma_ep_destroy(struct cma_id *id, struct cm_port *p, struct cm_ep *ep)
{
	cma_port_lock(p);
	p->ops->destroy(ep);
	cma_port_unlock(p);
}

int cma_sub_add(struct cma_id *id, struct cm_port *p, const struct link_end *local)
{
	struct cma_sub *s = ut_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->port = p;
	r = cma_ep_bind(id, p, local, &s->ep);
	if (r < 0) {
		free(s);
		return r;
	}
	ut_list_add_tail(&id->subs, &s->node);
	return 0;
}

void cma_sub_drop(struct cma_id *id, struct cma_sub *s)
{
	ut_list_del(&s->node);
	cma_ep_destroy(id, s->port, s->ep);
	free(s);
}

bool cma_any_takes(int family, bool afonly, const uint8_t addr[16])
{
	if (family == AF_INET)
		return ut_ip_is_v4(addr);
	return !afonly || !ut_ip_is_v4(addr);
}

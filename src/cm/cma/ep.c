/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints of an identifier: each is one manager's, and touched under its adapter's lock only. */
#include "cm/cma/core.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

typedef int make_fn(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);

static int make(struct cma_id *id, struct cm_port *p, make_fn *fn, const struct link_end *local,
		struct cm_ep **ret)
{
	struct cm_bind b = {
		.service = cm_ip_service(id->space, local->port),
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
	cma_port_unlock(id->c, p);
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
	cma_port_unlock(id->c, p);
	return r;
}

void cma_ep_destroy(struct cma_id *id, struct cm_port *p, struct cm_ep *ep)
{
	cma_port_lock(p);
	p->ops->destroy(ep);
	cma_port_unlock(id->c, p);
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
		return cma_addr_v4(addr);
	return !afonly || !cma_addr_v4(addr);
}

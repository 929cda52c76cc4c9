/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which adapter. It follows the local source address, and where adapters of
 * several kinds have that address the first in listing order is it, at both
 * ends, whether or not it can serve the identifier: a silent step to the next
 * kind would make two ends that cannot talk.
 */
#include "cm/cma/core.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_FIRST 32
#define ADDRS_FIRST 16

void cma_port_lock(struct cm_port *p)
{
	ut_lock(&p->dev->lock);
}

/* What the caller gave the manager leaves at once, and what others posted meanwhile. */
void cma_port_unlock(struct cma *c, struct cm_port *p)
{
	c->host->drive(p);
	eng_dev_unlock(p->dev);
}

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

bool cma_port_chosen(struct cma_id *id, struct cm_port *p)
{
	return !id->device[0] || strcmp(id->device, id->c->host->name(p)) == 0;
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
	ut_info("%s: %s has no port space 0x%04x with QP type %d", id->c->host->name(p),
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

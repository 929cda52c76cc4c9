/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The adapters of an identifier, and its endpoints on them. */
#ifndef CM_CMA_PORT_H
#define CM_CMA_PORT_H

#include "cm/cma/core.h"
#include "engine/dev.h"

#include <string.h>

static inline void cma_port_lock(struct cm_port *p) UT_ACQUIRE(p->dev->lock);
static inline void cma_port_lock(struct cm_port *p)
{
	ut_lock(&p->dev->lock);
}

/* Also sends at once what the manager was given, by this thread or, meanwhile, by others. */
static inline void cma_port_unlock(struct cm_port *p) UT_RELEASE(p->dev->lock);
static inline void cma_port_unlock(struct cm_port *p)
{
	p->dev->ops->drive(p->dev);
	eng_dev_unlock(p->dev);
}

/* Returns the number of all ports, in listing order in *ret (the caller frees it), or -ENOMEM. */
int cma_ports(struct cma *c, struct cm_port ***ret);
/* Returns the number of all addresses of a port, in *ret (the caller frees it), or -ENOMEM. */
int cma_port_addrs(struct cma *c, struct cm_port *p, struct link_end **ret);
/* Attaches the port. Returns 0, -ENODEV if it does not serve this identifier, or another negative errno. */
int cma_port_ready(struct cma_id *id, struct cm_port *p);
/* Returns true if the identifier's option names no adapter, or this one. */
static inline bool cma_port_chosen(const struct cma_id *id, const struct cm_port *p)
{
	return !id->device[0] || strcmp(id->device, p->dev->name) == 0;
}
/* Finds the adapter of a source address. Returns 0, -EADDRNOTAVAIL, -ENODEV, or another negative errno. */
int cma_port_find(struct cma_id *id, const struct link_end *src, struct cm_port **ret);

/* --- endpoints of an identifier on an adapter --- */
int cma_ep_bind(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		struct cm_ep **ret);
int cma_ep_create(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		  struct cm_ep **ret);
int cma_ep_listen(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
void cma_ep_destroy(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
int cma_sub_add(struct cma_id *id, struct cm_port *p, const struct link_end *local);
void cma_sub_drop(struct cma_id *id, struct cma_sub *s);
/* Returns true if an identifier bound to any address of `family` serves this one. */
bool cma_any_takes(int family, bool afonly, const uint8_t addr[16]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_PORT_H
#define CM_CMA_PORT_H

#include "cm/cma/core.h"

/* --- port.c: the adapters --- */
void cma_port_lock(struct cm_port *p) UT_ACQUIRE(p->dev->lock);
void cma_port_unlock(struct cma *c, struct cm_port *p) UT_RELEASE(p->dev->lock);
/* All ports in listing order, free(); their number or -ENOMEM. */
int cma_ports(struct cma *c, struct cm_port ***ret);
/* All addresses of a port, free(). */
int cma_port_addrs(struct cma *c, struct cm_port *p, struct link_end **ret);
/* Attached and of use for this id: 0, -ENODEV or why it cannot be attached. */
int cma_port_ready(struct cma_id *id, struct cm_port *p);
/* May this id be on the port at all: the option's choice. */
bool cma_port_chosen(struct cma_id *id, struct cm_port *p);
/* The adapter of a source address: 0, -EADDRNOTAVAIL, -ENODEV, ... */
int cma_port_find(struct cma_id *id, const struct link_end *src, struct cm_port **ret);
/* --- ep.c: endpoints --- */
int cma_ep_bind(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		struct cm_ep **ret);
int cma_ep_create(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		  struct cm_ep **ret);
int cma_ep_listen(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
void cma_ep_destroy(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
int cma_sub_add(struct cma_id *id, struct cm_port *p, const struct link_end *local);
void cma_sub_drop(struct cma_id *id, struct cma_sub *s);
/* Does an id bound to any of `family` take this address? */
bool cma_any_takes(int family, bool afonly, const uint8_t addr[16]);

#endif

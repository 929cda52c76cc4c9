/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RDMA CM's host: this process's adapters, their addresses, the routes. cma_get() is in cm.c. */
#ifndef DEVICE_CM_H
#define DEVICE_CM_H

#include <stdbool.h>
#include <stdint.h>

struct cm_port;
struct dev_adapter;
struct link_end;

/*
 * An address has come or gone (NULL: the adapter has gone). Called where that is
 * found out, dev.lock held; the RDMA CM hears of it later, from dev_cm_deliver().
 */
void dev_cm_note(struct dev_adapter *a, const uint8_t addr[16]);
/* Interfaces may have changed. Any lock of this room may be held. */
void dev_cm_look(void);
/* Tells the RDMA CM what was noted. The background thread, without locks. */
void dev_cm_deliver(void);
/* In a child of fork(). */
void dev_cm_forget(void);
/* The addresses of lo's adapter, which is opened when this comes first. */
int dev_cm_lo_addrs(struct link_end *v, int max);

/* cm_addr.c: for struct cma_host. */
bool dev_cm_has_addr(struct cm_port *p, const uint8_t addr[16], uint32_t scope);
int dev_cm_addrs(struct cm_port *p, struct link_end *v, int max);
int dev_cm_route(const struct link_end *dst, struct link_end *src);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RDMA CM's host: this process's adapters, their addresses, the routes. cma_get() is here. */
#ifndef DEVICE_CM_H
#define DEVICE_CM_H

#include <stdint.h>

struct dev_adapter;

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

#endif

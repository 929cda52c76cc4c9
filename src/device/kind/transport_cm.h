/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager of an adapter of the InfiniBand transport: ibcm over QP1. Every adapter that
 * has joined the port of its addresses has one, listening or not: requests for
 * other processes come to it too, and it passes them on. dev.lock is held
 * around every call.
 */
#ifndef DEVICE_KIND_TRANSPORT_CM_H
#define DEVICE_KIND_TRANSPORT_CM_H

#include "proto/gsi.h"

#include <stdint.h>

struct dev_adapter;

extern const struct gsi_user dev_transport_gsi;

/* Makes a->cm a port, once the slot of the QPNs is known. Returns 0 or -ENOMEM; a second call does nothing. */
int dev_transport_cm_init(struct dev_adapter *a);
/* Disconnects on behalf of processes on the adapter's addresses that have died. Returns how many connections
 * ended. */
int dev_transport_cm_disconnect_dead(struct dev_adapter *a, uint64_t now);
/* Tells the peers that the process ends; the endpoints stay. */
void dev_transport_cm_leave(struct dev_adapter *a);
/* The same, and the endpoints go. a->cm.ops is NULL afterwards. */
void dev_transport_cm_fini(struct dev_adapter *a);

#endif

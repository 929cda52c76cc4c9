/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of a verbs device, and their numbers in DAT.
 *
 * librdmacm opens each verbs device once per process, so adapters on one device share the context,
 * its events, and here one watch. An event is acknowledged before it is handled, since destroying
 * the queue it concerns waits for that. Events about queues of the program itself, which uses verbs
 * beside DAT, are dropped; such a program reads the events of contexts of its own.
 */
#ifndef DAT_PROVIDER_IA_DEVICE_H
#define DAT_PROVIDER_IA_DEVICE_H

#include <dat2/udat.h>

struct dpr_ia;

/* Adds ia to the adapters that receive the events of ia->verbs. Returns 0 or -ENOMEM. */
int dpr_device_join(struct dpr_ia *ia);
/* Removes ia; the last adapter of a device ends its watch. */
void dpr_device_leave(struct dpr_ia *ia);

/* In the loop: handles the queued asynchronous events of ia->verbs now. The caller has a reference of ia. */
void dpr_device_events(const struct dpr_ia *ia);

#endif

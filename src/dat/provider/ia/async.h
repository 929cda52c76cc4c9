/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of an adapter, and the EVDs that receive them. They are detected at any point
 * and under any lock, so they are queued there and delivered by the loop.
 */
#ifndef DAT_PROVIDER_IA_ASYNC_H
#define DAT_PROVIDER_IA_ASYNC_H

#include <dat2/udat.h>

struct dpr_evd;
struct dpr_ia;
struct dpr_timer;

/* Adds e to the EVDs that receive the asynchronous events of ia; e may belong to another adapter.
 * Returns 0 or -ENOMEM. */
int dpr_async_add(struct dpr_ia *ia, struct dpr_evd *e);
/* Removes e. Does nothing if e was not added. */
void dpr_async_del(struct dpr_ia *ia, struct dpr_evd *e);

/* Queues an event for every asynchronous EVD of ia: a DAT_ASYNC_ERROR_* number, the object, its
 * reason. May be called under any lock. */
void dpr_async_event(struct dpr_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		     DAT_COUNT reason);
/* Handler of ia->deliver: pushes the queued events. */
void dpr_async_deliver(struct dpr_timer *t);
/* Frees the queued events. Called when ia is released. */
void dpr_async_fini(struct dpr_ia *ia);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous errors, from where they are found to the async EVDs. They are found in any place,
 * under any lock, so they are only noted there and the loop delivers.
 *
 * librdmacm opens each verbs device once per process: adapters on the same device share the
 * context, its asynchronous events, and here one watch. Events about queues that are not ours
 * (the program uses verbs itself) are dropped after they were acknowledged; such a program has to
 * read the events of its own contexts.
 */
#ifndef DAT_PROVIDER_IA_ASYNC_H
#define DAT_PROVIDER_IA_ASYNC_H

#include <dat2/udat.h>

struct dpr_evd;
struct dpr_ia;
struct dpr_timer;

/* An EVD gets the asynchronous events of ia from here on, or no more. 0 or -ENOMEM. */
int dpr_async_add(struct dpr_ia *ia, struct dpr_evd *e);
void dpr_async_del(struct dpr_ia *ia, struct dpr_evd *e);
void dpr_async_deliver(struct dpr_timer *t); /* ia->deliver */
void dpr_async_fini(struct dpr_ia *ia);

/* To every async EVD of the adapter: event DAT_ASYNC_ERROR_*, the object, its reason. Delivered by the
 * loop, so it may be called under any lock. */
void dpr_async_event(struct dpr_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE object,
		     DAT_COUNT reason);

#endif

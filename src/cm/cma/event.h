/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a manager's event is to the user, and the channels on which events wait. */
#ifndef CM_CMA_EVENT_H
#define CM_CMA_EVENT_H

#include "cm/cma/core.h"

/* Keeps the sentence of a failure for `dapple why`. Called with the adapter's dev->lock held. */
void cma_say(const struct cm_event *ev);
extern const struct cm_user cma_user;

/* --- channels: the queue of events --- */
struct cma_qev *cma_qev_new(struct cma_id *owner, int type, int status);
/* As cma_qev_new(); returns the identifier's spare when memory is short, or NULL if that is used up too. */
struct cma_qev *cma_qev_get(struct cma_id *owner, int type, int status)
	UT_REQUIRES(owner->c->lock);
void cma_queue(struct cma *c, struct cma_qev *q) UT_REQUIRES(c->lock);
/* Moves the events of id (of mc only, unless NULL) from the queue onto `to`. */
void cma_unqueue(struct cma *c, struct cma_id *id, const struct cma_mc *mc, struct ut_list *to)
	UT_REQUIRES(c->lock);

#endif

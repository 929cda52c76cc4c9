/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_CMA_CHAN_H
#define CM_CMA_CHAN_H

#include "cm/cma/core.h"

/* --- chan.c: the queue; all under c->lock --- */
struct cma_qev *cma_qev_new(struct cma_id *owner, int type, int status);
/* The id's spare when memory is short; NULL when that is used up too. */
struct cma_qev *cma_qev_get(struct cma_id *owner, int type, int status)
	UT_REQUIRES(owner->c->lock);
void cma_queue(struct cma *c, struct cma_qev *q) UT_REQUIRES(c->lock);
/* Takes what belongs to id (and mc, unless NULL) off the queue, onto `to`. */
void cma_unqueue(struct cma *c, struct cma_id *id, const struct cma_mc *mc, struct ut_list *to)
	UT_REQUIRES(c->lock);

#endif

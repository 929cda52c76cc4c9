/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Binds on their way to the queue pair. A window of type 1 takes its next binding as it is; one of
 * type 2 has to be invalidated first, a request of ours in front of the consumer's.
 */
#ifndef DAT_PROVIDER_MEM_RMR_POST_H
#define DAT_PROVIDER_MEM_RMR_POST_H

#include "dat/provider/dto/request.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/mem/rmr.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_lmr;

struct dpr_bind {
	struct dpr_request req;
	struct dpr_rmr *rmr;
	struct dpr_lmr *lmr; /* NULL: unbind */
	DAT_LMR_TRIPLET range;
	unsigned int priv;
	DAT_VA_TYPE va;
	DAT_RMR_CONTEXT rkey; /* the result */
};

/* The binding that the next one follows on, in the order the device will see; NULL: unbound then. */
struct dpr_binding *dpr_binding_before(struct dpr_rmr *r) UT_REQUIRES(r->lock);

/* Posts; on success with *flush only the slot is taken, and the caller has to flush the request. */
DAT_RETURN dpr_bind_post(struct dpr_ep *ep, struct dpr_bind *b, bool *flush, int *slot)
	UT_REQUIRES(ep->lock) UT_NO_TSA;

#endif

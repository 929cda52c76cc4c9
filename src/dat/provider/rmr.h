/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Among the files of RMRs. */
#ifndef DAT_PROVIDER_RMR_H
#define DAT_PROVIDER_RMR_H

#include "dat/provider/mem.h"
#include "dat/provider/request.h"

#include <dat2/dat_ib_extensions.h>

static inline struct dpr_rmr *dpr_rmr_of(DAT_HANDLE h)
{
	return (struct dpr_rmr *)dpr_obj_of(h, DPR_RMR);
}

/* A free slot, cleared and taken, or -1. */
int dpr_binding_take(struct dpr_rmr *r) UT_REQUIRES(r->lock);
/* It shows nothing any more; the slot is free when its readers are done. */
void dpr_binding_end(struct dpr_rmr *r, int slot) UT_REQUIRES(r->lock);
/* The slot with this context that is shown or will be; -1: none. */
int dpr_binding_find(const struct dpr_rmr *r, DAT_RMR_CONTEXT context) UT_REQUIRES(r->lock);

/* The right to atomics, as a number: the compiler knows it as another enum. */
#define DPR_ATOMIC ((unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

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

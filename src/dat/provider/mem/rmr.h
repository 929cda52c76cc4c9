/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Among the files of RMRs. */
#ifndef DAT_PROVIDER_MEM_RMR_H
#define DAT_PROVIDER_MEM_RMR_H

#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "util/lock.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_dto;
struct dpr_ep;
struct dpr_ia;
struct dpr_lmr;
struct dpr_pz;

/* What a window shows, or will when its bind completes. */
struct dpr_binding {
	struct dpr_key key;
	struct dpr_lmr *lmr; /* held and used; NULL: an unbind, or nothing */
	struct dpr_ep *ep;   /* scope EP: whose queue pair it is bound to; compare only */
	DAT_LMR_TRIPLET range;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	DAT_RMR_CONTEXT rkey; /* 0: none */
	uint32_t readers;     /* reads into it that have not completed */
	bool taken, ended;    /* slot in use; not shown any more, kept for its readers */
	bool dead;            /* invalidated by the peer before we saw the bind complete */
};

/* One shown, one ended but read into, and binds on their way. */
#define DPR_BINDINGS 8

struct dpr_rmr {
	struct dpr_obj obj;
	struct ut_mutex lock; /* a leaf, below evd->lock: binds complete under that */
	struct dpr_pz *pz;
	struct ibv_mw *mw;
	DAT_RMR_SCOPE scope;
	struct dpr_binding binding[DPR_BINDINGS] UT_GUARDED_BY(lock);
	int current UT_GUARDED_BY(lock);   /* of binding; -1: unbound */
	int latest UT_GUARDED_BY(lock);  /* the last one posted, what a next bind follows on; or -1 */
	uint32_t next_key UT_GUARDED_BY(lock); /* type 2: the key that the next bind gives */
};

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

/* A request of an RMR completed (from dpr_dto_event); puts the record's reference. */
void dpr_rmr_done(struct dpr_dto *d, bool ok);

/* The endpoint's queue pair was destroyed: type 2 windows bound to it are gone. No lock held. */
void dpr_rmr_ep_gone(struct dpr_ep *ep);

/* A peer invalidated this context by Send with invalidate. */
void dpr_rmr_invalidated(struct dpr_ia *ia, DAT_RMR_CONTEXT context);

DAT_RETURN dpr_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN dpr_rmr_create_for_ep(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN dpr_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);

DAT_RETURN dpr_rmr_free(DAT_RMR_HANDLE);

extern const struct dpr_class dpr_rmr_class;

#endif

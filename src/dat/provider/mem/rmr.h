/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote memory regions: a memory window each, of type 1 for the scope of a zone, of type 2 for
 * that of an endpoint. A bind takes effect when it completes, while the next ones may be under way:
 * so an RMR has a few bindings, one of which is current. A binding keeps its region until nothing
 * can reach the region through it.
 */
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

/* The binding of a window, from the post of its bind on. */
struct dpr_binding {
	struct dpr_key key;
	struct dpr_lmr *lmr; /* a use and a reference; NULL: an unbind, or nothing */
	struct dpr_ep *ep;   /* scope EP: whose queue pair it is bound to; to compare */
	DAT_LMR_TRIPLET range;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	DAT_RMR_CONTEXT rkey; /* 0: none */
	uint32_t readers;     /* reads into it that have not completed */
	bool taken, ended;    /* slot in use; no longer current, kept for its readers */
	bool dead;            /* invalidated by the peer before the bind's completion was seen */
};

/* One current, one ended with readers, and binds under way. */
#define DPR_BINDINGS 8

struct dpr_rmr {
	struct dpr_obj obj;
	struct ut_mutex lock; /* a leaf, below evd->lock: binds complete under that */
	struct dpr_pz *pz;
	struct ibv_mw *mw;
	DAT_RMR_SCOPE scope;
	struct dpr_binding binding[DPR_BINDINGS] UT_GUARDED_BY(lock);
	int current UT_GUARDED_BY(lock); /* of binding; -1: unbound */
	int latest UT_GUARDED_BY(lock);  /* the last one posted, which the next follows; or -1 */
	uint32_t next_key UT_GUARDED_BY(lock); /* type 2: the key of the next bind */
};

extern const struct dpr_class dpr_rmr_class;

static inline struct dpr_rmr *dpr_rmr_of(DAT_HANDLE h)
{
	return (struct dpr_rmr *)dpr_obj_of(h, DPR_RMR);
}

/* The right to atomics as a number: the compiler knows it as another enum. */
#define DPR_ATOMIC ((unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC)

/* Returns a free slot, cleared and taken, or -1. */
int dpr_binding_take(struct dpr_rmr *r) UT_REQUIRES(r->lock);
/* Ends a binding; its slot is free when its readers are done. */
void dpr_binding_end(struct dpr_rmr *r, int slot) UT_REQUIRES(r->lock);
/* Returns the slot of the binding with this context, current or under way, or -1. */
int dpr_binding_find(const struct dpr_rmr *r, DAT_RMR_CONTEXT context) UT_REQUIRES(r->lock);

/*
 * A request of d->rmr completed. Puts the record's reference. Called with at most evd->lock held.
 */
void dpr_rmr_done(struct dpr_dto *d, bool ok);
/* A peer invalidated this context by Send with invalidate. */
void dpr_rmr_invalidated(struct dpr_ia *ia, DAT_RMR_CONTEXT context);
/* Ends the bindings to ep, whose queue pair is about to be destroyed. No lock held. */
void dpr_rmr_ep_gone(struct dpr_ep *ep);

DAT_RETURN dpr_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dpr_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN dpr_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN dpr_rmr_free(DAT_RMR_HANDLE rmr);

#endif

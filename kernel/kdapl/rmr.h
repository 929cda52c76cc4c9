/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote memory regions. The kernel exports no call for memory windows, so a bind is a registration of its own: of the
 * part of the LMR, in a second memory region of the RMR. The RMR has two, since the pages of one cannot change before
 * its invalidation has completed: a third bind before that is refused (INSUFFICIENT_RESOURCES).
 */
#ifndef KDAPL_RMR_H
#define KDAPL_RMR_H

#include "kdapl/mem.h"

enum { KDP_SLOTS = 2 };

struct kdp_binding {
	struct ib_mr *mr;       /* life */
	struct kdp_pages pages;
	struct kdp_lmr *lmr;    /* a use; NULL: free; lock */
	u32 rkey;
	u64 base;               /* of remote addresses */
	DAT_LMR_TRIPLET range;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
};

struct kdp_rmr {
	struct kdp_obj obj;
	struct kdp_pz *pz;      /* a use */
	DAT_RMR_SCOPE scope;    /* immutable */
	spinlock_t lock;
	struct kdp_binding slot[KDP_SLOTS];
	int latest;             /* the slot of the last bind, or -1: unbound behind all that is posted; lock */
};

static inline struct kdp_rmr *kdp_rmr_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_RMR);
}

/* A work request of the RMR completed: the registration of a slot, or its invalidation. Any context. */
void kdp_rmr_done(struct kdp_rmr *r, unsigned int slot, bool registration, bool ok);
/* The peer invalidated this context, if it is one of an RMR. Any context. */
void kdp_rmr_gone(struct kdp_ia *ia, u32 context);
/* Fills sge with the local memory behind a range of a bound RMR. Any context. */
DAT_RETURN kdp_rmr_local(struct kdp_ia *ia, struct kdp_pz *pz, const DAT_RMR_TRIPLET *t, struct ib_sge *sge);

DAT_RETURN kdp_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN kdp_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
DAT_RETURN kdp_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
DAT_RETURN kdp_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *range, DAT_MEM_PRIV_FLAGS priv,
			DAT_VA_TYPE va, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			DAT_RMR_CONTEXT *context);
DAT_RETURN kdp_rmr_free(DAT_RMR_HANDLE rmr);

#endif

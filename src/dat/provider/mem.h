/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection zones, local and remote memory regions. A region's DAT rights may be narrower than
 * those of its ibv_mr (remote write needs local write in verbs): posts are checked against this
 * table, found by context (lkey, rkey) without a lock.
 */
#ifndef DAT_PROVIDER_MEM_H
#define DAT_PROVIDER_MEM_H

#include "dat/provider/ia.h"
#include "dat/provider/keys.h"

struct dpr_dto;
struct dpr_ep;

struct dpr_pz {
	struct dpr_obj obj;
	struct ibv_pd *pd;
};

/* What the check of a segment reads is one cache line, from key to va. */
struct dpr_lmr {
	struct dpr_obj obj; /* uses: bindings of RMRs */
	struct dpr_key key;
	struct dpr_pz *pz;
	uint64_t base; /* the address work requests name for the first byte: 0 if zero based */
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;

	struct ibv_mr *mr;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION region;
	char cookie[DAT_LMR_COOKIE_SIZE]; /* of shared memory: region points here */
	uint64_t addr; /* where the first byte is */
};

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
	int shown UT_GUARDED_BY(lock);   /* of binding; -1: unbound */
	int latest UT_GUARDED_BY(lock);  /* the last one posted, what a next bind follows on; or -1 */
	uint32_t next_key UT_GUARDED_BY(lock); /* type 2: the key that the next bind gives */
};

static inline struct dpr_pz *dpr_pz_of(DAT_HANDLE h)
{
	return (struct dpr_pz *)dpr_obj_of(h, DPR_PZ);
}

/* What n segments come to. */
struct dpr_gather {
	uint64_t bytes;
	int n;       /* of sge: segments of zero length are legal and left out */
	bool placed; /* each address is that of the memory, not an offset into a zero based region */
};

/*
 * Check n segments for an endpoint's zone: rights (DAT_MEM_PRIV_LOCAL_READ or _WRITE), bounds, zone;
 * fills sge. The DAT error (PRIVILEGES_VIOLATION, PROTECTION_VIOLATION, INVALID_PARAMETER,
 * LENGTH_ERROR if the sum passes 2^32-1) or DAT_SUCCESS.
 */
DAT_RETURN dpr_segments(struct dpr_ia *ia, struct dpr_pz *pz, DAT_COUNT n,
			const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need, struct ibv_sge *sge,
			struct dpr_gather *g);
/* A request of an RMR completed (from dpr_dto_event); puts the record's reference. */
void dpr_rmr_done(struct dpr_dto *d, bool ok);
/* The endpoint's queue pair was destroyed: type 2 windows bound to it are gone. No lock held. */
void dpr_rmr_ep_gone(struct dpr_ep *ep);
/* A peer invalidated this context by Send with invalidate. */
void dpr_rmr_invalidated(struct dpr_ia *ia, DAT_RMR_CONTEXT context);

DAT_RETURN dpr_pz_create(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
DAT_RETURN dpr_pz_query(DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *);
DAT_RETURN dpr_pz_free(DAT_PZ_HANDLE);
DAT_RETURN dpr_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
			  DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *,
			  DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN dpr_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN dpr_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN dpr_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dpr_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dpr_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN dpr_rmr_create_for_ep(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN dpr_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);
DAT_RETURN dpr_rmr_bind(DAT_RMR_HANDLE, DAT_LMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
			DAT_VA_TYPE, DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS,
			DAT_RMR_CONTEXT *);
DAT_RETURN dpr_rmr_free(DAT_RMR_HANDLE);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection zones and local memory regions. A region is a list of pages, mapped for the device, and a memory region of
 * verbs that a registration work request fills: on the consumer's endpoint (dat_lmr_fmr), or for dat_lmr_kcreate on
 * one of the zone's own (reg.h). Two kinds have no registration: the reserved LMR and DAT_MEM_TYPE_BYPASS use the
 * device's local key with DMA addresses.
 */
#ifndef KDAPL_MEM_H
#define KDAPL_MEM_H

#include "kdapl/ia.h"
#include "kdapl/obj.h"

#include <linux/scatterlist.h>

struct kdp_reg;

/*
 * The context of the reserved LMR and of DAT_MEM_TYPE_BYPASS. The local key of a device differs by protection domain, and
 * is 0 on some; posts put the one of the endpoint's zone in the place of this number, which is no key of a registration.
 */
#define KDP_RESERVED_CONTEXT 0xfffffff0u

struct kdp_pz {
	struct kdp_obj obj;
	struct ib_pd *pd;      /* life; NULL once the device has left */
	u32 dma_lkey;          /* of pd; immutable */
	struct mutex reg_lock;
	struct kdp_reg *reg;   /* reg_lock; made for the first dat_lmr_kcreate */
};

/* Pages, mapped or not. */
struct kdp_pages {
	struct scatterlist *sg;
	unsigned int max, n;   /* entries allocated, in use */
	unsigned int mapped;   /* by ib_dma_map_sg; 0: not, or addresses of the device already */
	unsigned int page_size;
	bool dma;              /* the entries hold addresses of the device, not pages */
	u64 base;              /* the consumer's address of the first byte */
	u64 length;
};

struct kdp_lmr {
	struct kdp_obj obj;
	struct kdp_pz *pz;            /* a use; NULL: the reserved LMR */
	struct ib_mr *mr;             /* or NULL */
	struct kdp_pages pages;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION region;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;
	u64 base, length;             /* as segments name it; posts read these without a lock */
	u32 lkey, rkey;               /* its contexts; 0: not registered */
	bool fmr, bound;
	DAT_LMR_SCOPE scope;
	spinlock_t lock;              /* of bound, key and pages against completions */
	u32 pending;                  /* work requests under way; lock */
};

static inline struct kdp_pz *kdp_pz_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_PZ);
}

static inline struct kdp_lmr *kdp_lmr_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_LMR);
}

/*
 * Checks n segments for a zone and fills sge; *n_sge and *bytes are the sum without empty segments, if it returns
 * DAT_SUCCESS. Called with interrupts off.
 */
DAT_RETURN kdp_segments(struct kdp_ia *ia, struct kdp_pz *pz, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			DAT_MEM_PRIV_FLAGS need, struct ib_sge *sge, int *n_sge, u64 *bytes);

/* The access flags of a registration with these rights. */
int kdp_access(const struct kdp_ia *ia, unsigned int priv);
/* Maps p into mr, whose remote addresses begin at iova. Returns 0 or a negative errno. Any context. */
int kdp_pages_to_mr(struct kdp_ia *ia, struct kdp_pages *p, struct ib_mr *mr, u64 iova);
/* Fills `to` with the part of `from` that begins at its byte `offset`: the mapping stays from's. to->sg has room. Returns
 * false if it has not. */
bool kdp_pages_part(const struct kdp_pages *from, u64 offset, u64 length, struct kdp_pages *to);

/* A work request on the region completed: a registration, or an invalidation (also by the peer). Any context. */
void kdp_lmr_done(struct kdp_lmr *l, bool registration, bool ok);
/* The peer invalidated this context. Any context. */
void kdp_context_gone(struct kdp_ia *ia, u32 context);

DAT_RETURN kdp_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN kdp_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN kdp_pz_free(DAT_PZ_HANDLE pz);
DAT_RETURN kdp_lmr_kcreate(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_MEM_OPTIMIZE_FLAGS optimize,
			   DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
			   DAT_VLEN *registered_length, DAT_VADDR *registered_address);
DAT_RETURN kdp_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN kdp_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN kdp_lmr_allocate(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_COUNT pages, DAT_LMR_SCOPE scope,
			    DAT_LMR_HANDLE *lmr);
DAT_RETURN kdp_lmr_fmr(DAT_LMR_HANDLE lmr, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN pages,
		       DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags, DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN kdp_lmr_invalidate(DAT_LMR_HANDLE lmr, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdp_ia_memtype_hint(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS optimize,
			       DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment);
DAT_RETURN kdp_ia_reserved_lmr(DAT_IA_HANDLE ia, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);
DAT_RETURN kdp_lmr_sync(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count);

#endif

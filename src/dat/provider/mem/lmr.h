/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local memory regions. Each is an ibv_mr of its own, whatever it is made from: a region made from
 * another does not depend on it, and one of shared memory is this process's mapping of it. The
 * cookie identifies shared memory between processes (shared.h).
 *
 * DAT rights may be narrower than those of the ibv_mr (in verbs remote write needs local write):
 * posts are checked against this structure (segments.h), found by its context without a lock.
 */
#ifndef DAT_PROVIDER_MEM_LMR_H
#define DAT_PROVIDER_MEM_LMR_H

#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_pz;

/* The check of a segment reads one cache line, from key to va. */
struct dpr_lmr {
	struct dpr_obj obj; /* uses: bindings of RMRs */
	struct dpr_key key;
	struct dpr_pz *pz;
	uint64_t base; /* by which work requests name the first byte: 0 if zero based */
	DAT_VLEN length;
	DAT_MEM_PRIV_FLAGS priv;
	DAT_VA_TYPE va;

	struct ibv_mr *mr;
	DAT_MEM_TYPE type;
	DAT_REGION_DESCRIPTION region;
	char cookie[DAT_LMR_COOKIE_SIZE]; /* of shared memory: region points here */
	int shared;    /* the cookie's record, or -1 */
	uint64_t addr; /* of the first byte */
};

extern const struct dpr_class dpr_lmr_class;

DAT_RETURN dpr_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			  DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			  DAT_VA_TYPE va, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_ctx,
			  DAT_RMR_CONTEXT *rmr_ctx, DAT_VLEN *size, DAT_VADDR *addr);
DAT_RETURN dpr_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dpr_lmr_free(DAT_LMR_HANDLE lmr);
DAT_RETURN dpr_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n);
DAT_RETURN dpr_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n);

#endif

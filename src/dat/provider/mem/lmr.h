/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection zones, local and remote memory regions. A region's DAT rights may be narrower than
 * those of its ibv_mr (remote write needs local write in verbs): posts are checked against this
 * table, found by context (lkey, rkey) without a lock.
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

/* What n segments come to. */
struct dpr_gather {
	uint64_t bytes;
	int n;       /* of sge: segments of zero length are legal and left out */
	bool placed; /* each address is that of the memory, not an offset into a zero based region */
};

DAT_RETURN dpr_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
			  DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_VA_TYPE, DAT_LMR_HANDLE *,
			  DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN dpr_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN dpr_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN dpr_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN dpr_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);

extern const struct dpr_class dpr_lmr_class;

#endif

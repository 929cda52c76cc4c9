/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Protection zones: a DAT handle with a protection domain of verbs. The calls come through the provider's table
 * (ia/table.c); endpoints, receive queues and regions (ep/qp.c, dto/srq.c, mem/lmr.c, mem/rmr.c) are made in the
 * protection domain of the zone they name.
 */
#ifndef DAT_PROVIDER_MEM_PZ_H
#define DAT_PROVIDER_MEM_PZ_H

#include "dat/provider/ia/obj.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>

struct dpr_pz {
	struct dpr_obj obj;
	struct ibv_pd *pd;
};

extern const struct dpr_class dpr_pz_class;

static inline struct dpr_pz *dpr_pz_of(DAT_HANDLE h)
{
	return (struct dpr_pz *)dpr_obj_of(h, DPR_PZ);
}

DAT_RETURN dpr_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
DAT_RETURN dpr_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
DAT_RETURN dpr_pz_free(DAT_PZ_HANDLE pz);

#endif

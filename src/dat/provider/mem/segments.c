/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/segments.h"

#include "dat/core/segment.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/pz.h"

DAT_RETURN dpr_segments(struct dpr_ia *ia, struct dpr_pz *pz, DAT_COUNT n,
			const DAT_LMR_TRIPLET *iov, DAT_MEM_PRIV_FLAGS need, struct ibv_sge *sge,
			struct dpr_gather *g)
{
	*g = (struct dpr_gather){ .placed = true };

	for (DAT_COUNT i = 0; i < n; i++) {
		const struct dpr_lmr *l;
		DAT_RETURN ret;

		if (!iov[i].segment_length)
			continue;
		l = (struct dpr_lmr *)dpr_key_find(ia, DPR_KEY_LOCAL, iov[i].lmr_context);
		if (!l)
			return dpr_segment_refuse(DAT_PRIVILEGES_VIOLATION, need);
		ret = dpr_segment_check(l->base, l->length, (DAT_MEM_PRIV_FLAGS)l->priv, l->pz == pz, &iov[i], need);
		if (ret != DAT_SUCCESS)
			return ret;
		sge[g->n++] = (struct ibv_sge){
			.addr = iov[i].virtual_address,
			.length = iov[i].segment_length,
			.lkey = iov[i].lmr_context,
		};
		g->bytes += iov[i].segment_length;
		g->placed &= l->va == DAT_VA_TYPE_VA;
	}
	return g->bytes > UINT32_MAX ? DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE) : DAT_SUCCESS;
}

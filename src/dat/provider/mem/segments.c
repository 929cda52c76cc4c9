/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/segments.h"

#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/pz.h"

static DAT_RETURN refuse(DAT_RETURN type, DAT_MEM_PRIV_FLAGS need)
{
	bool write = need & DAT_MEM_PRIV_LOCAL_WRITE_FLAG;

	if (type == DAT_PRIVILEGES_VIOLATION)
		return DPR_ERR(type, write ? DAT_PRIVILEGES_WRITE : DAT_PRIVILEGES_READ);
	return DPR_ERR(type, write ? DAT_PROTECTION_WRITE : DAT_PROTECTION_READ);
}

static DAT_RETURN check(const struct dpr_lmr *l, const struct dpr_pz *pz, const DAT_LMR_TRIPLET *t,
			DAT_MEM_PRIV_FLAGS need)
{
	uint64_t off = t->virtual_address - l->base;

	if (l->pz != pz)
		return refuse(DAT_PROTECTION_VIOLATION, need);
	if (need & ~(l->priv | (l->priv & DAT_MEM_PRIV_LOCAL_WRITE_FLAG ?
					DAT_MEM_PRIV_LOCAL_READ_FLAG : 0)))
		return refuse(DAT_PRIVILEGES_VIOLATION, need);
	if (off > l->length || t->segment_length > l->length - off)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

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
			return refuse(DAT_PRIVILEGES_VIOLATION, need);
		ret = check(l, pz, &iov[i], need);
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

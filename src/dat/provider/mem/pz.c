/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/pz.h"

#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"

#include <dat2/dat_ib_extensions.h>

static void release(struct dpr_obj *o)
{
	struct dpr_pz *pz = (struct dpr_pz *)o;

	if (pz->pd)
		ibv_dealloc_pd(pz->pd);
	pz->pd = NULL;
}

static void finish(struct dpr_obj *o)
{
	dpr_obj_end(o, DCNT_IA_PZ_FREE);
}

const struct dpr_class dpr_pz_class = {
	.kind = DPR_PZ,
	.type = DAT_HANDLE_TYPE_PZ,
	.size = sizeof(struct dpr_pz),
	.release = release,
	.close = finish,
};

DAT_RETURN dpr_pz_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE *ret)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_pz *pz;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pz = dpr_obj_new(ia, DPR_PZ);
	if (!pz)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	pz->pd = ibv_alloc_pd(ia->verbs);
	if (!pz->pd)
		return dpr_obj_undo(&pz->obj, DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN));
	dpr_count(&ia->counters[DCNT_IA_PZ_CREATE], 1);
	*ret = (DAT_PZ_HANDLE)pz;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	struct dpr_pz *pz = dpr_pz_of(handle);
	DAT_RETURN ret = dpr_query_args(pz, DAT_INVALID_HANDLE_PZ,
					mask & ~(DAT_PZ_PARAM_MASK)DAT_PZ_FIELD_ALL, param);

	if (ret)
		return ret;
	param->ia_handle = dpr_ia_public(pz->obj.ia);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_pz_free(DAT_PZ_HANDLE handle)
{
	struct dpr_pz *pz = dpr_pz_of(handle);

	if (!pz)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	if (atomic_load(&pz->obj.uses))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	finish(&pz->obj);
	return DAT_SUCCESS;
}

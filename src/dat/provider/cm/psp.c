/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/psp.h"

#include "dat/provider/cm/private.h"
#include "dat/provider/cm/sp.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/obj.h"

#include <dat2/dat_ib_extensions.h>

static DAT_RETURN psp_make(struct dpr_ia *ia, DAT_CONN_QUAL qual, struct dpr_evd *evd,
			   DAT_PSP_FLAGS flags, struct dpr_sp **ret)
{
	struct dpr_sp *sp = dpr_sp_new(ia, DPR_PSP, evd);
	int err;

	if (!sp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ut_lock(&sp->lock);
	sp->flags = flags;
	sp->qual = qual;
	err = dpr_sp_listen(sp, qual ? dpr_qual_port(qual) : 0);
	ut_unlock(&sp->lock);
	if (err) {
		dpr_sp_end(sp);
		return dpr_sp_error(err);
	}
	*ret = sp;
	return DAT_SUCCESS;
}

static bool flags_known(DAT_PSP_FLAGS flags)
{
	return flags == DAT_PSP_CONSUMER_FLAG || flags == DAT_PSP_PROVIDER_FLAG;
}

DAT_RETURN dpr_psp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
			  DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *evd;
	struct dpr_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = dpr_sp_evd(ia, evd_handle, &evd);
	if (ret)
		return ret;
	if (!flags_known(flags))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!psp)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = psp_make(ia, qual, evd, flags, &sp);
	if (ret)
		return ret;
	dpr_count(&ia->counters[DCNT_IA_PSP_CREATE], 1);
	*psp = (DAT_PSP_HANDLE)sp;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_psp_create_any(DAT_IA_HANDLE handle, DAT_CONN_QUAL *qual,
			      DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *evd;
	struct dpr_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!qual)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = dpr_sp_evd(ia, evd_handle, &evd);
	if (ret)
		return ret;
	if (!flags_known(flags))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!psp)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = psp_make(ia, 0, evd, flags, &sp);
	if (ret)
		return DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE
			       ? DPR_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE) : ret;
	dpr_count(&ia->counters[DCNT_IA_PSP_CREATE_ANY], 1);
	*qual = sp->qual;
	*psp = (DAT_PSP_HANDLE)sp;
	return DAT_SUCCESS;
}

/* The endpoint is reserved first: only then may a request find the service point. */
static DAT_RETURN reserve(struct dpr_sp *sp, struct dpr_ep *ep) UT_REQUIRES(sp->lock)
{
	DAT_RETURN ret;

	ut_lock(&ep->lock);
	ret = dpr_ep_go(ep, DPR_DO_RSP_CREATE).ret;
	ut_unlock(&ep->lock);
	if (ret)
		return ret;
	dpr_obj_hold(&ep->obj);
	sp->ep = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN rsp_make(struct dpr_ia *ia, DAT_CONN_QUAL qual, struct dpr_ep *ep,
			   struct dpr_evd *evd, struct dpr_sp **ret)
{
	struct dpr_sp *sp = dpr_sp_new(ia, DPR_RSP, evd);
	DAT_RETURN r = DAT_SUCCESS;
	int err = 0;

	if (!sp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ut_lock(&sp->lock);
	sp->qual = qual;
	if (ep)
		r = reserve(sp, ep);
	if (!r)
		err = dpr_sp_listen(sp, dpr_qual_port(qual));
	ut_unlock(&sp->lock);
	if (err)
		r = dpr_sp_error(err);
	if (r)
		dpr_sp_end(sp);
	else
		*ret = sp;
	return r;
}

DAT_RETURN dpr_rsp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp)
{
	struct dpr_ep *ep = ep_handle ? dpr_ep_of(ep_handle) : NULL;
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *evd;
	struct dpr_sp *sp;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (ep_handle && (!ep || ep->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = dpr_sp_evd(ia, evd_handle, &evd);
	if (ret)
		return ret;
	if (!rsp)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = rsp_make(ia, qual, ep, evd, &sp);
	if (ret)
		return ret;
	dpr_count(&ia->counters[DCNT_IA_RSP_CREATE], 1);
	*rsp = (DAT_RSP_HANDLE)sp;
	return DAT_SUCCESS;
}

/* --- query, free --- */

DAT_RETURN dpr_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_PSP);

	if (!sp)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
	if (mask & ~DAT_PSP_FIELD_ALL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	*param = (DAT_PSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.conn_qual = sp->qual,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
		.psp_flags = sp->flags,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dpr_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_RSP);

	if (!sp)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
	if (mask & ~DAT_RSP_FIELD_ALL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!param)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ut_lock(&sp->lock);
	*param = (DAT_RSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.conn_qual = sp->qual,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
		.ep_handle = (DAT_EP_HANDLE)sp->ep,
	};
	ut_unlock(&sp->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_psp_free(DAT_PSP_HANDLE handle)
{
	return dpr_sp_free(handle, DPR_PSP, DAT_INVALID_HANDLE_PSP);
}

DAT_RETURN dpr_rsp_free(DAT_RSP_HANDLE handle)
{
	return dpr_sp_free(handle, DPR_RSP, DAT_INVALID_HANDLE_RSP);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/call_mem.h"

#include "dat/registry/call.h"

DREG_EXPORT DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
				      DAT_REGION_DESCRIPTION region, DAT_VLEN length,
				      DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
				      DAT_VA_TYPE va_type, DAT_LMR_HANDLE *lmr,
				      DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context,
				      DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	DREG_IA(ia);

	DREG_ALSO(pz, HANDLE_PZ);
	if (type == DAT_MEM_TYPE_LMR)
		DREG_ALSO(region.for_lmr_handle, HANDLE_LMR);
	return DREG_CALL(lmr_create_func, ia, type, region, length, pz, privileges, va_type, lmr,
			 lmr_context, rmr_context, registered_length, registered_address);
}

DREG_EXPORT DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask,
				     DAT_LMR_PARAM *param)
{
	DREG_OBJECT(lmr, HANDLE_LMR);

	return DREG_CALL(lmr_query_func, lmr, mask, param);
}

DREG_EXPORT DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr)
{
	DREG_OBJECT(lmr, HANDLE_LMR);

	DREG_LAST(lmr_free_func, lmr);
}

DREG_EXPORT DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	DREG_OBJECT(pz, HANDLE_PZ);

	return DREG_CALL(rmr_create_func, pz, rmr);
}

DREG_EXPORT DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask,
				     DAT_RMR_PARAM *param)
{
	DREG_OBJECT(rmr, HANDLE_RMR);

	return DREG_CALL(rmr_query_func, rmr, mask, param);
}

DREG_EXPORT DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				    const DAT_LMR_TRIPLET *local, DAT_MEM_PRIV_FLAGS privileges,
				    DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				    DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DREG_OBJECT(rmr, HANDLE_RMR);

	DREG_ALSO(lmr, HANDLE_LMR);
	DREG_ALSO(ep, HANDLE_EP);
	return DREG_CALL(rmr_bind_func, rmr, lmr, local, privileges, va_type, ep, cookie,
			 flags, context);
}

DREG_EXPORT DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr)
{
	DREG_OBJECT(rmr, HANDLE_RMR);

	DREG_LAST(rmr_free_func, rmr);
}

DREG_EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	DREG_IA(ia);

	return DREG_CALL(pz_create_func, ia, pz);
}

DREG_EXPORT DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	DREG_OBJECT(pz, HANDLE_PZ);

	return DREG_CALL(pz_query_func, pz, mask, param);
}

DREG_EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz)
{
	DREG_OBJECT(pz, HANDLE_PZ);

	DREG_LAST(pz_free_func, pz);
}

DREG_EXPORT DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					      DAT_VLEN count)
{
	DREG_IA(ia);

	return DREG_CALL(lmr_sync_rdma_read_func, ia, segments, count);
}

DREG_EXPORT DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments,
					       DAT_VLEN count)
{
	DREG_IA(ia);

	return DREG_CALL(lmr_sync_rdma_write_func, ia, segments, count);
}

DREG_EXPORT DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
				      DAT_SRQ_HANDLE *srq)
{
	DREG_IA(ia);

	DREG_ALSO(pz, HANDLE_PZ);
	return DREG_CALL(srq_create_func, ia, pz, attr, srq);
}

DREG_EXPORT DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq)
{
	DREG_OBJECT(srq, HANDLE_SRQ);

	DREG_LAST(srq_free_func, srq);
}

DREG_EXPORT DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments,
					 DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie)
{
	DREG_OBJECT(srq, HANDLE_SRQ);

	return DREG_CALL(srq_post_recv_func, srq, segments, local, cookie);
}

DREG_EXPORT DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask,
				     DAT_SRQ_PARAM *param)
{
	DREG_OBJECT(srq, HANDLE_SRQ);

	return DREG_CALL(srq_query_func, srq, mask, param);
}

DREG_EXPORT DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos)
{
	DREG_OBJECT(srq, HANDLE_SRQ);

	return DREG_CALL(srq_resize_func, srq, max_recv_dtos);
}

DREG_EXPORT DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	DREG_OBJECT(srq, HANDLE_SRQ);

	return DREG_CALL(srq_set_lw_func, srq, low_watermark);
}

DREG_EXPORT DAT_RETURN dat_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	DREG_OBJECT(pz, HANDLE_PZ);

	return dreg_classed(DREG_CALL(rmr_create_for_ep_func, pz, rmr));
}

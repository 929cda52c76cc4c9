/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/call_ep.h"

#include "dat/registry/call.h"

DREG_EXPORT DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				     const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DREG_IA(ia);

	DREG_ALSO(pz, HANDLE_PZ);
	DREG_ALSO(recv_evd, HANDLE_EVD_RECV);
	DREG_ALSO(request_evd, HANDLE_EVD_REQUEST);
	DREG_ALSO(connect_evd, HANDLE_EVD_CONN);
	return DREG_CALL(ep_create_func, ia, pz, recv_evd, request_evd, connect_evd, attr, ep);
}

DREG_EXPORT DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_query_func, ep, mask, param);
}

/* Checks the handles in the parameters of dat_ep_modify. */
static DAT_RETURN check_param(const DAT_PROVIDER *table, DAT_EP_PARAM_MASK mask,
			      const DAT_EP_PARAM *param)
{
	if (mask & DAT_EP_FIELD_PZ_HANDLE)
		DREG_ALSO(param->pz_handle, HANDLE_PZ);
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE)
		DREG_ALSO(param->recv_evd_handle, HANDLE_EVD_RECV);
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
		DREG_ALSO(param->request_evd_handle, HANDLE_EVD_REQUEST);
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
		DREG_ALSO(param->connect_evd_handle, HANDLE_EVD_CONN);
	if (mask & DAT_EP_FIELD_SRQ_HANDLE)
		DREG_ALSO(param->srq_handle, HANDLE_SRQ);
	return DAT_SUCCESS;
}

DREG_EXPORT DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask,
				     const DAT_EP_PARAM *param)
{
	DREG_OBJECT(ep, HANDLE_EP);
	DAT_RETURN rc = param ? check_param(table, mask, param) : DAT_SUCCESS;

	return rc == DAT_SUCCESS ? DREG_CALL(ep_modify_func, ep, mask, param) : rc;
}

DREG_EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote,
				      DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT size,
				      const DAT_PVOID private_data, DAT_QOS qos,
				      DAT_CONNECT_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_connect_func, ep, remote, qual, timeout, size, private_data, qos,
			 flags);
}

DREG_EXPORT DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE connected,
					  DAT_TIMEOUT timeout, DAT_COUNT size,
					  const DAT_PVOID private_data, DAT_QOS qos)
{
	DREG_OBJECT(ep, HANDLE_EP);

	DREG_ALSO(connected, HANDLE_EP);
	return DREG_CALL(ep_dup_connect_func, ep, connected, timeout, size, private_data, qos);
}

DREG_EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_disconnect_func, ep, flags);
}

DREG_EXPORT DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments,
					DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					DAT_COMPLETION_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_post_send_func, ep, segments, local, cookie, flags);
}

DREG_EXPORT DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments,
					DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					DAT_COMPLETION_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_post_recv_func, ep, segments, local, cookie, flags);
}

DREG_EXPORT DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments,
					     DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					     const DAT_RMR_TRIPLET *remote,
					     DAT_COMPLETION_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_post_rdma_read_func, ep, segments, local, cookie, remote, flags);
}

DREG_EXPORT DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments,
					      DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					      const DAT_RMR_TRIPLET *remote,
					      DAT_COMPLETION_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_post_rdma_write_func, ep, segments, local, cookie, remote, flags);
}

DREG_EXPORT DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state,
					 DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_get_status_func, ep, state, recv_idle, request_idle);
}

DREG_EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep)
{
	DREG_OBJECT(ep, HANDLE_EP);

	DREG_LAST(ep_free_func, ep);
}

DREG_EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_reset_func, ep);
}

DREG_EXPORT DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz,
					      DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
					      DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
					      const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	DREG_IA(ia);

	DREG_ALSO(pz, HANDLE_PZ);
	DREG_ALSO(recv_evd, HANDLE_EVD_RECV);
	DREG_ALSO(request_evd, HANDLE_EVD_REQUEST);
	DREG_ALSO(connect_evd, HANDLE_EVD_CONN);
	DREG_ALSO(srq, HANDLE_SRQ);
	return DREG_CALL(ep_create_with_srq_func, ia, pz, recv_evd, request_evd, connect_evd,
			 srq, attr, ep);
}

DREG_EXPORT DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_recv_query_func, ep, buffers, span);
}

DREG_EXPORT DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return DREG_CALL(ep_set_watermark_func, ep, soft, hard);
}

DREG_EXPORT DAT_RETURN dat_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote,
					     DAT_TIMEOUT timeout, DAT_COUNT size,
					     const DAT_PVOID private_data)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return dreg_classed(DREG_CALL(ep_common_connect_func, ep, remote, timeout, size,
			 private_data));
}

DREG_EXPORT DAT_RETURN dat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT segments,
							DAT_LMR_TRIPLET *local,
							DAT_DTO_COOKIE cookie,
							DAT_COMPLETION_FLAGS flags,
							DAT_BOOLEAN invalidate,
							DAT_RMR_CONTEXT context)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return dreg_classed(DREG_CALL(ep_post_send_with_invalidate_func, ep, segments, local,
			 cookie, flags, invalidate, context));
}

DREG_EXPORT DAT_RETURN dat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep,
						    const DAT_RMR_TRIPLET *local,
						    DAT_DTO_COOKIE cookie,
						    const DAT_RMR_TRIPLET *remote,
						    DAT_COMPLETION_FLAGS flags)
{
	DREG_OBJECT(ep, HANDLE_EP);

	return dreg_classed(DREG_CALL(ep_post_rdma_read_to_rmr_func, ep, local, cookie,
			 remote, flags));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that differ in their return values only. */
#include <dat/udat.h>

#include "dat/compat12/call.h"

C12_EXPORT DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	C12_FRONT;

	C12_SAME_CALL(set_consumer_context, DAT_SET_CONSUMER_CONTEXT_FUNC, handle, context);
}

C12_EXPORT DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	C12_FRONT;

	C12_SAME_CALL(get_consumer_context, DAT_GET_CONSUMER_CONTEXT_FUNC, handle, context);
}

C12_EXPORT DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	C12_FRONT;

	C12_SAME_CALL(get_handle_type, DAT_GET_HANDLE_TYPE_FUNC, handle, type);
}

C12_EXPORT DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
				     DAT_CNO_HANDLE *cno)
{
	C12_FRONT;

	C12_SAME_CALL(cno_create, DAT_CNO_CREATE_FUNC, ia, agent, cno);
}

C12_EXPORT DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent)
{
	C12_FRONT;

	C12_SAME_CALL(cno_modify_agent, DAT_CNO_MODIFY_AGENT_FUNC, cno, agent);
}

C12_EXPORT DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno)
{
	C12_FRONT;

	C12_SAME_CALL(cno_free, DAT_CNO_FREE_FUNC, cno);
}

C12_EXPORT DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd)
{
	C12_FRONT;

	C12_SAME_CALL(cno_wait, DAT_CNO_WAIT_FUNC, cno, timeout, evd);
}

C12_EXPORT DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	C12_FRONT;

	C12_SAME_CALL(cr_query, DAT_CR_QUERY_FUNC, cr, mask, param);
}

C12_EXPORT DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size,
				    const DAT_PVOID private_data)
{
	C12_FRONT;

	C12_SAME_CALL(cr_accept, DAT_CR_ACCEPT_FUNC, cr, ep, size, private_data);
}

C12_EXPORT DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual)
{
	C12_FRONT;

	C12_SAME_CALL(cr_handoff, DAT_CR_HANDOFF_FUNC, cr, qual);
}

C12_EXPORT DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
				     DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_create, DAT_EVD_CREATE_FUNC, ia, qlen, cno, flags, evd);
}

C12_EXPORT DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask,
				    DAT_EVD_PARAM *param)
{
	C12_FRONT;

	C12_SAME_CALL(evd_query, DAT_EVD_QUERY_FUNC, evd, mask, param);
}

C12_EXPORT DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno)
{
	C12_FRONT;

	C12_SAME_CALL(evd_modify_cno, DAT_EVD_MODIFY_CNO_FUNC, evd, cno);
}

C12_EXPORT DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_enable, DAT_EVD_ENABLE_FUNC, evd);
}

C12_EXPORT DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_disable, DAT_EVD_DISABLE_FUNC, evd);
}

C12_EXPORT DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	C12_FRONT;

	C12_SAME_CALL(evd_resize, DAT_EVD_RESIZE_FUNC, evd, qlen);
}

C12_EXPORT DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_free, DAT_EVD_FREE_FUNC, evd);
}

C12_EXPORT DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_set_unwaitable, DAT_EVD_SET_UNWAITABLE_FUNC, evd);
}

C12_EXPORT DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	C12_FRONT;

	C12_SAME_CALL(evd_clear_unwaitable, DAT_EVD_CLEAR_UNWAITABLE_FUNC, evd);
}

C12_EXPORT DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote,
				     DAT_CONN_QUAL qual, DAT_TIMEOUT timeout, DAT_COUNT size,
				     const DAT_PVOID private_data, DAT_QOS qos,
				     DAT_CONNECT_FLAGS flags)
{
	C12_FRONT;

	C12_SAME_CALL(ep_connect, DAT_EP_CONNECT_FUNC, ep, remote, qual, timeout, size,
		      private_data, qos, flags);
}

C12_EXPORT DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE connected,
					 DAT_TIMEOUT timeout, DAT_COUNT size,
					 const DAT_PVOID private_data, DAT_QOS qos)
{
	C12_FRONT;

	C12_SAME_CALL(ep_dup_connect, DAT_EP_DUP_CONNECT_FUNC, ep, connected, timeout, size,
		      private_data, qos);
}

C12_EXPORT DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	C12_FRONT;

	C12_SAME_CALL(ep_disconnect, DAT_EP_DISCONNECT_FUNC, ep, flags);
}

C12_EXPORT DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep)
{
	C12_FRONT;

	C12_SAME_CALL(ep_free, DAT_EP_FREE_FUNC, ep);
}

C12_EXPORT DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep)
{
	C12_FRONT;

	C12_SAME_CALL(ep_reset, DAT_EP_RESET_FUNC, ep);
}

C12_EXPORT DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span)
{
	C12_FRONT;

	C12_SAME_CALL(ep_recv_query, DAT_EP_RECV_QUERY_FUNC, ep, buffers, span);
}

C12_EXPORT DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	C12_FRONT;

	C12_SAME_CALL(ep_set_watermark, DAT_EP_SET_WATERMARK_FUNC, ep, soft, hard);
}

C12_EXPORT DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	C12_FRONT;

	C12_SAME_CALL(rmr_create, DAT_RMR_CREATE_FUNC, pz, rmr);
}

C12_EXPORT DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr)
{
	C12_FRONT;

	C12_SAME_CALL(rmr_free, DAT_RMR_FREE_FUNC, rmr);
}

C12_EXPORT DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
				     DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	C12_FRONT;

	C12_SAME_CALL(psp_create, DAT_PSP_CREATE_FUNC, ia, qual, evd, flags, psp);
}

C12_EXPORT DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual,
					 DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
					 DAT_PSP_HANDLE *psp)
{
	C12_FRONT;

	C12_SAME_CALL(psp_create_any, DAT_PSP_CREATE_ANY_FUNC, ia, qual, evd, flags, psp);
}

C12_EXPORT DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask,
				    DAT_PSP_PARAM *param)
{
	C12_FRONT;

	C12_SAME_CALL(psp_query, DAT_PSP_QUERY_FUNC, psp, mask, param);
}

C12_EXPORT DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp)
{
	C12_FRONT;

	C12_SAME_CALL(psp_free, DAT_PSP_FREE_FUNC, psp);
}

C12_EXPORT DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
				     DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
	C12_FRONT;

	C12_SAME_CALL(rsp_create, DAT_RSP_CREATE_FUNC, ia, qual, ep, evd, rsp);
}

C12_EXPORT DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask,
				    DAT_RSP_PARAM *param)
{
	C12_FRONT;

	C12_SAME_CALL(rsp_query, DAT_RSP_QUERY_FUNC, rsp, mask, param);
}

C12_EXPORT DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp)
{
	C12_FRONT;

	C12_SAME_CALL(rsp_free, DAT_RSP_FREE_FUNC, rsp);
}

C12_EXPORT DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	C12_FRONT;

	C12_SAME_CALL(pz_create, DAT_PZ_CREATE_FUNC, ia, pz);
}

C12_EXPORT DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	C12_FRONT;

	C12_SAME_CALL(pz_query, DAT_PZ_QUERY_FUNC, pz, mask, param);
}

C12_EXPORT DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz)
{
	C12_FRONT;

	C12_SAME_CALL(pz_free, DAT_PZ_FREE_FUNC, pz);
}

C12_EXPORT DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
				     DAT_SRQ_HANDLE *srq)
{
	C12_FRONT;

	C12_SAME_CALL(srq_create, DAT_SRQ_CREATE_FUNC, ia, pz, attr, srq);
}

C12_EXPORT DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq)
{
	C12_FRONT;

	C12_SAME_CALL(srq_free, DAT_SRQ_FREE_FUNC, srq);
}

C12_EXPORT DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos)
{
	C12_FRONT;

	C12_SAME_CALL(srq_resize, DAT_SRQ_RESIZE_FUNC, srq, max_recv_dtos);
}

C12_EXPORT DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	C12_FRONT;

	C12_SAME_CALL(srq_set_lw, DAT_SRQ_SET_LW_FUNC, srq, low_watermark);
}

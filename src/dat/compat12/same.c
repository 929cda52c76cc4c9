/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls whose arguments are the same in both versions: only their return values are converted. */
#include <dat/udat.h>

#include "dat/compat12/call.h"

/* Defines dat_NAME; `type` is its function type in DAT's headers. The names of its parameters stand last. */
#define SAME(name, type, parameters, ...)                                      \
	C12_EXPORT DAT_RETURN dat_##name parameters                            \
	{                                                                      \
		C12_FRONT;                                                     \
									       \
		return c12_return(C12_FUNC(name, type)(__VA_ARGS__));          \
	}

SAME(set_consumer_context, DAT_SET_CONSUMER_CONTEXT_FUNC,
     (DAT_HANDLE handle, DAT_CONTEXT context),
     handle, context)
SAME(get_consumer_context, DAT_GET_CONSUMER_CONTEXT_FUNC,
     (DAT_HANDLE handle, DAT_CONTEXT *context),
     handle, context)
SAME(get_handle_type, DAT_GET_HANDLE_TYPE_FUNC,
     (DAT_HANDLE handle, DAT_HANDLE_TYPE *type),
     handle, type)
SAME(cno_create, DAT_CNO_CREATE_FUNC,
     (DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent, DAT_CNO_HANDLE *cno),
     ia, agent, cno)
SAME(cno_modify_agent, DAT_CNO_MODIFY_AGENT_FUNC,
     (DAT_CNO_HANDLE cno, DAT_OS_WAIT_PROXY_AGENT agent),
     cno, agent)
SAME(cno_free, DAT_CNO_FREE_FUNC, (DAT_CNO_HANDLE cno), cno)
SAME(cno_wait, DAT_CNO_WAIT_FUNC,
     (DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd),
     cno, timeout, evd)
SAME(cr_query, DAT_CR_QUERY_FUNC,
     (DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param),
     cr, mask, param)
SAME(cr_accept, DAT_CR_ACCEPT_FUNC,
     (DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID private_data),
     cr, ep, size, private_data)
SAME(cr_handoff, DAT_CR_HANDOFF_FUNC, (DAT_CR_HANDLE cr, DAT_CONN_QUAL qual), cr, qual)
SAME(evd_create, DAT_EVD_CREATE_FUNC,
     (DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
      DAT_EVD_HANDLE *evd),
     ia, qlen, cno, flags, evd)
SAME(evd_query, DAT_EVD_QUERY_FUNC,
     (DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param),
     evd, mask, param)
SAME(evd_modify_cno, DAT_EVD_MODIFY_CNO_FUNC, (DAT_EVD_HANDLE evd, DAT_CNO_HANDLE cno), evd, cno)
SAME(evd_enable, DAT_EVD_ENABLE_FUNC, (DAT_EVD_HANDLE evd), evd)
SAME(evd_disable, DAT_EVD_DISABLE_FUNC, (DAT_EVD_HANDLE evd), evd)
SAME(evd_resize, DAT_EVD_RESIZE_FUNC, (DAT_EVD_HANDLE evd, DAT_COUNT qlen), evd, qlen)
SAME(evd_free, DAT_EVD_FREE_FUNC, (DAT_EVD_HANDLE evd), evd)
SAME(evd_set_unwaitable, DAT_EVD_SET_UNWAITABLE_FUNC, (DAT_EVD_HANDLE evd), evd)
SAME(evd_clear_unwaitable, DAT_EVD_CLEAR_UNWAITABLE_FUNC, (DAT_EVD_HANDLE evd), evd)
SAME(ep_connect, DAT_EP_CONNECT_FUNC,
     (DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
      DAT_COUNT size, const DAT_PVOID private_data, DAT_QOS qos, DAT_CONNECT_FLAGS flags),
     ep, remote, qual, timeout, size, private_data, qos, flags)
SAME(ep_dup_connect, DAT_EP_DUP_CONNECT_FUNC,
     (DAT_EP_HANDLE ep, DAT_EP_HANDLE connected, DAT_TIMEOUT timeout, DAT_COUNT size,
      const DAT_PVOID private_data, DAT_QOS qos),
     ep, connected, timeout, size, private_data, qos)
SAME(ep_disconnect, DAT_EP_DISCONNECT_FUNC, (DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags), ep, flags)
SAME(ep_free, DAT_EP_FREE_FUNC, (DAT_EP_HANDLE ep), ep)
SAME(ep_reset, DAT_EP_RESET_FUNC, (DAT_EP_HANDLE ep), ep)
SAME(ep_recv_query, DAT_EP_RECV_QUERY_FUNC,
     (DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span),
     ep, buffers, span)
SAME(ep_set_watermark, DAT_EP_SET_WATERMARK_FUNC,
     (DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard),
     ep, soft, hard)
SAME(rmr_create, DAT_RMR_CREATE_FUNC, (DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr), pz, rmr)
SAME(rmr_free, DAT_RMR_FREE_FUNC, (DAT_RMR_HANDLE rmr), rmr)
SAME(psp_create, DAT_PSP_CREATE_FUNC,
     (DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
      DAT_PSP_HANDLE *psp),
     ia, qual, evd, flags, psp)
SAME(psp_create_any, DAT_PSP_CREATE_ANY_FUNC,
     (DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
      DAT_PSP_HANDLE *psp),
     ia, qual, evd, flags, psp)
SAME(psp_query, DAT_PSP_QUERY_FUNC,
     (DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param),
     psp, mask, param)
SAME(psp_free, DAT_PSP_FREE_FUNC, (DAT_PSP_HANDLE psp), psp)
SAME(rsp_create, DAT_RSP_CREATE_FUNC,
     (DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
      DAT_RSP_HANDLE *rsp),
     ia, qual, ep, evd, rsp)
SAME(rsp_query, DAT_RSP_QUERY_FUNC,
     (DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param),
     rsp, mask, param)
SAME(rsp_free, DAT_RSP_FREE_FUNC, (DAT_RSP_HANDLE rsp), rsp)
SAME(pz_create, DAT_PZ_CREATE_FUNC, (DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz), ia, pz)
SAME(pz_query, DAT_PZ_QUERY_FUNC,
     (DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param),
     pz, mask, param)
SAME(pz_free, DAT_PZ_FREE_FUNC, (DAT_PZ_HANDLE pz), pz)
SAME(srq_create, DAT_SRQ_CREATE_FUNC,
     (DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq),
     ia, pz, attr, srq)
SAME(srq_free, DAT_SRQ_FREE_FUNC, (DAT_SRQ_HANDLE srq), srq)
SAME(srq_resize, DAT_SRQ_RESIZE_FUNC,
     (DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos),
     srq, max_recv_dtos)
SAME(srq_set_lw, DAT_SRQ_SET_LW_FUNC,
     (DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark),
     srq, low_watermark)

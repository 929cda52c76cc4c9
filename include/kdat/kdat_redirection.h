/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kDAPL 2.0: the table of calls that a provider fills, and the calls through it. The first word of every object of a
 * provider, the IA included, points to its table.
 */
#ifndef _KDAT_REDIRECTION_H_
#define _KDAT_REDIRECTION_H_

#include <linux/stdarg.h>

typedef struct dat_provider DAT_PROVIDER;

#define DAT_HANDLE_TO_PROVIDER(handle) (*(const DAT_PROVIDER **)(handle))

struct dat_provider {
	const char *device_name;
	DAT_PVOID extension;
	DAT_RETURN (*ia_open_func)(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
		DAT_IA_HANDLE *ia);
	DAT_RETURN (*ia_query_func)(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
		DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr);
	DAT_RETURN (*ia_close_func)(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);
	DAT_RETURN (*ia_memtype_hint_func)(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_VLEN length,
		DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment);
	DAT_RETURN (*set_consumer_context_func)(DAT_HANDLE handle, DAT_CONTEXT context);
	DAT_RETURN (*get_consumer_context_func)(DAT_HANDLE handle, DAT_CONTEXT *context);
	DAT_RETURN (*get_handle_type_func)(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);
	DAT_RETURN (*cr_query_func)(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
	DAT_RETURN (*cr_accept_func)(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data);
	DAT_RETURN (*cr_reject_func)(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data);
	DAT_RETURN (*cr_handoff_func)(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);
	DAT_RETURN (*evd_kcreate_func)(DAT_IA_HANDLE ia, DAT_COUNT min_qlen, DAT_UPCALL_POLICY policy,
		const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
	DAT_RETURN (*evd_query_func)(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
	DAT_RETURN (*evd_modify_upcall_func)(DAT_EVD_HANDLE evd, DAT_UPCALL_POLICY policy,
		const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag);
	DAT_RETURN (*evd_resize_func)(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
	DAT_RETURN (*evd_post_se_func)(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
	DAT_RETURN (*evd_dequeue_func)(DAT_EVD_HANDLE evd, DAT_EVENT *event);
	DAT_RETURN (*evd_free_func)(DAT_EVD_HANDLE evd);
	DAT_RETURN (*ep_create_func)(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
		DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);
	DAT_RETURN (*ep_query_func)(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param);
	DAT_RETURN (*ep_modify_func)(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
	DAT_RETURN (*ep_connect_func)(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
		DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags);
	DAT_RETURN (*ep_dup_connect_func)(DAT_EP_HANDLE ep, DAT_EP_HANDLE connected, DAT_TIMEOUT timeout,
		DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos);
	DAT_RETURN (*ep_disconnect_func)(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);
	DAT_RETURN (*ep_post_send_func)(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*ep_post_recv_func)(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*ep_post_rdma_read_func)(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*ep_post_rdma_write_func)(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*ep_get_status_func)(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
		DAT_BOOLEAN *request_idle);
	DAT_RETURN (*ep_free_func)(DAT_EP_HANDLE ep);
	DAT_RETURN (*lmr_kcreate_func)(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
		DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
		DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length, DAT_VADDR *registered_address);
	DAT_RETURN (*lmr_query_func)(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
	DAT_RETURN (*lmr_free_func)(DAT_LMR_HANDLE lmr);
	DAT_RETURN (*rmr_create_func)(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
	DAT_RETURN (*rmr_query_func)(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param);
	DAT_RETURN (*rmr_bind_func)(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *local,
		DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
		DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context);
	DAT_RETURN (*rmr_free_func)(DAT_RMR_HANDLE rmr);
	DAT_RETURN (*psp_create_func)(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
		DAT_PSP_HANDLE *psp);
	DAT_RETURN (*psp_query_func)(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
	DAT_RETURN (*psp_free_func)(DAT_PSP_HANDLE psp);
	DAT_RETURN (*rsp_create_func)(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
		DAT_RSP_HANDLE *rsp);
	DAT_RETURN (*rsp_query_func)(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
	DAT_RETURN (*rsp_free_func)(DAT_RSP_HANDLE rsp);
	DAT_RETURN (*pz_create_func)(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz);
	DAT_RETURN (*pz_query_func)(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param);
	DAT_RETURN (*pz_free_func)(DAT_PZ_HANDLE pz);
	DAT_RETURN (*psp_create_any_func)(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
		DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
	DAT_RETURN (*ep_reset_func)(DAT_EP_HANDLE ep);
	DAT_RETURN (*lmr_sync_rdma_read_func)(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count);
	DAT_RETURN (*lmr_sync_rdma_write_func)(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count);
	DAT_RETURN (*ep_create_with_srq_func)(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
		DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
		DAT_EP_HANDLE *ep);
	DAT_RETURN (*ep_recv_query_func)(DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span);
	DAT_RETURN (*ep_set_watermark_func)(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);
	DAT_RETURN (*srq_create_func)(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq);
	DAT_RETURN (*srq_free_func)(DAT_SRQ_HANDLE srq);
	DAT_RETURN (*srq_post_recv_func)(DAT_SRQ_HANDLE srq, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie);
	DAT_RETURN (*srq_query_func)(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param);
	DAT_RETURN (*srq_resize_func)(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos);
	DAT_RETURN (*srq_set_lw_func)(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark);
	DAT_RETURN (*csp_create_func)(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
		DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp);
	DAT_RETURN (*csp_query_func)(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
	DAT_RETURN (*csp_free_func)(DAT_CSP_HANDLE csp);
	DAT_RETURN (*ep_common_connect_func)(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout,
		DAT_COUNT size, const DAT_PVOID data);
	DAT_RETURN (*rmr_create_for_ep_func)(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr);
	DAT_RETURN (*ep_post_send_with_invalidate_func)(DAT_EP_HANDLE ep, DAT_COUNT segments,
		DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
		DAT_RMR_CONTEXT context);
	DAT_RETURN (*ep_post_rdma_read_to_rmr_func)(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
		DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*lmr_allocate_func)(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_COUNT pages, DAT_LMR_SCOPE scope,
		DAT_LMR_HANDLE *lmr);
	DAT_RETURN (*lmr_fmr_func)(DAT_LMR_HANDLE lmr, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		DAT_VLEN pages, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
		DAT_LMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_LMR_CONTEXT *lmr_context,
		DAT_RMR_CONTEXT *rmr_context);
	DAT_RETURN (*lmr_invalidate_func)(DAT_LMR_HANDLE lmr, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
		DAT_COMPLETION_FLAGS flags);
	DAT_RETURN (*ia_reserved_lmr_func)(DAT_IA_HANDLE ia, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);
	DAT_RETURN (*handle_extendedop_func)(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);
	DAT_RETURN (*ia_ha_related_func)(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *related);
};

/* NULL is no object; any other handle is one of a provider. */
#define DAT_KCALL(handle, sub, func, ...)                                                     \
	((handle) ? DAT_HANDLE_TO_PROVIDER(handle)->func(__VA_ARGS__) :                            \
		    DAT_ERROR(DAT_INVALID_HANDLE, sub))

static inline DAT_RETURN kdat_ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
	DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ia_query_func, ia, async_evd, ia_mask, ia_attr, mask, attr);
}
#define dat_ia_query kdat_ia_query

static inline DAT_RETURN kdat_ia_memtype_hint(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_VLEN length,
	DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ia_memtype_hint_func, ia, type, length, optimize,
		preferred_length, preferred_alignment);
}
#define dat_ia_memtype_hint kdat_ia_memtype_hint

static inline DAT_RETURN kdat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	return DAT_KCALL(handle, DAT_INVALID_HANDLE1, set_consumer_context_func, handle, context);
}
#define dat_set_consumer_context kdat_set_consumer_context

static inline DAT_RETURN kdat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	return DAT_KCALL(handle, DAT_INVALID_HANDLE1, get_consumer_context_func, handle, context);
}
#define dat_get_consumer_context kdat_get_consumer_context

static inline DAT_RETURN kdat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	return DAT_KCALL(handle, DAT_INVALID_HANDLE1, get_handle_type_func, handle, type);
}
#define dat_get_handle_type kdat_get_handle_type

static inline DAT_RETURN kdat_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	return DAT_KCALL(cr, DAT_INVALID_HANDLE_CR, cr_query_func, cr, mask, param);
}
#define dat_cr_query kdat_cr_query

static inline DAT_RETURN kdat_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data)
{
	return DAT_KCALL(cr, DAT_INVALID_HANDLE_CR, cr_accept_func, cr, ep, size, data);
}
#define dat_cr_accept kdat_cr_accept

static inline DAT_RETURN kdat_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data)
{
	return DAT_KCALL(cr, DAT_INVALID_HANDLE_CR, cr_reject_func, cr, size, data);
}
#define dat_cr_reject kdat_cr_reject

static inline DAT_RETURN kdat_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual)
{
	return DAT_KCALL(cr, DAT_INVALID_HANDLE_CR, cr_handoff_func, cr, qual);
}
#define dat_cr_handoff kdat_cr_handoff

static inline DAT_RETURN kdat_evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT min_qlen, DAT_UPCALL_POLICY policy,
	const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, evd_kcreate_func, ia, min_qlen, policy, upcall, flags, evd);
}
#define dat_evd_kcreate kdat_evd_kcreate

static inline DAT_RETURN kdat_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_query_func, evd, mask, param);
}
#define dat_evd_query kdat_evd_query

static inline DAT_RETURN kdat_evd_modify_upcall(DAT_EVD_HANDLE evd, DAT_UPCALL_POLICY policy,
	const DAT_UPCALL_OBJECT *upcall, DAT_UPCALL_FLAG flag)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_modify_upcall_func, evd, policy, upcall, flag);
}
#define dat_evd_modify_upcall kdat_evd_modify_upcall

static inline DAT_RETURN kdat_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_resize_func, evd, qlen);
}
#define dat_evd_resize kdat_evd_resize

static inline DAT_RETURN kdat_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_post_se_func, evd, event);
}
#define dat_evd_post_se kdat_evd_post_se

static inline DAT_RETURN kdat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_dequeue_func, evd, event);
}
#define dat_evd_dequeue kdat_evd_dequeue

static inline DAT_RETURN kdat_evd_free(DAT_EVD_HANDLE evd)
{
	return DAT_KCALL(evd, DAT_INVALID_HANDLE_EVD_CR, evd_free_func, evd);
}
#define dat_evd_free kdat_evd_free

static inline DAT_RETURN kdat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
	DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ep_create_func, ia, pz, recv_evd, request_evd, connect_evd,
		attr, ep);
}
#define dat_ep_create kdat_ep_create

static inline DAT_RETURN kdat_ep_query(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_query_func, ep, mask, param);
}
#define dat_ep_query kdat_ep_query

static inline DAT_RETURN kdat_ep_modify(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_modify_func, ep, mask, param);
}
#define dat_ep_modify kdat_ep_modify

static inline DAT_RETURN kdat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
	DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_connect_func, ep, remote, qual, timeout, size, data, qos,
		flags);
}
#define dat_ep_connect kdat_ep_connect

static inline DAT_RETURN kdat_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE connected, DAT_TIMEOUT timeout,
	DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_dup_connect_func, ep, connected, timeout, size, data, qos);
}
#define dat_ep_dup_connect kdat_ep_dup_connect

static inline DAT_RETURN kdat_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_disconnect_func, ep, flags);
}
#define dat_ep_disconnect kdat_ep_disconnect

static inline DAT_RETURN kdat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_send_func, ep, segments, local, cookie, flags);
}
#define dat_ep_post_send kdat_ep_post_send

static inline DAT_RETURN kdat_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_recv_func, ep, segments, local, cookie, flags);
}
#define dat_ep_post_recv kdat_ep_post_recv

static inline DAT_RETURN kdat_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_rdma_read_func, ep, segments, local, cookie, remote,
		flags);
}
#define dat_ep_post_rdma_read kdat_ep_post_rdma_read

static inline DAT_RETURN kdat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_rdma_write_func, ep, segments, local, cookie, remote,
		flags);
}
#define dat_ep_post_rdma_write kdat_ep_post_rdma_write

static inline DAT_RETURN kdat_ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
	DAT_BOOLEAN *request_idle)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_get_status_func, ep, state, recv_idle, request_idle);
}
#define dat_ep_get_status kdat_ep_get_status

static inline DAT_RETURN kdat_ep_free(DAT_EP_HANDLE ep)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_free_func, ep);
}
#define dat_ep_free kdat_ep_free

static inline DAT_RETURN kdat_lmr_kcreate(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
	DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
	DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
	DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length, DAT_VADDR *registered_address)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, lmr_kcreate_func, ia, type, region, length, pz, privileges,
		va_type, optimize, lmr, lmr_context, rmr_context, registered_length, registered_address);
}
#define dat_lmr_kcreate kdat_lmr_kcreate

static inline DAT_RETURN kdat_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	return DAT_KCALL(lmr, DAT_INVALID_HANDLE_LMR, lmr_query_func, lmr, mask, param);
}
#define dat_lmr_query kdat_lmr_query

static inline DAT_RETURN kdat_lmr_free(DAT_LMR_HANDLE lmr)
{
	return DAT_KCALL(lmr, DAT_INVALID_HANDLE_LMR, lmr_free_func, lmr);
}
#define dat_lmr_free kdat_lmr_free

static inline DAT_RETURN kdat_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return DAT_KCALL(pz, DAT_INVALID_HANDLE_PZ, rmr_create_func, pz, rmr);
}
#define dat_rmr_create kdat_rmr_create

static inline DAT_RETURN kdat_rmr_query(DAT_RMR_HANDLE rmr, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	return DAT_KCALL(rmr, DAT_INVALID_HANDLE_RMR, rmr_query_func, rmr, mask, param);
}
#define dat_rmr_query kdat_rmr_query

static inline DAT_RETURN kdat_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *local,
	DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
	DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return DAT_KCALL(rmr, DAT_INVALID_HANDLE_RMR, rmr_bind_func, rmr, lmr, local, privileges, va_type, ep,
		cookie, flags, context);
}
#define dat_rmr_bind kdat_rmr_bind

static inline DAT_RETURN kdat_rmr_free(DAT_RMR_HANDLE rmr)
{
	return DAT_KCALL(rmr, DAT_INVALID_HANDLE_RMR, rmr_free_func, rmr);
}
#define dat_rmr_free kdat_rmr_free

static inline DAT_RETURN kdat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
	DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, psp_create_func, ia, qual, evd, flags, psp);
}
#define dat_psp_create kdat_psp_create

static inline DAT_RETURN kdat_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	return DAT_KCALL(psp, DAT_INVALID_HANDLE_PSP, psp_query_func, psp, mask, param);
}
#define dat_psp_query kdat_psp_query

static inline DAT_RETURN kdat_psp_free(DAT_PSP_HANDLE psp)
{
	return DAT_KCALL(psp, DAT_INVALID_HANDLE_PSP, psp_free_func, psp);
}
#define dat_psp_free kdat_psp_free

static inline DAT_RETURN kdat_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
	DAT_RSP_HANDLE *rsp)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, rsp_create_func, ia, qual, ep, evd, rsp);
}
#define dat_rsp_create kdat_rsp_create

static inline DAT_RETURN kdat_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	return DAT_KCALL(rsp, DAT_INVALID_HANDLE_RSP, rsp_query_func, rsp, mask, param);
}
#define dat_rsp_query kdat_rsp_query

static inline DAT_RETURN kdat_rsp_free(DAT_RSP_HANDLE rsp)
{
	return DAT_KCALL(rsp, DAT_INVALID_HANDLE_RSP, rsp_free_func, rsp);
}
#define dat_rsp_free kdat_rsp_free

static inline DAT_RETURN kdat_pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, pz_create_func, ia, pz);
}
#define dat_pz_create kdat_pz_create

static inline DAT_RETURN kdat_pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	return DAT_KCALL(pz, DAT_INVALID_HANDLE_PZ, pz_query_func, pz, mask, param);
}
#define dat_pz_query kdat_pz_query

static inline DAT_RETURN kdat_pz_free(DAT_PZ_HANDLE pz)
{
	return DAT_KCALL(pz, DAT_INVALID_HANDLE_PZ, pz_free_func, pz);
}
#define dat_pz_free kdat_pz_free

static inline DAT_RETURN kdat_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
	DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, psp_create_any_func, ia, qual, evd, flags, psp);
}
#define dat_psp_create_any kdat_psp_create_any

static inline DAT_RETURN kdat_ep_reset(DAT_EP_HANDLE ep)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_reset_func, ep);
}
#define dat_ep_reset kdat_ep_reset

static inline DAT_RETURN kdat_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, lmr_sync_rdma_read_func, ia, segments, count);
}
#define dat_lmr_sync_rdma_read kdat_lmr_sync_rdma_read

static inline DAT_RETURN kdat_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, lmr_sync_rdma_write_func, ia, segments, count);
}
#define dat_lmr_sync_rdma_write kdat_lmr_sync_rdma_write

static inline DAT_RETURN kdat_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
	DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
	DAT_EP_HANDLE *ep)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ep_create_with_srq_func, ia, pz, recv_evd, request_evd,
		connect_evd, srq, attr, ep);
}
#define dat_ep_create_with_srq kdat_ep_create_with_srq

static inline DAT_RETURN kdat_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *buffers, DAT_COUNT *span)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_recv_query_func, ep, buffers, span);
}
#define dat_ep_recv_query kdat_ep_recv_query

static inline DAT_RETURN kdat_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_set_watermark_func, ep, soft, hard);
}
#define dat_ep_set_watermark kdat_ep_set_watermark

static inline DAT_RETURN kdat_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr, DAT_SRQ_HANDLE *srq)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, srq_create_func, ia, pz, attr, srq);
}
#define dat_srq_create kdat_srq_create

static inline DAT_RETURN kdat_srq_free(DAT_SRQ_HANDLE srq)
{
	return DAT_KCALL(srq, DAT_INVALID_HANDLE_SRQ, srq_free_func, srq);
}
#define dat_srq_free kdat_srq_free

static inline DAT_RETURN kdat_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments, DAT_LMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie)
{
	return DAT_KCALL(srq, DAT_INVALID_HANDLE_SRQ, srq_post_recv_func, srq, segments, local, cookie);
}
#define dat_srq_post_recv kdat_srq_post_recv

static inline DAT_RETURN kdat_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	return DAT_KCALL(srq, DAT_INVALID_HANDLE_SRQ, srq_query_func, srq, mask, param);
}
#define dat_srq_query kdat_srq_query

static inline DAT_RETURN kdat_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos)
{
	return DAT_KCALL(srq, DAT_INVALID_HANDLE_SRQ, srq_resize_func, srq, max_recv_dtos);
}
#define dat_srq_resize kdat_srq_resize

static inline DAT_RETURN kdat_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	return DAT_KCALL(srq, DAT_INVALID_HANDLE_SRQ, srq_set_lw_func, srq, low_watermark);
}
#define dat_srq_set_lw kdat_srq_set_lw

static inline DAT_RETURN kdat_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
	DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, csp_create_func, ia, comm, address, evd, csp);
}
#define dat_csp_create kdat_csp_create

static inline DAT_RETURN kdat_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	return DAT_KCALL(csp, DAT_INVALID_HANDLE_CSP, csp_query_func, csp, mask, param);
}
#define dat_csp_query kdat_csp_query

static inline DAT_RETURN kdat_csp_free(DAT_CSP_HANDLE csp)
{
	return DAT_KCALL(csp, DAT_INVALID_HANDLE_CSP, csp_free_func, csp);
}
#define dat_csp_free kdat_csp_free

static inline DAT_RETURN kdat_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout,
	DAT_COUNT size, const DAT_PVOID data)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_common_connect_func, ep, remote, timeout, size, data);
}
#define dat_ep_common_connect kdat_ep_common_connect

static inline DAT_RETURN kdat_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return DAT_KCALL(pz, DAT_INVALID_HANDLE_PZ, rmr_create_for_ep_func, pz, rmr);
}
#define dat_rmr_create_for_ep kdat_rmr_create_for_ep

static inline DAT_RETURN kdat_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT segments,
	DAT_LMR_TRIPLET *local, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
	DAT_RMR_CONTEXT context)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_send_with_invalidate_func, ep, segments, local, cookie,
		flags, invalidate, context);
}
#define dat_ep_post_send_with_invalidate kdat_ep_post_send_with_invalidate

static inline DAT_RETURN kdat_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
	DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(ep, DAT_INVALID_HANDLE_EP, ep_post_rdma_read_to_rmr_func, ep, local, cookie, remote, flags);
}
#define dat_ep_post_rdma_read_to_rmr kdat_ep_post_rdma_read_to_rmr

static inline DAT_RETURN kdat_lmr_allocate(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_COUNT pages, DAT_LMR_SCOPE scope,
	DAT_LMR_HANDLE *lmr)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, lmr_allocate_func, ia, pz, pages, scope, lmr);
}
#define dat_lmr_allocate kdat_lmr_allocate

static inline DAT_RETURN kdat_lmr_fmr(DAT_LMR_HANDLE lmr, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
	DAT_VLEN pages, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
	DAT_COMPLETION_FLAGS flags, DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context)
{
	return DAT_KCALL(lmr, DAT_INVALID_HANDLE_LMR, lmr_fmr_func, lmr, type, region, pages, privileges, va_type,
		ep, cookie, flags, lmr_context, rmr_context);
}
#define dat_lmr_fmr kdat_lmr_fmr

static inline DAT_RETURN kdat_lmr_invalidate(DAT_LMR_HANDLE lmr, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
	DAT_COMPLETION_FLAGS flags)
{
	return DAT_KCALL(lmr, DAT_INVALID_HANDLE_LMR, lmr_invalidate_func, lmr, ep, cookie, flags);
}
#define dat_lmr_invalidate kdat_lmr_invalidate

static inline DAT_RETURN kdat_ia_reserved_lmr(DAT_IA_HANDLE ia, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ia_reserved_lmr_func, ia, lmr, context);
}
#define dat_ia_reserved_lmr kdat_ia_reserved_lmr

static inline DAT_RETURN kdat_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *related)
{
	return DAT_KCALL(ia, DAT_INVALID_HANDLE_IA, ia_ha_related_func, ia, name, related);
}
#define dat_ia_ha_related kdat_ia_ha_related

/* The handle of an IA leads to its registry entry, whose reference the last close drops (kdat_registry.h). */
#endif

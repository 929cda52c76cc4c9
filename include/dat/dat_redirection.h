/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DAT 1.2: calls through the table of an object's provider. For providers and registries: a
 * program's handle of an IA is no pointer, and these macros check nothing.
 */
#ifndef _DAT_REDIRECTION_H_
#define _DAT_REDIRECTION_H_

#include <dat/udat.h>

typedef struct dat_provider DAT_PROVIDER;

#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle) (*(DAT_PROVIDER **)(handle))
#endif

#define DAT_CALL_PROVIDER_FUNC(func, handle, ...) \
	((*DAT_HANDLE_TO_PROVIDER(handle)->func)((handle), ##__VA_ARGS__))

#define DAT_IA_QUERY(ia, async_evd, ia_mask, ia_attr, provider_mask, provider_attr) \
	DAT_CALL_PROVIDER_FUNC(ia_query_func, ia, async_evd, ia_mask, ia_attr, provider_mask, \
		provider_attr)
#define DAT_IA_CLOSE(ia, flags) DAT_CALL_PROVIDER_FUNC(ia_close_func, ia, flags)
#define DAT_SET_CONSUMER_CONTEXT(handle, context) \
	DAT_CALL_PROVIDER_FUNC(set_consumer_context_func, handle, context)
#define DAT_GET_CONSUMER_CONTEXT(handle, context) \
	DAT_CALL_PROVIDER_FUNC(get_consumer_context_func, handle, context)
#define DAT_GET_HANDLE_TYPE(handle, type) \
	DAT_CALL_PROVIDER_FUNC(get_handle_type_func, handle, type)
#define DAT_CNO_CREATE(ia, agent, cno) DAT_CALL_PROVIDER_FUNC(cno_create_func, ia, agent, cno)
#define DAT_CNO_MODIFY_AGENT(cno, agent) DAT_CALL_PROVIDER_FUNC(cno_modify_agent_func, cno, agent)
#define DAT_CNO_QUERY(cno, mask, param) DAT_CALL_PROVIDER_FUNC(cno_query_func, cno, mask, param)
#define DAT_CNO_FREE(cno) DAT_CALL_PROVIDER_FUNC(cno_free_func, cno)
#define DAT_CNO_WAIT(cno, timeout, evd) DAT_CALL_PROVIDER_FUNC(cno_wait_func, cno, timeout, evd)
#define DAT_CR_QUERY(cr, mask, param) DAT_CALL_PROVIDER_FUNC(cr_query_func, cr, mask, param)
#define DAT_CR_ACCEPT(cr, ep, size, private_data) \
	DAT_CALL_PROVIDER_FUNC(cr_accept_func, cr, ep, size, private_data)
#define DAT_CR_REJECT(cr) DAT_CALL_PROVIDER_FUNC(cr_reject_func, cr)
#define DAT_CR_HANDOFF(cr, qual) DAT_CALL_PROVIDER_FUNC(cr_handoff_func, cr, qual)
#define DAT_EVD_CREATE(ia, qlen, cno, flags, evd) \
	DAT_CALL_PROVIDER_FUNC(evd_create_func, ia, qlen, cno, flags, evd)
#define DAT_EVD_QUERY(evd, mask, param) DAT_CALL_PROVIDER_FUNC(evd_query_func, evd, mask, param)
#define DAT_EVD_MODIFY_CNO(evd, cno) DAT_CALL_PROVIDER_FUNC(evd_modify_cno_func, evd, cno)
#define DAT_EVD_ENABLE(evd) DAT_CALL_PROVIDER_FUNC(evd_enable_func, evd)
#define DAT_EVD_DISABLE(evd) DAT_CALL_PROVIDER_FUNC(evd_disable_func, evd)
#define DAT_EVD_WAIT(evd, timeout, threshold, event, nmore) \
	DAT_CALL_PROVIDER_FUNC(evd_wait_func, evd, timeout, threshold, event, nmore)
#define DAT_EVD_RESIZE(evd, qlen) DAT_CALL_PROVIDER_FUNC(evd_resize_func, evd, qlen)
#define DAT_EVD_POST_SE(evd, event) DAT_CALL_PROVIDER_FUNC(evd_post_se_func, evd, event)
#define DAT_EVD_DEQUEUE(evd, event) DAT_CALL_PROVIDER_FUNC(evd_dequeue_func, evd, event)
#define DAT_EVD_FREE(evd) DAT_CALL_PROVIDER_FUNC(evd_free_func, evd)
#define DAT_EP_CREATE(ia, pz, recv_evd, request_evd, connect_evd, attr, ep) \
	DAT_CALL_PROVIDER_FUNC(ep_create_func, ia, pz, recv_evd, request_evd, connect_evd, \
		attr, ep)
#define DAT_EP_QUERY(ep, mask, param) DAT_CALL_PROVIDER_FUNC(ep_query_func, ep, mask, param)
#define DAT_EP_MODIFY(ep, mask, param) DAT_CALL_PROVIDER_FUNC(ep_modify_func, ep, mask, param)
#define DAT_EP_CONNECT(ep, remote, qual, timeout, size, private_data, qos, flags) \
	DAT_CALL_PROVIDER_FUNC(ep_connect_func, ep, remote, qual, timeout, size, private_data, \
		qos, flags)
#define DAT_EP_DUP_CONNECT(ep, connected, timeout, size, private_data, qos) \
	DAT_CALL_PROVIDER_FUNC(ep_dup_connect_func, ep, connected, timeout, size, \
		private_data, qos)
#define DAT_EP_DISCONNECT(ep, flags) DAT_CALL_PROVIDER_FUNC(ep_disconnect_func, ep, flags)
#define DAT_EP_POST_SEND(ep, segments, local, cookie, flags) \
	DAT_CALL_PROVIDER_FUNC(ep_post_send_func, ep, segments, local, cookie, flags)
#define DAT_EP_POST_RECV(ep, segments, local, cookie, flags) \
	DAT_CALL_PROVIDER_FUNC(ep_post_recv_func, ep, segments, local, cookie, flags)
#define DAT_EP_POST_RDMA_READ(ep, segments, local, cookie, remote, flags) \
	DAT_CALL_PROVIDER_FUNC(ep_post_rdma_read_func, ep, segments, local, cookie, remote, \
		flags)
#define DAT_EP_POST_RDMA_WRITE(ep, segments, local, cookie, remote, flags) \
	DAT_CALL_PROVIDER_FUNC(ep_post_rdma_write_func, ep, segments, local, cookie, remote, \
		flags)
#define DAT_EP_GET_STATUS(ep, state, recv_idle, request_idle) \
	DAT_CALL_PROVIDER_FUNC(ep_get_status_func, ep, state, recv_idle, request_idle)
#define DAT_EP_FREE(ep) DAT_CALL_PROVIDER_FUNC(ep_free_func, ep)
#define DAT_LMR_CREATE(ia, type, region, length, pz, privileges, lmr, lmr_context, \
		rmr_context, registered_length, registered_address) \
	DAT_CALL_PROVIDER_FUNC(lmr_create_func, ia, type, region, length, pz, privileges, lmr, \
		lmr_context, rmr_context, registered_length, registered_address)
#define DAT_LMR_QUERY(lmr, mask, param) DAT_CALL_PROVIDER_FUNC(lmr_query_func, lmr, mask, param)
#define DAT_LMR_FREE(lmr) DAT_CALL_PROVIDER_FUNC(lmr_free_func, lmr)
#define DAT_RMR_CREATE(pz, rmr) DAT_CALL_PROVIDER_FUNC(rmr_create_func, pz, rmr)
#define DAT_RMR_QUERY(rmr, mask, param) DAT_CALL_PROVIDER_FUNC(rmr_query_func, rmr, mask, param)
#define DAT_RMR_BIND(rmr, local, privileges, ep, cookie, flags, context) \
	DAT_CALL_PROVIDER_FUNC(rmr_bind_func, rmr, local, privileges, ep, cookie, flags, \
		context)
#define DAT_RMR_FREE(rmr) DAT_CALL_PROVIDER_FUNC(rmr_free_func, rmr)
#define DAT_PSP_CREATE(ia, qual, evd, flags, psp) \
	DAT_CALL_PROVIDER_FUNC(psp_create_func, ia, qual, evd, flags, psp)
#define DAT_PSP_QUERY(psp, mask, param) DAT_CALL_PROVIDER_FUNC(psp_query_func, psp, mask, param)
#define DAT_PSP_FREE(psp) DAT_CALL_PROVIDER_FUNC(psp_free_func, psp)
#define DAT_RSP_CREATE(ia, qual, ep, evd, rsp) \
	DAT_CALL_PROVIDER_FUNC(rsp_create_func, ia, qual, ep, evd, rsp)
#define DAT_RSP_QUERY(rsp, mask, param) DAT_CALL_PROVIDER_FUNC(rsp_query_func, rsp, mask, param)
#define DAT_RSP_FREE(rsp) DAT_CALL_PROVIDER_FUNC(rsp_free_func, rsp)
#define DAT_PZ_CREATE(ia, pz) DAT_CALL_PROVIDER_FUNC(pz_create_func, ia, pz)
#define DAT_PZ_QUERY(pz, mask, param) DAT_CALL_PROVIDER_FUNC(pz_query_func, pz, mask, param)
#define DAT_PZ_FREE(pz) DAT_CALL_PROVIDER_FUNC(pz_free_func, pz)
#define DAT_PSP_CREATE_ANY(ia, qual, evd, flags, psp) \
	DAT_CALL_PROVIDER_FUNC(psp_create_any_func, ia, qual, evd, flags, psp)
#define DAT_EP_RESET(ep) DAT_CALL_PROVIDER_FUNC(ep_reset_func, ep)
#define DAT_EVD_SET_UNWAITABLE(evd) DAT_CALL_PROVIDER_FUNC(evd_set_unwaitable_func, evd)
#define DAT_EVD_CLEAR_UNWAITABLE(evd) DAT_CALL_PROVIDER_FUNC(evd_clear_unwaitable_func, evd)
#define DAT_LMR_SYNC_RDMA_READ(ia, segments, count) \
	DAT_CALL_PROVIDER_FUNC(lmr_sync_rdma_read_func, ia, segments, count)
#define DAT_LMR_SYNC_RDMA_WRITE(ia, segments, count) \
	DAT_CALL_PROVIDER_FUNC(lmr_sync_rdma_write_func, ia, segments, count)
#define DAT_EP_CREATE_WITH_SRQ(ia, pz, recv_evd, request_evd, connect_evd, srq, attr, ep) \
	DAT_CALL_PROVIDER_FUNC(ep_create_with_srq_func, ia, pz, recv_evd, request_evd, \
		connect_evd, srq, attr, ep)
#define DAT_EP_RECV_QUERY(ep, buffers, span) \
	DAT_CALL_PROVIDER_FUNC(ep_recv_query_func, ep, buffers, span)
#define DAT_EP_SET_WATERMARK(ep, soft, hard) \
	DAT_CALL_PROVIDER_FUNC(ep_set_watermark_func, ep, soft, hard)
#define DAT_SRQ_CREATE(ia, pz, attr, srq) \
	DAT_CALL_PROVIDER_FUNC(srq_create_func, ia, pz, attr, srq)
#define DAT_SRQ_FREE(srq) DAT_CALL_PROVIDER_FUNC(srq_free_func, srq)
#define DAT_SRQ_POST_RECV(srq, segments, local, cookie) \
	DAT_CALL_PROVIDER_FUNC(srq_post_recv_func, srq, segments, local, cookie)
#define DAT_SRQ_QUERY(srq, mask, param) DAT_CALL_PROVIDER_FUNC(srq_query_func, srq, mask, param)
#define DAT_SRQ_RESIZE(srq, max_recv_dtos) \
	DAT_CALL_PROVIDER_FUNC(srq_resize_func, srq, max_recv_dtos)
#define DAT_SRQ_SET_LW(srq, low_watermark) \
	DAT_CALL_PROVIDER_FUNC(srq_set_lw_func, srq, low_watermark)

#endif

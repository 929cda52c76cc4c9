/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every call that both halves of DAT have, with its handles: X(name, call, argument...), where an argument is { kind, subtype of
 * INVALID_HANDLE, whether NULL is allowed } in the order of h[], the handles under test. Everything else in a call is right. The
 * including file has what differs between the two: t, the provider's table, qual, FLAGS and NAME.
 * events_handles.c runs it in user space, tests/kernel/kdapl/handles.c in the kernel.
 */
#ifndef DAT_HANDLES_H
#define DAT_HANDLES_H

#ifdef __KERNEL__
#include <linux/in.h>
#include <linux/net.h>
#else
#include <netinet/in.h>
#endif

enum kind { IA, PZ, LMR, RMR, EVD, CNO, EP, SRQ, PSP, RSP, CSP, CR, KINDS };

static const char *const names[KINDS] = { "IA", "PZ", "LMR", "RMR", "EVD", "CNO",
					  "EP", "SRQ", "PSP", "RSP", "CSP", "CR" };

struct arg {
	enum kind kind; /* KINDS: any */
	DAT_RETURN_SUBTYPE sub;
	bool null_ok;
};

struct call {
	const char *name;
	DAT_RETURN (*fn)(DAT_HANDLE *h);
	struct arg arg[6];
};

/* Arguments of the calls below that are no handles under test. */
static union {
	DAT_EVENT ev;
	DAT_EVD_PARAM evd;
	DAT_CR_PARAM cr;
	DAT_EP_PARAM ep;
	DAT_LMR_PARAM lmr;
	DAT_RMR_PARAM rmr;
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CSP_PARAM csp;
	DAT_PZ_PARAM pz;
	DAT_SRQ_PARAM srq;
	DAT_IA_ATTR ia;
} out;
static DAT_HANDLE made;
static DAT_COUNT n;
static DAT_CONTEXT ctx;
static const DAT_DTO_COOKIE cookie;
static DAT_SRQ_ATTR srq_attr = { 4, 1, DAT_SRQ_LW_DEFAULT };
static DAT_COMM comm = { AF_INET, SOCK_STREAM, 0 };
static DAT_EP_STATE state;
static DAT_BOOLEAN yes;
static DAT_RMR_TRIPLET far;
static DAT_LMR_TRIPLET segment = { .segment_length = 64 }; /* 0 would be an unbind, which needs no LMR */
static DAT_HANDLE_TYPE type;
static struct sockaddr_in nowhere = { .sin_family = AF_INET };
#define ADDR ((DAT_IA_ADDRESS_PTR)&nowhere)

#define FUNCTION(name, expr, ...)                         \
	static DAT_RETURN call_##name(DAT_HANDLE *h)      \
	{                                                 \
		return expr;                              \
	}
#define ROW(name, expr, ...) { #name, call_##name, { __VA_ARGS__ } },

#define CALLS_OF_BOTH(X) \
	X(ia_query, t->ia_query_func(h[0], NULL, DAT_IA_FIELD_ALL, &out.ia, 0, NULL), { IA, 11 }) \
	X(ia_close, t->ia_close_func(h[0], DAT_CLOSE_GRACEFUL_FLAG), { IA, 11 }) \
	X(set_consumer_context, t->set_consumer_context_func(h[0], ctx), { KINDS, 27 }) \
	X(get_consumer_context, t->get_consumer_context_func(h[0], &ctx), { KINDS, 27 }) \
	X(get_handle_type, t->get_handle_type_func(h[0], &type), { KINDS, 27 }) \
	X(cr_query, t->cr_query_func(h[0], DAT_CR_FIELD_ALL, &out.cr), { CR, 18 }) \
	X(cr_accept, t->cr_accept_func(h[0], h[1], 0, NULL), { CR, 18 }, { EP, 12 }) \
	X(cr_reject, t->cr_reject_func(h[0], 0, NULL), { CR, 18 }) \
	X(cr_handoff, t->cr_handoff_func(h[0], qual), { CR, 18 }) \
	X(evd_query, t->evd_query_func(h[0], DAT_EVD_FIELD_ALL, &out.evd), { EVD, 21 }) \
	X(evd_resize, t->evd_resize_func(h[0], 8), { EVD, 21 }) \
	X(evd_post_se, t->evd_post_se_func(h[0], &out.ev), { EVD, 21 }) \
	X(evd_dequeue, t->evd_dequeue_func(h[0], &out.ev), { EVD, 21 }) \
	X(evd_free, t->evd_free_func(h[0]), { EVD, 21 }) \
	X(ep_create, t->ep_create_func(h[0], h[1], h[2], h[3], h[4], NULL, &made), { IA, 11 }, \
	  { PZ, 15, true }, { EVD, 22, true }, { EVD, 21, true }, { EVD, 23, true }) \
	X(ep_create_with_srq, t->ep_create_with_srq_func(h[0], h[1], h[2], h[3], h[4], h[5], NULL, \
							  &made), \
	  { IA, 11 }, { PZ, 15, true }, { EVD, 22, true }, { EVD, 21, true }, { EVD, 23, true }, \
	  { SRQ, 25 }) \
	X(ep_query, t->ep_query_func(h[0], DAT_EP_FIELD_ALL, &out.ep), { EP, 12 }) \
	X(ep_modify, t->ep_modify_func(h[0], DAT_EP_FIELD_EP_ATTR_QOS, &out.ep), { EP, 12 }) \
	X(ep_connect, t->ep_connect_func(h[0], ADDR, 1, 1000, 0, NULL, DAT_QOS_BEST_EFFORT, \
					 DAT_CONNECT_DEFAULT_FLAG), { EP, 12 }) \
	X(ep_dup_connect, t->ep_dup_connect_func(h[0], h[1], 1000, 0, NULL, DAT_QOS_BEST_EFFORT), \
	  { EP, 12 }, { EP, 12 }) \
	X(ep_common_connect, t->ep_common_connect_func(h[0], ADDR, 1000, 0, NULL), { EP, 12 }) \
	X(ep_disconnect, t->ep_disconnect_func(h[0], DAT_CLOSE_ABRUPT_FLAG), { EP, 12 }) \
	X(ep_post_send, t->ep_post_send_func(h[0], 0, NULL, cookie, FLAGS), { EP, 12 }) \
	X(ep_post_send_with_invalidate, t->ep_post_send_with_invalidate_func( \
		h[0], 0, NULL, cookie, FLAGS, DAT_FALSE, 0), { EP, 12 }) \
	X(ep_post_recv, t->ep_post_recv_func(h[0], 0, NULL, cookie, FLAGS), { EP, 12 }) \
	X(ep_post_rdma_read, t->ep_post_rdma_read_func(h[0], 0, NULL, cookie, &far, FLAGS), \
	  { EP, 12 }) \
	X(ep_post_rdma_read_to_rmr, t->ep_post_rdma_read_to_rmr_func(h[0], &far, cookie, &far, \
								     FLAGS), { EP, 12 }) \
	X(ep_post_rdma_write, t->ep_post_rdma_write_func(h[0], 0, NULL, cookie, &far, FLAGS), \
	  { EP, 12 }) \
	X(ep_get_status, t->ep_get_status_func(h[0], &state, &yes, &yes), { EP, 12 }) \
	X(ep_free, t->ep_free_func(h[0]), { EP, 12 }) \
	X(ep_reset, t->ep_reset_func(h[0]), { EP, 12 }) \
	X(ep_recv_query, t->ep_recv_query_func(h[0], &n, &n), { EP, 12 }) \
	X(ep_set_watermark, t->ep_set_watermark_func(h[0], -1, -1), { EP, 12 }) \
	X(lmr_query, t->lmr_query_func(h[0], DAT_LMR_FIELD_ALL, &out.lmr), { LMR, 13 }) \
	X(lmr_free, t->lmr_free_func(h[0]), { LMR, 13 }) \
	X(lmr_sync_rdma_read, t->lmr_sync_rdma_read_func(h[0], &segment, 0), { IA, 11 }) \
	X(lmr_sync_rdma_write, t->lmr_sync_rdma_write_func(h[0], &segment, 0), { IA, 11 }) \
	X(rmr_create, t->rmr_create_func(h[0], &made), { PZ, 15 }) \
	X(rmr_create_for_ep, t->rmr_create_for_ep_func(h[0], &made), { PZ, 15 }) \
	X(rmr_query, t->rmr_query_func(h[0], DAT_RMR_FIELD_ALL, &out.rmr), { RMR, 14 }) \
	X(rmr_bind, t->rmr_bind_func(h[0], h[1], &segment, DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, \
				     h[2], cookie, FLAGS, &(DAT_RMR_CONTEXT){ 0 }), \
	  { RMR, 14 }, { LMR, 13, true }, { EP, 12 }) \
	X(rmr_free, t->rmr_free_func(h[0]), { RMR, 14 }) \
	X(psp_create, t->psp_create_func(h[0], qual, h[1], DAT_PSP_CONSUMER_FLAG, &made), \
	  { IA, 11 }, { EVD, 20 }) \
	X(psp_create_any, t->psp_create_any_func(h[0], &qual, h[1], DAT_PSP_CONSUMER_FLAG, &made), \
	  { IA, 11 }, { EVD, 20 }) \
	X(psp_query, t->psp_query_func(h[0], DAT_PSP_FIELD_ALL, &out.psp), { PSP, 16 }) \
	X(psp_free, t->psp_free_func(h[0]), { PSP, 16 }) \
	X(rsp_create, t->rsp_create_func(h[0], qual, h[1], h[2], &made), { IA, 11 }, \
	  { EP, 12, true }, { EVD, 20 }) \
	X(rsp_query, t->rsp_query_func(h[0], DAT_RSP_FIELD_ALL, &out.rsp), { RSP, 17 }) \
	X(rsp_free, t->rsp_free_func(h[0]), { RSP, 17 }) \
	X(csp_create, t->csp_create_func(h[0], &comm, ADDR, h[1], &made), { IA, 11 }, { EVD, 20 }) \
	X(csp_query, t->csp_query_func(h[0], DAT_CSP_FIELD_ALL, &out.csp), { CSP, 26 }) \
	X(csp_free, t->csp_free_func(h[0]), { CSP, 26 }) \
	X(pz_create, t->pz_create_func(h[0], &made), { IA, 11 }) \
	X(pz_query, t->pz_query_func(h[0], DAT_PZ_FIELD_ALL, &out.pz), { PZ, 15 }) \
	X(pz_free, t->pz_free_func(h[0]), { PZ, 15 }) \
	X(srq_create, t->srq_create_func(h[0], h[1], &srq_attr, &made), { IA, 11 }, { PZ, 15 }) \
	X(srq_free, t->srq_free_func(h[0]), { SRQ, 25 }) \
	X(srq_post_recv, t->srq_post_recv_func(h[0], 0, NULL, cookie), { SRQ, 25 }) \
	X(srq_query, t->srq_query_func(h[0], DAT_SRQ_FIELD_ALL, &out.srq), { SRQ, 25 }) \
	X(srq_resize, t->srq_resize_func(h[0], 8), { SRQ, 25 }) \
	X(srq_set_lw, t->srq_set_lw_func(h[0], 1), { SRQ, 25 }) \
	X(ia_ha_related, t->ia_ha_related_func(h[0], NAME, &yes), { IA, 11 })

#endif

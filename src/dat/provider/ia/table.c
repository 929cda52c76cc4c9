/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/table.h"

#include "dat/provider/cm/connect.h"
#include "dat/provider/cm/cr.h"
#include "dat/provider/cm/sp.h"
#include "dat/provider/dto/ext.h"
#include "dat/provider/dto/post.h"
#include "dat/provider/dto/recv.h"
#include "dat/provider/dto/srq.h"
#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/ep/create.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/modify.h"
#include "dat/provider/ep/query.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/cno.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/modes.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/evd/wait.h"
#include "dat/provider/ia/context.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/query.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/pz.h"
#include "dat/provider/mem/rmr.h"
#include "dat/provider/mem/rmr_bind.h"
#include "dat/provider/mem/rmr_read.h"

extern const struct dpr_class dpr_ia_class, dpr_pz_class, dpr_lmr_class, dpr_rmr_class,
	dpr_evd_class, dpr_cno_class, dpr_ep_class, dpr_srq_class, dpr_psp_class, dpr_rsp_class,
	dpr_csp_class, dpr_cr_class;

const struct dpr_class *const dpr_classes[DPR_KINDS] = {
	[DPR_IA] = &dpr_ia_class,
	[DPR_PZ] = &dpr_pz_class,
	[DPR_LMR] = &dpr_lmr_class,
	[DPR_RMR] = &dpr_rmr_class,
	[DPR_EVD] = &dpr_evd_class,
	[DPR_CNO] = &dpr_cno_class,
	[DPR_EP] = &dpr_ep_class,
	[DPR_SRQ] = &dpr_srq_class,
	[DPR_PSP] = &dpr_psp_class,
	[DPR_RSP] = &dpr_rsp_class,
	[DPR_CSP] = &dpr_csp_class,
	[DPR_CR] = &dpr_cr_class,
};

const DAT_PROVIDER dpr_table = {
	.device_name = "dapple",

	.ia_open_func = dpr_ia_open,
	.ia_query_func = dpr_ia_query,
	.ia_close_func = dpr_ia_close,

	.set_consumer_context_func = dpr_set_consumer_context,
	.get_consumer_context_func = dpr_get_consumer_context,
	.get_handle_type_func = dpr_get_handle_type,

	.cno_create_func = dpr_cno_create,
	.cno_modify_agent_func = dpr_cno_modify_agent,
	.cno_query_func = dpr_cno_query,
	.cno_free_func = dpr_cno_free,
	.cno_wait_func = dpr_cno_wait,

	.cr_query_func = dpr_cr_query,
	.cr_accept_func = dpr_cr_accept,
	.cr_reject_func = dpr_cr_reject,
	.cr_handoff_func = dpr_cr_handoff,

	.evd_create_func = dpr_evd_create,
	.evd_query_func = dpr_evd_query,
	.evd_modify_cno_func = dpr_evd_modify_cno,
	.evd_enable_func = dpr_evd_enable,
	.evd_disable_func = dpr_evd_disable,
	.evd_wait_func = dpr_evd_wait,
	.evd_resize_func = dpr_evd_resize,
	.evd_post_se_func = dpr_evd_post_se,
	.evd_dequeue_func = dpr_evd_dequeue,
	.evd_free_func = dpr_evd_free,

	.ep_create_func = dpr_ep_create,
	.ep_query_func = dpr_ep_query,
	.ep_modify_func = dpr_ep_modify,
	.ep_connect_func = dpr_ep_connect,
	.ep_dup_connect_func = dpr_ep_dup_connect,
	.ep_disconnect_func = dpr_ep_disconnect,
	.ep_post_send_func = dpr_ep_post_send,
	.ep_post_recv_func = dpr_ep_post_recv,
	.ep_post_rdma_read_func = dpr_ep_post_rdma_read,
	.ep_post_rdma_write_func = dpr_ep_post_rdma_write,
	.ep_get_status_func = dpr_ep_get_status,
	.ep_free_func = dpr_ep_free,

	.lmr_create_func = dpr_lmr_create,
	.lmr_query_func = dpr_lmr_query,
	.lmr_free_func = dpr_lmr_free,

	.rmr_create_func = dpr_rmr_create,
	.rmr_query_func = dpr_rmr_query,
	.rmr_bind_func = dpr_rmr_bind,
	.rmr_free_func = dpr_rmr_free,

	.psp_create_func = dpr_psp_create,
	.psp_query_func = dpr_psp_query,
	.psp_free_func = dpr_psp_free,

	.rsp_create_func = dpr_rsp_create,
	.rsp_query_func = dpr_rsp_query,
	.rsp_free_func = dpr_rsp_free,

	.pz_create_func = dpr_pz_create,
	.pz_query_func = dpr_pz_query,
	.pz_free_func = dpr_pz_free,

	/* 1.1 */
	.psp_create_any_func = dpr_psp_create_any,
	.ep_reset_func = dpr_ep_reset,
	.evd_set_unwaitable_func = dpr_evd_set_unwaitable,
	.evd_clear_unwaitable_func = dpr_evd_clear_unwaitable,

	/* 1.2 */
	.lmr_sync_rdma_read_func = dpr_lmr_sync_rdma_read,
	.lmr_sync_rdma_write_func = dpr_lmr_sync_rdma_write,
	.ep_create_with_srq_func = dpr_ep_create_with_srq,
	.ep_recv_query_func = dpr_ep_recv_query,
	.ep_set_watermark_func = dpr_ep_set_watermark,
	.srq_create_func = dpr_srq_create,
	.srq_free_func = dpr_srq_free,
	.srq_post_recv_func = dpr_srq_post_recv,
	.srq_query_func = dpr_srq_query,
	.srq_resize_func = dpr_srq_resize,
	.srq_set_lw_func = dpr_srq_set_lw,

	/* 2.0 */
	.csp_create_func = dpr_csp_create,
	.csp_query_func = dpr_csp_query,
	.csp_free_func = dpr_csp_free,
	.ep_common_connect_func = dpr_ep_common_connect,
	.rmr_create_for_ep_func = dpr_rmr_create_for_ep,
	.ep_post_send_with_invalidate_func = dpr_ep_post_send_with_invalidate,
	.ep_post_rdma_read_to_rmr_func = dpr_ep_post_rdma_read_to_rmr,
	.cno_fd_create_func = dpr_cno_fd_create,
	.cno_trigger_func = dpr_cno_trigger,
	.ia_ha_related_func = dpr_ia_ha_related,
	.handle_extendedop_func = dpr_extension,
};

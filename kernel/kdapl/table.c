// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/table.h"

#include "kdapl/conn.h"
#include "kdapl/ep.h"
#include "kdapl/evd.h"
#include "kdapl/ia.h"
#include "kdapl/mem.h"
#include "kdapl/post.h"
#include "kdapl/query.h"
#include "kdapl/rmr.h"
#include "kdapl/sp.h"
#include "kdapl/srq.h"

void kdp_table_fill(DAT_PROVIDER *to)
{
	*to = (DAT_PROVIDER){
		.ia_open_func = kdp_ia_open,
		.ia_query_func = kdp_ia_query,
		.ia_close_func = kdp_ia_close,
		.ia_memtype_hint_func = kdp_ia_memtype_hint,
		.set_consumer_context_func = kdp_set_consumer_context,
		.get_consumer_context_func = kdp_get_consumer_context,
		.get_handle_type_func = kdp_get_handle_type,
		.cr_query_func = kdp_cr_query,
		.cr_accept_func = kdp_cr_accept,
		.cr_reject_func = kdp_cr_reject,
		.cr_handoff_func = kdp_cr_handoff,
		.evd_kcreate_func = kdp_evd_kcreate,
		.evd_query_func = kdp_evd_query,
		.evd_modify_upcall_func = kdp_evd_modify_upcall,
		.evd_resize_func = kdp_evd_resize,
		.evd_post_se_func = kdp_evd_post_se,
		.evd_dequeue_func = kdp_evd_dequeue,
		.evd_free_func = kdp_evd_free,
		.ep_create_func = kdp_ep_create,
		.ep_query_func = kdp_ep_query,
		.ep_modify_func = kdp_ep_modify,
		.ep_connect_func = kdp_ep_connect,
		.ep_dup_connect_func = kdp_ep_dup_connect,
		.ep_disconnect_func = kdp_ep_disconnect,
		.ep_post_send_func = kdp_ep_post_send,
		.ep_post_recv_func = kdp_ep_post_recv,
		.ep_post_rdma_read_func = kdp_ep_post_rdma_read,
		.ep_post_rdma_write_func = kdp_ep_post_rdma_write,
		.ep_get_status_func = kdp_ep_get_status,
		.ep_free_func = kdp_ep_free,
		.lmr_kcreate_func = kdp_lmr_kcreate,
		.lmr_query_func = kdp_lmr_query,
		.lmr_free_func = kdp_lmr_free,
		.rmr_create_func = kdp_rmr_create,
		.rmr_query_func = kdp_rmr_query,
		.rmr_bind_func = kdp_rmr_bind,
		.rmr_free_func = kdp_rmr_free,
		.psp_create_func = kdp_psp_create,
		.psp_query_func = kdp_psp_query,
		.psp_free_func = kdp_psp_free,
		.rsp_create_func = kdp_rsp_create,
		.rsp_query_func = kdp_rsp_query,
		.rsp_free_func = kdp_rsp_free,
		.pz_create_func = kdp_pz_create,
		.pz_query_func = kdp_pz_query,
		.pz_free_func = kdp_pz_free,
		.psp_create_any_func = kdp_psp_create_any,
		.ep_reset_func = kdp_ep_reset,
		.lmr_sync_rdma_read_func = kdp_lmr_sync,
		.lmr_sync_rdma_write_func = kdp_lmr_sync,
		.ep_create_with_srq_func = kdp_ep_create_with_srq,
		.ep_recv_query_func = kdp_ep_recv_query,
		.ep_set_watermark_func = kdp_ep_set_watermark,
		.srq_create_func = kdp_srq_create,
		.srq_free_func = kdp_srq_free,
		.srq_post_recv_func = kdp_srq_post_recv,
		.srq_query_func = kdp_srq_query,
		.srq_resize_func = kdp_srq_resize,
		.srq_set_lw_func = kdp_srq_set_lw,
		.csp_create_func = kdp_csp_create,
		.csp_query_func = kdp_csp_query,
		.csp_free_func = kdp_csp_free,
		.ep_common_connect_func = kdp_ep_common_connect,
		.rmr_create_for_ep_func = kdp_rmr_create_for_ep,
		.ep_post_send_with_invalidate_func = kdp_ep_post_send_with_invalidate,
		.ep_post_rdma_read_to_rmr_func = kdp_ep_post_rdma_read_to_rmr,
		.lmr_allocate_func = kdp_lmr_allocate,
		.lmr_fmr_func = kdp_lmr_fmr,
		.lmr_invalidate_func = kdp_lmr_invalidate,
		.ia_reserved_lmr_func = kdp_ia_reserved_lmr,
		.ia_ha_related_func = kdp_ia_ha_related,
	};
}

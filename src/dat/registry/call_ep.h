/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of endpoints. CALL(name) stands for slot name_func of a provider's
 * table and function dat_name. */
#ifndef DAT_REGISTRY_CALL_EP_H
#define DAT_REGISTRY_CALL_EP_H

#define DREG_CALLS_EP(CALL) \
	CALL(ep_create) \
	CALL(ep_query) \
	CALL(ep_modify) \
	CALL(ep_connect) \
	CALL(ep_dup_connect) \
	CALL(ep_disconnect) \
	CALL(ep_post_send) \
	CALL(ep_post_recv) \
	CALL(ep_post_rdma_read) \
	CALL(ep_post_rdma_write) \
	CALL(ep_get_status) \
	CALL(ep_free) \
	CALL(ep_reset) \
	CALL(ep_create_with_srq) \
	CALL(ep_recv_query) \
	CALL(ep_set_watermark) \
	CALL(ep_common_connect) \
	CALL(ep_post_send_with_invalidate) \
	CALL(ep_post_rdma_read_to_rmr)

#endif

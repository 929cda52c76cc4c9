/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of memory regions, protection zones and shared receive queues. CALL(name) stands for slot
 * name_func of a provider's table and function dat_name. */
#ifndef DAT_REGISTRY_CALL_MEM_H
#define DAT_REGISTRY_CALL_MEM_H

#define DREG_CALLS_MEM(CALL) \
	CALL(lmr_create) \
	CALL(lmr_query) \
	CALL(lmr_free) \
	CALL(rmr_create) \
	CALL(rmr_query) \
	CALL(rmr_bind) \
	CALL(rmr_free) \
	CALL(pz_create) \
	CALL(pz_query) \
	CALL(pz_free) \
	CALL(lmr_sync_rdma_read) \
	CALL(lmr_sync_rdma_write) \
	CALL(srq_create) \
	CALL(srq_free) \
	CALL(srq_post_recv) \
	CALL(srq_query) \
	CALL(srq_resize) \
	CALL(srq_set_lw) \
	CALL(rmr_create_for_ep)

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Slots of a provider's table that both versions have. tests/dat/compat12_check*.c compare them
 * with the headers. */
#ifndef DAT_COMPAT12_SLOTS_H
#define DAT_COMPAT12_SLOTS_H

#define C12_SLOTS(SLOT) \
	SLOT(ia_query, 3) \
	SLOT(ia_close, 4) \
	SLOT(set_consumer_context, 5) \
	SLOT(get_consumer_context, 6) \
	SLOT(get_handle_type, 7) \
	SLOT(cno_create, 8) \
	SLOT(cno_modify_agent, 9) \
	SLOT(cno_query, 10) \
	SLOT(cno_free, 11) \
	SLOT(cno_wait, 12) \
	SLOT(cr_query, 13) \
	SLOT(cr_accept, 14) \
	SLOT(cr_reject, 15) \
	SLOT(cr_handoff, 16) \
	SLOT(evd_create, 17) \
	SLOT(evd_query, 18) \
	SLOT(evd_modify_cno, 19) \
	SLOT(evd_enable, 20) \
	SLOT(evd_disable, 21) \
	SLOT(evd_wait, 22) \
	SLOT(evd_resize, 23) \
	SLOT(evd_post_se, 24) \
	SLOT(evd_dequeue, 25) \
	SLOT(evd_free, 26) \
	SLOT(ep_create, 27) \
	SLOT(ep_query, 28) \
	SLOT(ep_modify, 29) \
	SLOT(ep_connect, 30) \
	SLOT(ep_dup_connect, 31) \
	SLOT(ep_disconnect, 32) \
	SLOT(ep_post_send, 33) \
	SLOT(ep_post_recv, 34) \
	SLOT(ep_post_rdma_read, 35) \
	SLOT(ep_post_rdma_write, 36) \
	SLOT(ep_get_status, 37) \
	SLOT(ep_free, 38) \
	SLOT(lmr_create, 39) \
	SLOT(lmr_query, 40) \
	SLOT(lmr_free, 41) \
	SLOT(rmr_create, 42) \
	SLOT(rmr_query, 43) \
	SLOT(rmr_bind, 44) \
	SLOT(rmr_free, 45) \
	SLOT(psp_create, 46) \
	SLOT(psp_query, 47) \
	SLOT(psp_free, 48) \
	SLOT(rsp_create, 49) \
	SLOT(rsp_query, 50) \
	SLOT(rsp_free, 51) \
	SLOT(pz_create, 52) \
	SLOT(pz_query, 53) \
	SLOT(pz_free, 54) \
	SLOT(psp_create_any, 55) \
	SLOT(ep_reset, 56) \
	SLOT(evd_set_unwaitable, 57) \
	SLOT(evd_clear_unwaitable, 58) \
	SLOT(lmr_sync_rdma_read, 59) \
	SLOT(lmr_sync_rdma_write, 60) \
	SLOT(ep_create_with_srq, 61) \
	SLOT(ep_recv_query, 62) \
	SLOT(ep_set_watermark, 63) \
	SLOT(srq_create, 64) \
	SLOT(srq_free, 65) \
	SLOT(srq_post_recv, 66) \
	SLOT(srq_query, 67) \
	SLOT(srq_resize, 68) \
	SLOT(srq_set_lw, 69)

#define C12_SLOT(name, number) C12_##name = (number),
enum c12_slot {
	C12_SLOTS(C12_SLOT)
	C12_N_SLOTS = 81 /* slots of a table of DAT 2.0 */
};

#endif

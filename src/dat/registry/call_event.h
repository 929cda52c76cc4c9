/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of EVDs and CNOs. CALL(name) stands for slot name_func of a provider's
 * table and function dat_name. */
#ifndef DAT_REGISTRY_CALL_EVENT_H
#define DAT_REGISTRY_CALL_EVENT_H

#define DREG_CALLS_EVENT(CALL) \
	CALL(cno_create) \
	CALL(cno_modify_agent) \
	CALL(cno_query) \
	CALL(cno_free) \
	CALL(cno_wait) \
	CALL(evd_create) \
	CALL(evd_query) \
	CALL(evd_modify_cno) \
	CALL(evd_enable) \
	CALL(evd_disable) \
	CALL(evd_wait) \
	CALL(evd_resize) \
	CALL(evd_post_se) \
	CALL(evd_dequeue) \
	CALL(evd_free) \
	CALL(evd_set_unwaitable) \
	CALL(evd_clear_unwaitable) \
	CALL(cno_fd_create) \
	CALL(cno_trigger)

#endif

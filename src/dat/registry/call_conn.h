/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of connection requests and service points. CALL(name) stands for slot name_func of a
 * provider's table and function dat_name. */
#ifndef DAT_REGISTRY_CALL_CONN_H
#define DAT_REGISTRY_CALL_CONN_H

#define DREG_CALLS_CONN(CALL) \
	CALL(cr_query) \
	CALL(cr_accept) \
	CALL(cr_reject) \
	CALL(cr_handoff) \
	CALL(psp_create) \
	CALL(psp_query) \
	CALL(psp_free) \
	CALL(rsp_create) \
	CALL(rsp_query) \
	CALL(rsp_free) \
	CALL(psp_create_any) \
	CALL(csp_create) \
	CALL(csp_query) \
	CALL(csp_free)

#endif

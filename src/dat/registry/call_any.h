/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that take a handle of any kind, or an IA. CALL(name) stands for slot name_func of a
 * provider's table and function dat_name. */
#ifndef DAT_REGISTRY_CALL_ANY_H
#define DAT_REGISTRY_CALL_ANY_H

#define DREG_CALLS_ANY(CALL) \
	CALL(ia_query) \
	CALL(set_consumer_context) \
	CALL(get_consumer_context) \
	CALL(get_handle_type)

#endif

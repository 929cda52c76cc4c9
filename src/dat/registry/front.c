/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/front.h"

#include "dat/registry/call_any.h"
#include "dat/registry/call_conn.h"
#include "dat/registry/call_ep.h"
#include "dat/registry/call_event.h"
#include "dat/registry/call_mem.h"
#include "dat/registry/provider.h"

#define CALL(name) .name##_func = dat_##name,

static const struct dreg_front front = {
	.size = sizeof(struct dreg_front),
	.calls = {
		.device_name = "libdat2",
		.ia_close_func = dat_ia_close,
		DREG_CALLS_ANY(CALL)
		DREG_CALLS_CONN(CALL)
		DREG_CALLS_EP(CALL)
		DREG_CALLS_EVENT(CALL)
		DREG_CALLS_MEM(CALL)
	},
	.ia_openv = dat_ia_openv,
	.list_providers = dat_registry_list_providers,
	.add_provider = dreg_provider_add_loaded,
	.remove_provider = dat_registry_remove_provider,
	.get_ia_handle = dats_get_ia_handle,
};

DREG_EXPORT const struct dreg_front *dreg_front(void)
{
	return &front;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface of this library for libdat.so.1. Both libraries export the same names, so
 * libdat.so.1 calls none of them by name: it finds dreg_front() by dlsym on a handle and calls
 * through tables.
 */
#ifndef DAT_REGISTRY_FRONT_H
#define DAT_REGISTRY_FRONT_H

#include "dat/registry/dreg.h"

struct dreg_front {
	size_t size;  /* of this structure, compared with the one that libdat.so.1 was built with */
	/* The calls of this library in the slots of a provider's table. They take a program's
	 * handles and check them. ia_open and ia_ha_related are empty. */
	DAT_PROVIDER calls;
	DAT_IA_OPENV_FUNC ia_openv;
	DAT_RETURN (*list_providers)(DAT_COUNT max, DAT_COUNT *count, DAT_PROVIDER_INFO *(list[]));
	DAT_RETURN (*add_provider)(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);
	DAT_RETURN (*remove_provider)(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);
	DAT_RETURN (*get_ia_handle)(DAT_IA_HANDLE in, DAT_IA_HANDLE *out);
};

/* Exported for dlsym by the name "dreg_front". */
const struct dreg_front *dreg_front(void);

#endif

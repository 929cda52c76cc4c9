/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kDAPL 2.0: between the registry, which is a part of kdapl.ko, and kernel providers. A provider module fills a
 * DAT_PROVIDER and adds it once for each of its adapters. dat_ia_openv() takes a reference of the module for each
 * open IA and dat_ia_close() drops it, so a provider is never unloaded below its consumers.
 */
#ifndef _KDAT_REGISTRY_H_
#define _KDAT_REGISTRY_H_

#include <kdat/kdat.h>

struct module;

/* Both structures stay with the caller, the table until it is removed. May sleep. */
DAT_RETURN kdat_registry_add(struct module *owner, const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);
#define dat_registry_add_provider(provider, info) kdat_registry_add(THIS_MODULE, provider, info)

/*
 * The entry is not found any more; IAs that are open stay open, and the module stays until they are closed. May sleep.
 */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/* Whether two adapters are one for high availability. */
typedef enum dat_ha_relationship {
	DAT_HA_FALSE          = 0,
	DAT_HA_TRUE           = 1,
	DAT_HA_UNKNOWN        = 2,
	DAT_HA_CONFLICTING    = 3,
	DAT_HA_EXTENSION_BASE = 4,
} DAT_HA_RELATIONSHIP;

DAT_RETURN dat_registry_providers_related(const DAT_NAME_PTR name1, const DAT_NAME_PTR name2,
					  DAT_HA_RELATIONSHIP *related);

#endif

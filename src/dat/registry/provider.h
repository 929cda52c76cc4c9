/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered providers, and the loading of their libraries. The first user of an entry calls dlopen
 * and dat_provider_init(info, parameters), which calls dat_registry_add_provider(table, info); the
 * last one calls dat_provider_fini(info), which calls dat_registry_remove_provider, and dlclose.
 */
#ifndef DAT_REGISTRY_PROVIDER_H
#define DAT_REGISTRY_PROVIDER_H

#include "dat/registry/dreg.h"
#include "dat/registry/entry.h"

/* One use of a registered provider, by an open IA. */
struct dreg_use {
	struct dreg_entry *entry;          /* NULL: the program registered it */
	struct dreg_provider *provider;
	const DAT_PROVIDER *table;
};

/*
 * Finds the entry, loads its library if need be, and uses its provider. Returns DAT_SUCCESS or
 * PROVIDER_NOT_FOUND with the reason. Calls the provider's dat_provider_init.
 */
DAT_RETURN dreg_provider_use(const struct dreg_request *request, struct dreg_use *ret);

/* dat_registry_add_provider for a provider that found libdat.so.1's call. Refused unless this
 * thread is loading the provider, which is then known to be one of 2.0. */
DAT_RETURN dreg_provider_add_loaded(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/* Ends the use; the last one unloads the library. */
void dreg_provider_leave(struct dreg_use *use);

#endif

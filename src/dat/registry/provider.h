/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The providers that have registered themselves, and the loading of libraries that makes them do
 * so. The protocol of an entry: first user: dlopen, dat_provider_init(info, parameters), which
 * calls dat_registry_add_provider(table, info); last user: dat_provider_fini(info), which calls
 * dat_registry_remove_provider, dlclose.
 */
#ifndef DAT_REGISTRY_PROVIDER_H
#define DAT_REGISTRY_PROVIDER_H

#include "dat/registry/dreg.h"
#include "dat/registry/entry.h"

/* A registered provider that somebody opens or has open. */
struct dreg_use {
	struct dreg_entry *entry;          /* NULL: it registered itself without one */
	struct dreg_provider *provider;
	const DAT_PROVIDER *table;
};

/*
 * Finds the entry, loads its library if need be, and takes a use of its provider. DAT_SUCCESS or
 * PROVIDER_NOT_FOUND with the reason. Callbacks into the provider happen here.
 */
DAT_RETURN dreg_provider_use(const struct dreg_wish *wish, struct dreg_use *ret);

/* For a provider that found libdat.so.1's call instead of ours: refused unless it is being loaded,
 * when it is known to be one of 2.0. */
DAT_RETURN dreg_provider_add_loaded(const DAT_PROVIDER *provider, const DAT_PROVIDER_INFO *info);

/* Gives it back; the last one unloads the library. */
void dreg_provider_leave(struct dreg_use *use);

#endif

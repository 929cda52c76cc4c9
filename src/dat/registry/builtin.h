/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries for each adapter of Dapple, so that a program runs without configuration: dapple-roce-eth0 for its
 * first IPv4 address (IPv6 where there is no other), and dapple-roce-eth0-6 for its first IPv6 address, if it has one.
 * That of the InfiniBand adapter is dapple-ib-0. Adapters are known by the names of verbs devices, which the libibverbs of the process lists; it is
 * loaded for this only.
 */
#ifndef DAT_REGISTRY_BUILTIN_H
#define DAT_REGISTRY_BUILTIN_H

#include "dat/registry/dreg.h"

#include <stdbool.h>

#define DREG_OWN_LIBRARY "libdapldapple.so.2"

struct dreg_builtin {
	DAT_PROVIDER_INFO info;
	char params[DAT_NAME_MAX_LENGTH + 8]; /* "dpl_roce_eth0 0", "dpl_roce_eth0 0 6" */
};

/* Returns true if an entry may have that name. Spares the list of devices for others. */
bool dreg_builtin_name(const char *name);

/* Calls `each` for every entry of the present adapters until it returns false. */
void dreg_builtin_each(bool (*each)(void *ctx, const struct dreg_builtin *b), void *ctx);

/* Returns the folder of this library with a slash, "" if unknown. Dapple's provider lies there,
 * too. */
const char *dreg_own_folder(void);

/* Makes the exports of this library visible to providers, which look them up by name alone. */
void dreg_become_global(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The functions that a registry calls: dat_provider_init and dat_provider_fini for each entry of
 * dat.conf that names this library, and dapl_extensions.
 *
 * The registry's functions are looked up and not linked: libdat2 may have been opened without
 * RTLD_GLOBAL, and in a process with libdat.so.1 the same names belong to another version.
 */
#ifndef DAT_PROVIDER_IA_INIT_H
#define DAT_PROVIDER_IA_INIT_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_ia;

/* An entry of dat.conf, as dat_provider_init received it. */
struct dpr_entry {
	DAT_PROVIDER_INFO info;
	char params[DAT_NAME_MAX_LENGTH];
};

/* Copies the entry of that name, preferably one with thread safety `safe`. Returns false if there
 * is none. */
bool dpr_entry_find(const char *name, bool safe, struct dpr_entry *to);

/* Returns the registry's handle of ia (dats_get_ia_handle), which query results contain. */
DAT_IA_HANDLE dpr_ia_public(struct dpr_ia *ia);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a registry sees: dat_provider_init and dat_provider_fini for each entry of dat.conf that
 * names this library, and dapl_extensions.
 *
 * The registry's calls are looked up and not linked: libdat2 may have been opened without
 * RTLD_GLOBAL, and in a process that has libdat.so.1 too the same names mean another version.
 */
#ifndef DAT_PROVIDER_IA_INIT_H
#define DAT_PROVIDER_IA_INIT_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_ia;

/* --- entries of dat.conf, as dat_provider_init gave them (init.c) --- */

struct dpr_entry {
	DAT_PROVIDER_INFO info;
	char params[DAT_NAME_MAX_LENGTH];
};

/* The handle the consumer knows this adapter by (dats_get_ia_handle): for query results. */
DAT_IA_HANDLE dpr_ia_public(struct dpr_ia *ia);

/* The entry of that name, rather one with that thread safety. False: there is none. */
bool dpr_entry_find(const char *name, bool safe, struct dpr_entry *to);

#endif

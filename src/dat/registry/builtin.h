/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An entry for each of our adapters, so that a program runs with no configuration. They are known
 * by the names of verbs devices, which are asked of whatever libibverbs the process has; it is
 * loaded only for this.
 */
#ifndef DAT_REGISTRY_BUILTIN_H
#define DAT_REGISTRY_BUILTIN_H

#include "dat/registry/dreg.h"

#include <stdbool.h>

#define DREG_OWN_LIBRARY "libdapldapple.so.2"

struct dreg_builtin {
	DAT_PROVIDER_INFO info;
	char params[DAT_NAME_MAX_LENGTH + 8];
};

/* Whether a name could be one of them: spares the device list where not. */
bool dreg_builtin_name(const char *name);

/* Calls `each` for every adapter there is now, until it returns false. */
void dreg_builtin_each(bool (*each)(void *ctx, const struct dreg_builtin *b), void *ctx);

/* The folder of this library with a slash, where our provider lies, too; "" if unknown. */
const char *dreg_own_folder(void);

/* Make our exports visible to providers, which do not say where they come from. */
void dreg_become_global(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A registry by its path, so that one program tests Dapple's and the distribution's. */
#ifndef TESTS_DAT_REGISTRY_LIB_H
#define TESTS_DAT_REGISTRY_LIB_H

#include <dat2/dat_registry.h>
#include <stdbool.h>

#include "registry_files.h"

struct registry {
	DAT_RETURN (*openv)(const DAT_NAME_PTR, DAT_COUNT, DAT_EVD_HANDLE *, DAT_IA_HANDLE *,
			    DAT_UINT32, DAT_UINT32, DAT_BOOLEAN);
	DAT_RETURN (*close)(DAT_IA_HANDLE, DAT_CLOSE_FLAGS);
	DAT_RETURN (*list)(DAT_COUNT, DAT_COUNT *, DAT_PROVIDER_INFO *([]));
	DAT_RETURN (*pz_create)(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
	DAT_RETURN (*pz_free)(DAT_PZ_HANDLE);
	DAT_RETURN (*strerror)(DAT_RETURN, const char **, const char **);
	DAT_RETURN (*extension_op)(DAT_HANDLE, DAT_EXTENDED_OP, ...);
	void *dl;
};

/* "system" is the distribution's; skips (77) if it is absent. */
void registry_open(struct registry *r, const char *path, bool global);
void *registry_sym(const struct registry *r, const char *name);

#define ERR(type, subtype) DAT_ERROR(DAT_##type, DAT_##subtype)

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry of kernel providers: kdat/kdat_registry.h and the calls of kdat/kdat.h that belong to no provider. */
#ifndef KDAPL_REGISTRY_H
#define KDAPL_REGISTRY_H

#include <kdat/kdat_registry.h>

/* Forgets the names of providers that are still there. At the module's end, when no consumer is left. */
void kdp_registry_clear(void);

#endif

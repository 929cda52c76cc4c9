/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Named attributes of an adapter, as text: those that programs written for InfiniBand look up. A
 * capability that is absent is left out and not listed as FALSE, as other providers do: programs
 * test for the name.
 */
#ifndef DAT_PROVIDER_IA_NAMED_ATTR_H
#define DAT_PROVIDER_IA_NAMED_ATTR_H

#include <dat2/udat.h>

struct dpr_ia;

/* Fills ia->attrs. Returns 0 or -ENOMEM. */
int dpr_ia_attrs_make(struct dpr_ia *ia);
void dpr_ia_attrs_free(struct dpr_ia *ia);
/* Returns their number; *attr stays valid until ia is released. */
DAT_COUNT dpr_ia_attrs_get(struct dpr_ia *ia, DAT_NAMED_ATTR **attr);

#endif

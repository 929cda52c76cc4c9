/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The named attributes of the provider: what programs written for InfiniBand ask for, as text. A
 * capability that is not there is not named with FALSE but left out where others do so, since
 * programs test for the name.
 */
#ifndef DAT_PROVIDER_IA_NAMED_ATTR_H
#define DAT_PROVIDER_IA_NAMED_ATTR_H

#include <dat2/udat.h>

struct dpr_ia;

/* named_attr.c: 0 or -ENOMEM. */
int dpr_ia_attrs_make(struct dpr_ia *ia);
void dpr_ia_attrs_free(struct dpr_ia *ia);
DAT_COUNT dpr_ia_attrs_get(struct dpr_ia *ia, DAT_NAMED_ATTR **attr);

#endif

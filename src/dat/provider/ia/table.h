/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's table of calls, and its kinds of objects. */
#ifndef DAT_PROVIDER_IA_TABLE_H
#define DAT_PROVIDER_IA_TABLE_H

#include "dat/provider/ia/obj.h"

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

extern const DAT_PROVIDER dpr_table; /* each adapter has a copy with its device_name */

extern const struct dpr_class *const dpr_classes[DPR_KINDS];

#endif

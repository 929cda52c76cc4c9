/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The 81 slots of DAT_PROVIDER, and the kinds of handles. */
#ifndef DAT_PROVIDER_IA_TABLE_H
#define DAT_PROVIDER_IA_TABLE_H

#include "dat/provider/ia/obj.h"

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

extern const DAT_PROVIDER dpr_table; /* table.c; without device_name */

extern const struct dpr_class *const dpr_classes[DPR_KINDS];

#endif

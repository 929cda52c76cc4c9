/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's table of calls (DAT_PROVIDER), and its kinds of objects. The registry calls through the table: an
 * IA that is opened (ia/ia.c) has a copy with the name of its adapter. Each row is the function that serves a call,
 * in the room of its object; the kinds tell a handle of another kind (ia/obj.c).
 */
#ifndef DAT_PROVIDER_IA_TABLE_H
#define DAT_PROVIDER_IA_TABLE_H

#include "dat/provider/ia/obj.h"

#include <dat2/dat_registry.h>
#include <dat2/udat.h>

extern const DAT_PROVIDER dpr_table; /* each adapter has a copy with its device_name */

extern const struct dpr_class *const dpr_classes[DPR_KINDS];

#endif

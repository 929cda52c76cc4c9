/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table's left half against the headers of DAT 1.2. */
#include <dat/udat.h>
#include <dat/dat_registry.h>

#define SIDE(in12, in20) in12
#include "compat12_check.h"

_Static_assert(sizeof(DAT_PROVIDER) == 8 * 70, "a table of DAT 1.2");

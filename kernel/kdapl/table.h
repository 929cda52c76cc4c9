/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of calls of this provider. */
#ifndef KDAPL_TABLE_H
#define KDAPL_TABLE_H

#include <kdat/kdat.h>

void kdp_table_fill(DAT_PROVIDER *to);

#endif

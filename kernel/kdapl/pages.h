/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The pages of a region (struct kdp_pages). None of these calls sleeps. */
#ifndef KDAPL_PAGES_H
#define KDAPL_PAGES_H

#include "kdapl/mem.h"

/*
 * Fills p, which has room for p->max entries, from a region of memory; `other` are the pages of DAT_MEM_TYPE_LMR. Errors:
 * INVALID_PARAMETER with `arg` for an unknown type and with the next for a bad region, INSUFFICIENT_RESOURCES if it has
 * more pages than one registration takes.
 */
DAT_RETURN kdp_pages_fill(struct kdp_pages *p, DAT_MEM_TYPE type, const DAT_REGION_DESCRIPTION *r, u64 length,
			  const struct kdp_pages *other, DAT_RETURN_SUBTYPE arg);
/* Maps p for the device. Returns 0 or a negative errno. */
int kdp_pages_map(struct kdp_ia *ia, struct kdp_pages *p);
void kdp_pages_unmap(struct kdp_ia *ia, struct kdp_pages *p);

#endif

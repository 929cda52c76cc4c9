/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table's right half against the headers of DAT 2.0. */
#include "dat/compat12/front.h"
#include "dat/registry/front.h"

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#define SIDE(in12, in20) in20
#include "compat12_check.h"

_Static_assert(sizeof(DAT_PROVIDER) == 8 * C12_N_SLOTS, "a table of DAT 2.0");

/* compat12/front.h repeats the layout of registry/front.h, which 1.2 code cannot include. */
_Static_assert(offsetof(struct dreg_front, calls) == offsetof(struct c12_front, slot), "calls");
_Static_assert(offsetof(struct dreg_front, ia_openv) == offsetof(struct c12_front, ia_openv), "openv");
_Static_assert(offsetof(struct dreg_front, list_providers) ==
	       offsetof(struct c12_front, list_providers), "list");
_Static_assert(offsetof(struct dreg_front, add_provider) ==
	       offsetof(struct c12_front, add_provider), "add");
_Static_assert(offsetof(struct dreg_front, remove_provider) ==
	       offsetof(struct c12_front, remove_provider), "remove");
_Static_assert(offsetof(struct dreg_front, get_ia_handle) ==
	       offsetof(struct c12_front, get_ia_handle), "get_ia_handle");
_Static_assert(sizeof(struct dreg_front) == sizeof(struct c12_front), "front");
_Static_assert(sizeof(struct c12_lmr20) == sizeof(DAT_LMR_TRIPLET) &&
	       offsetof(struct c12_lmr20, address) == offsetof(DAT_LMR_TRIPLET, virtual_address) &&
	       offsetof(struct c12_lmr20, length) == offsetof(DAT_LMR_TRIPLET, segment_length) &&
	       offsetof(struct c12_lmr20, context) == offsetof(DAT_LMR_TRIPLET, lmr_context) &&
	       sizeof(struct c12_lmr20) == sizeof(DAT_RMR_TRIPLET) &&
	       offsetof(struct c12_lmr20, address) == offsetof(DAT_RMR_TRIPLET, virtual_address) &&
	       offsetof(struct c12_lmr20, length) == offsetof(DAT_RMR_TRIPLET, segment_length) &&
	       offsetof(struct c12_lmr20, context) == offsetof(DAT_RMR_TRIPLET, rmr_context), "triplet");

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table's right half against the headers of DAT 2.0. Nothing here runs. */
#include "dat/compat12/front.h"
#include "dat/compat12/slots.h"
#include "dat/compat12/table.h"
#include "dat/registry/front.h"

#include <dat2/udat.h>
#include <dat2/dat_registry.h>

#define TYPE(name, type, size12, size20) _Static_assert(sizeof(type) == (size20), #name);
C12_TYPES(TYPE)
#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type);
C12_SAME(SAME)

#define AT(type, m, at, size)                                        \
	_Static_assert(offsetof(type, m) == (at), #type " " #m);      \
	_Static_assert(sizeof(((type *)0)->m) == (size), #type " " #m);

#define EACH(name, type) C12_##name(FIELD_##type)
#define FIELD_DAT_LMR_TRIPLET(n, m, at12, size12, at, size) AT(DAT_LMR_TRIPLET, m, at, size)
#define FIELD_DAT_RMR_TRIPLET(n, m, at12, size12, at, size) AT(DAT_RMR_TRIPLET, m, at, size)
#define FIELD_DAT_EP_ATTR(n, m, at12, size12, at, size) AT(DAT_EP_ATTR, m, at, size)
#define FIELD_DAT_EP_PARAM(n, m, at12, size12, at, size) AT(DAT_EP_PARAM, m, at, size)
#define FIELD_DAT_LMR_PARAM(n, m, at12, size12, at, size) AT(DAT_LMR_PARAM, m, at, size)
#define FIELD_DAT_RMR_PARAM(n, m, at12, size12, at, size) AT(DAT_RMR_PARAM, m, at, size)
#define FIELD_DAT_CNO_PARAM(n, m, at12, size12, at, size) AT(DAT_CNO_PARAM, m, at, size)
#define FIELD_DAT_SRQ_PARAM(n, m, at12, size12, at, size) AT(DAT_SRQ_PARAM, m, at, size)
#define FIELD_DAT_IA_ATTR(n, m, at12, size12, at, size) AT(DAT_IA_ATTR, m, at, size)
#define FIELD_DAT_PROVIDER_ATTR(n, m, at12, size12, at, size) AT(DAT_PROVIDER_ATTR, m, at, size)
#define FIELD_DAT_EVENT(n, m, at12, size12, at, size) AT(DAT_EVENT, m, at, size)
#define ALL(name, type, size12, size20) EACH(name, type)
C12_TYPES(ALL)

#define VALUE(name, in12, in20) _Static_assert((DAT_UINT64)(name) == (in20), #name);
C12_EP_MASK(VALUE)
C12_IA_MASK(VALUE)
C12_PROVIDER_MASK(VALUE)
C12_LMR_MASK(VALUE)
C12_RMR_MASK(VALUE)
C12_SRQ_STATES(VALUE)
C12_PZ_SUPPORT(VALUE)
C12_RETURN_TYPES(VALUE)
C12_SUBTYPES(VALUE)

#define SLOT(name, number) \
	_Static_assert(offsetof(DAT_PROVIDER, name##_func) == 8 * (number), #name);
C12_SLOTS(SLOT)
_Static_assert(sizeof(DAT_PROVIDER) == 8 * C12_N_SLOTS, "a table of DAT 2.0");

/* How front.h stands in memory for those who cannot include it. */
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

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table's left half against the headers of DAT 1.2. Nothing here runs. */
#include "dat/compat12/slots.h"
#include "dat/compat12/table.h"

#include <dat/udat.h>
#include <dat/dat_registry.h>

#define TYPE(name, type, size12, size20) _Static_assert(sizeof(type) == (size12), #name);
C12_TYPES(TYPE)
#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type);
C12_SAME(SAME)

#define AT(type, m, at, size)                                        \
	_Static_assert(offsetof(type, m) == (at), #type " " #m);      \
	_Static_assert(sizeof(((type *)0)->m) == (size), #type " " #m);

#define EACH(name, type) C12_##name(FIELD_##type)
#define FIELD_DAT_LMR_TRIPLET(m, n, at, size, at20, size20) AT(DAT_LMR_TRIPLET, m, at, size)
#define FIELD_DAT_RMR_TRIPLET(m, n, at, size, at20, size20) AT(DAT_RMR_TRIPLET, m, at, size)
#define FIELD_DAT_EP_ATTR(m, n, at, size, at20, size20) AT(DAT_EP_ATTR, m, at, size)
#define FIELD_DAT_EP_PARAM(m, n, at, size, at20, size20) AT(DAT_EP_PARAM, m, at, size)
#define FIELD_DAT_LMR_PARAM(m, n, at, size, at20, size20) AT(DAT_LMR_PARAM, m, at, size)
#define FIELD_DAT_RMR_PARAM(m, n, at, size, at20, size20) AT(DAT_RMR_PARAM, m, at, size)
#define FIELD_DAT_CNO_PARAM(m, n, at, size, at20, size20) AT(DAT_CNO_PARAM, m, at, size)
#define FIELD_DAT_SRQ_PARAM(m, n, at, size, at20, size20) AT(DAT_SRQ_PARAM, m, at, size)
#define FIELD_DAT_IA_ATTR(m, n, at, size, at20, size20) AT(DAT_IA_ATTR, m, at, size)
#define FIELD_DAT_PROVIDER_ATTR(m, n, at, size, at20, size20) AT(DAT_PROVIDER_ATTR, m, at, size)
#define FIELD_DAT_EVENT(m, n, at, size, at20, size20) AT(DAT_EVENT, m, at, size)
#define ALL(name, type, size12, size20) EACH(name, type)
C12_TYPES(ALL)

#define VALUE(name, in12, in20) _Static_assert((DAT_UINT64)(name) == (in12), #name);
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
_Static_assert(sizeof(DAT_PROVIDER) == 8 * 70, "a table of DAT 1.2");

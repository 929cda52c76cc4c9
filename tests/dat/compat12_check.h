/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * src/dat/compat12/table.h against the headers of one version of DAT. Before this is included
 * SIDE(in12, in20) names the version's column. Nothing here runs.
 */
#ifndef TESTS_DAT_COMPAT12_CHECK_H
#define TESTS_DAT_COMPAT12_CHECK_H

#include "dat/compat12/slots.h"
#include "dat/compat12/table.h"

#include <stddef.h>

/* As the files of the DAPL project define it: any other definition in the headers would be a warning here. */
#define DAT_ERROR(Type, SubType) ((DAT_RETURN)(DAT_CLASS_ERROR | Type | SubType))

#define TYPE(name, type, size12, size20) \
	_Static_assert(sizeof(type) == SIDE(size12, size20), #name);
C12_TYPES(TYPE)
#define SAME(type, size) _Static_assert(sizeof(type) == (size), #type);
C12_SAME(SAME)

#define AT(type, m12, m20, at12, size12, at20, size20)                                      \
	_Static_assert(offsetof(type, SIDE(m12, m20)) == SIDE(at12, at20), #type " " #m12);  \
	_Static_assert(sizeof(((type *)0)->SIDE(m12, m20)) == SIDE(size12, size20), #type " " #m12);

#define EACH(name, type) C12_##name(FIELD_##type)
#define FIELD_DAT_LMR_TRIPLET(...) AT(DAT_LMR_TRIPLET, __VA_ARGS__)
#define FIELD_DAT_RMR_TRIPLET(...) AT(DAT_RMR_TRIPLET, __VA_ARGS__)
#define FIELD_DAT_EP_ATTR(...) AT(DAT_EP_ATTR, __VA_ARGS__)
#define FIELD_DAT_EP_PARAM(...) AT(DAT_EP_PARAM, __VA_ARGS__)
#define FIELD_DAT_LMR_PARAM(...) AT(DAT_LMR_PARAM, __VA_ARGS__)
#define FIELD_DAT_RMR_PARAM(...) AT(DAT_RMR_PARAM, __VA_ARGS__)
#define FIELD_DAT_CNO_PARAM(...) AT(DAT_CNO_PARAM, __VA_ARGS__)
#define FIELD_DAT_SRQ_PARAM(...) AT(DAT_SRQ_PARAM, __VA_ARGS__)
#define FIELD_DAT_IA_ATTR(...) AT(DAT_IA_ATTR, __VA_ARGS__)
#define FIELD_DAT_PROVIDER_ATTR(...) AT(DAT_PROVIDER_ATTR, __VA_ARGS__)
#define FIELD_DAT_EVENT(...) AT(DAT_EVENT, __VA_ARGS__)
#define ALL(name, type, size12, size20) EACH(name, type)
C12_TYPES(ALL)

#define VALUE(name, in12, in20) _Static_assert((DAT_UINT64)(name) == SIDE(in12, in20), #name);
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

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The shape of a call: find the table of its handle, check the other handles, go through the slot.
 *
 * A handle that is not the first argument may be NULL, where the provider decides what that means;
 * else it must be an object of the same provider. Whether it is of the right type is the
 * provider's to know.
 */
#ifndef DAT_REGISTRY_CALL_H
#define DAT_REGISTRY_CALL_H

#include "dat/registry/handle.h"
#include "dat/registry/ia.h"

#define DREG_NOT_THERE dreg_bad(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

/* Opens a call on an object: `table` is its provider's from here on. */
#define DREG_OBJECT(handle, subtype)                                      \
	const DAT_PROVIDER *table = dreg_object(handle);                  \
	if (__builtin_expect(!table, 0))                                  \
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_##subtype)

/* Opens a call on an IA; `ia` is the provider's from here on. */
#define DREG_IA(ia)                                                       \
	const DAT_PROVIDER *table;                                        \
	(ia) = dreg_ia(ia);                                               \
	if (__builtin_expect(!(ia), 0))                                   \
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA); \
	table = DAT_HANDLE_TO_PROVIDER(ia)

/* Another handle of the call. */
#define DREG_ALSO(handle, subtype)                                            \
	do {                                                                  \
		if ((handle) && __builtin_expect(dreg_object(handle) != table, 0)) \
			return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_##subtype); \
	} while (0)

/* The call. A provider of an older version leaves slots empty. */
#define DREG_CALL(slot, ...)                                              \
	(__builtin_expect(table->slot != NULL, 1) ? table->slot(__VA_ARGS__) : DREG_NOT_THERE)

/* The last call of an object: its memory may be given back. */
#define DREG_LAST(slot, ...)                                              \
	do {                                                              \
		DAT_RETURN rc = DREG_CALL(slot, __VA_ARGS__);             \
		dreg_new_generation();                                    \
		return rc;                                                \
	} while (0)

/* Providers of old answer the calls that no registry of theirs let through with a bare type. */
static inline DAT_RETURN dreg_classed(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) && !(rc & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)) ?
		rc | DAT_CLASS_ERROR : rc;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call: finds the table of its handle, checks the other handles, calls the slot.
 *
 * A handle that is not the first argument may be NULL, and the provider decides whether that is
 * legal; else it must be an object of the same provider. The provider checks its type.
 */
#ifndef DAT_REGISTRY_CALL_H
#define DAT_REGISTRY_CALL_H

#include "dat/registry/handle.h"
#include "dat/registry/ia.h"

#define DREG_NOT_THERE dreg_bad(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)

/* Begins a call on an object; defines `table`, its provider's. */
#define DREG_OBJECT(handle, subtype)                                      \
	const DAT_PROVIDER *table = dreg_object(handle);                  \
	if (__builtin_expect(!table, 0))                                  \
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_##subtype)

/* Begins a call on an IA; defines `table`, and makes `ia` the provider's handle. */
#define DREG_IA(ia)                                                       \
	const DAT_PROVIDER *table;                                        \
	(ia) = dreg_ia(ia);                                               \
	if (__builtin_expect(!(ia), 0))                                   \
		return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA); \
	table = DAT_HANDLE_TO_PROVIDER(ia)

/* Returns true if the handle is an object of the provider with that table. A provider may have a table per IA; their
 * calls are the same then. */
static inline bool dreg_is_of(DAT_HANDLE handle, const DAT_PROVIDER *table)
{
	const DAT_PROVIDER *other = dreg_object(handle);

	return other == table || (other && other->ia_close_func == table->ia_close_func);
}

/* Checks another handle of the call. */
#define DREG_ALSO(handle, subtype)                                            \
	do {                                                                  \
		if ((handle) && __builtin_expect(!dreg_is_of(handle, table), 0)) \
			return dreg_bad(DAT_INVALID_HANDLE, DAT_INVALID_##subtype); \
	} while (0)

/* Calls the slot. A provider of an older version leaves slots empty. */
#define DREG_CALL(slot, ...)                                              \
	(__builtin_expect(table->slot != NULL, 1) ? dreg_result(__func__, table->slot(__VA_ARGS__)) : DREG_NOT_THERE)

/* Calls the slot that ends the object, whose memory may be unmapped. */
#define DREG_LAST(slot, ...)                                              \
	do {                                                              \
		DAT_RETURN rc = DREG_CALL(slot, __VA_ARGS__);             \
		dreg_new_generation();                                    \
		return rc;                                                \
	} while (0)

/* Old providers return a bare type from calls that their own registries never passed to them: adds
 * the class. */
static inline DAT_RETURN dreg_classed(DAT_RETURN rc)
{
	return DAT_GET_TYPE(rc) && !(rc & (DAT_CLASS_ERROR | DAT_CLASS_WARNING)) ?
		rc | DAT_CLASS_ERROR : rc;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From DAT 1.2 to 2.0 and back, by the table. Structures are bytes here, since the headers of both
 * versions use the same names; a structure of 2.0 is a C12_STRUCT20.
 */
#ifndef DAT_COMPAT12_CONVERT_H
#define DAT_COMPAT12_CONVERT_H

#include "dat/compat12/table.h"

#include <stdint.h>

#define C12_TYPE_ENUM(name, type, size12, size20) C12_TYPE_##name,
enum c12_type { C12_TYPES(C12_TYPE_ENUM) C12_N_TYPES };

#define C12_SIZE_ENUM(name, type, size12, size20) \
	C12_SIZE12_##name = (size12), C12_SIZE20_##name = (size20),
enum c12_size { C12_TYPES(C12_SIZE_ENUM) };

/* A structure of DAT 2.0, all zeros. */
#define C12_STRUCT20(variable, name) uint64_t variable[(C12_SIZE20_##name + 7) / 8] = { 0 }

/* Converts a structure. Members that the other version lacks stay unchanged. A number that does not
 * fit becomes the greatest that does. */
void c12_to20(enum c12_type type, void *to, const void *from);
void c12_from20(enum c12_type type, void *to, const void *from);

/* Converts a mask of 1.2. Unknown bits become the highest bit, which no mask of 2.0 has. */
enum c12_mask { C12_EP, C12_IA, C12_PROVIDER, C12_LMR, C12_RMR };
uint64_t c12_mask20(enum c12_mask mask, uint64_t bits);

/* Converts a return value of 2.0. A type that 1.2 lacks becomes an internal error. */
uint32_t c12_return(uint32_t value);

/*
 * The same for a call whose arguments moved: places[i] is the place in 1.2 of argument i + 1 of
 * 2.0, or 0 if 1.2 does not have it.
 */
uint32_t c12_return_moved(uint32_t value, const uint8_t *places, unsigned n);

#endif

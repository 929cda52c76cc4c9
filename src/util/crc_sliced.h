/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CRC by eight tables, eight bytes a turn: for processors without a carry-less multiplier and for
 * messages below 16 bytes. */
#ifndef UT_CRC_SLICED_H
#define UT_CRC_SLICED_H

#include "util/crc_ops.h"

#include <endian.h>
#include <string.h>

extern crc_slices crc32_slices, crc32c_slices;
extern const struct crc_ops crc_sliced_ops;

static inline uint64_t crc_load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* Fills both sets of tables. Called before any other function of the CRCs. */
void crc_sliced_init(void);

/* The state after len more bytes. */
uint32_t crc_sliced(crc_slices t, uint32_t crc, const uint8_t *p, size_t len);

#endif

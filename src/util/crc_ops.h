/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The functions of one implementation of the CRCs. The rest of the tree includes util/crc.h. */
#ifndef UT_CRC_OPS_H
#define UT_CRC_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#define UT_CRC_X86 1
#endif

struct crc_poly;

/* slice[k][b]: the state that byte b leaves k bytes later. */
typedef uint32_t crc_slices[8][256];

/* `state` is the complement of the CRC. The functions are those of util/crc.h otherwise; mul gives
 * a * b mod P. */
struct crc_ops {
	uint32_t (*crc32)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32c)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32_two)(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen);
	uint32_t (*crc32_or)(uint32_t state, const uint8_t ones[16], const uint8_t *p, size_t len);
	uint32_t (*crc32_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*crc32c_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*mul)(const struct crc_poly *poly, crc_slices t, uint32_t a, uint32_t b);
	bool copies_first; /* then reads the copy: crc32_copy() and crc32c_copy() */
};

#endif

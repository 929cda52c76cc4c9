/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Between the files that compute CRCs; everybody else includes util/crc.h. */
#ifndef UT_CRC_IMPL_H
#define UT_CRC_IMPL_H

#include "util/crc.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

/* One polynomial, reflected. Each constant is a power of x mod P. */
struct crc_poly {
	uint32_t poly;
	unsigned period;	/* x^(8 * 2^k) repeats after so many k */
	uint64_t fold16[2];	/* x^(8*256+32), x^(8*256-32), each << 1 as the multiplier wants it */
	uint64_t fold8[2];	/* of 128 bytes and so on */
	uint64_t fold4[2];
	uint64_t fold2[2];
	uint64_t fold1[2];
	uint64_t x64;
	uint64_t barrett[2];	/* P, floor(x^64 / P) */
	uint32_t fwd[32];	/* x^(8 * 2^k) */
	uint32_t bwd[32];	/* x^(-8 * 2^k) */
};

extern const struct crc_poly crc32_poly, crc32c_poly;

/* slice[k][b]: the state that byte b leaves k bytes later. */
typedef uint32_t crc_slices[8][256];
extern crc_slices crc32_slices, crc32c_slices;

/* What the CPU's kind decides. `state` is the CRC's complement; the functions are those of
 * util/crc.h otherwise, and mul gives a * b mod P. */
struct crc_ops {
	uint32_t (*crc32)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32c)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32_two)(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen);
	uint32_t (*crc32_or)(uint32_t state, const uint8_t ones[16], const uint8_t *p, size_t len);
	uint32_t (*crc32_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*crc32c_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*mul)(const struct crc_poly *poly, crc_slices t, uint32_t a, uint32_t b);
};

#if defined(__x86_64__)
#define UT_CRC_X86 1
extern const struct crc_ops crc_pclmul_ops, crc_vpclmul_ops;
#endif

static inline uint64_t crc_load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

uint32_t crc_sliced(crc_slices t, uint32_t crc, const uint8_t *p, size_t len);

#endif

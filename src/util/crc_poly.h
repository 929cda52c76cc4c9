/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both polynomials with the constants that the implementations need. */
#ifndef UT_CRC_POLY_H
#define UT_CRC_POLY_H

#include <stdint.h>

/* One polynomial, reflected. Each constant is a power of x mod P. */
struct crc_poly {
	uint32_t poly;
	uint64_t fold16[2];	/* x^(8*256+32), x^(8*256-32), each << 1 as the multiplier wants it */
	uint64_t fold8[2];	/* of 128 bytes and so on */
	uint64_t fold4[2];
	uint64_t fold2[2];
	uint64_t fold1[2];
	uint64_t x64;
	uint64_t barrett[2];	/* P, floor(x^64 / P) */
};

extern const struct crc_poly crc32_poly, crc32c_poly;

/* Of CRC-32: x^(-8 * 2^k). It repeats after CRC_POWERS. */
#define CRC_POWERS 32
extern const uint32_t crc32_back[CRC_POWERS];

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/crc_pclmul.h"

#ifdef UT_CRC_X86
#define FOLD_TARGET __attribute__((target("pclmul,sse4.2")))
#include "util/crc_fold.h"

/* Lanes 0..3 and the 64 bytes at *p: twice as many lanes while there is enough, then four again. */
FOLD_INLINE void fold_wide(const struct crc_poly *poly, __m128i lane[4], const uint8_t **p,
			   size_t *len)
{
	const __m128i k4 = load16((const uint8_t *)poly->fold4);
	const __m128i k8 = load16((const uint8_t *)poly->fold8);
	const uint8_t *q = *p;
	size_t left = *len - 64;
	__m128i more[4];

	for (int i = 0; i < 4; i++)
		more[i] = load16(q + 16 * i);
	for (q += 64; left >= 128; q += 128, left -= 128) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++) {
			lane[i] = fold(lane[i], k8, load16(q + 16 * i));
			more[i] = fold(more[i], k8, load16(q + 64 + 16 * i));
		}
	}
	for (int i = 0; i < 4; i++)
		lane[i] = fold(lane[i], k4, more[i]);
	*p = q;
	*len = left;
}

FOLD_INLINE __m128i fold_bulk(const struct crc_poly *poly, __m128i acc, const uint8_t **p, size_t *len)
{
	const __m128i k4 = load16((const uint8_t *)poly->fold4);
	__m128i lane[4] = { acc, load16(*p), load16(*p + 16), load16(*p + 32) };

	*p += 48;
	*len -= 48;
	if (*len >= 64 + 2 * 128)
		fold_wide(poly, lane, p, len);
	for (; *len >= 64; *p += 64, *len -= 64) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			lane[i] = fold(lane[i], k4, load16(*p + 16 * i));
	}
	return join_lanes(poly, lane);
}

/* The stores use execution ports that the multiplier leaves idle, so the copy costs nothing. */
FOLD_INLINE uint32_t copied(const struct crc_poly *poly, uint32_t state, uint8_t *to,
			    const uint8_t *p, size_t len)
{
	const __m128i k8 = load16((const uint8_t *)poly->fold8);
	const __m128i k4 = load16((const uint8_t *)poly->fold4);
	__m128i lane[8] = { _mm_cvtsi32_si128((int)state) };
	bool first = true;

	for (; len >= 128; p += 128, to += 128, len -= 128) {
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++) {
			__m128i v = load16(p + 16 * i);

			_mm_storeu_si128((__m128i *)(to + 16 * i), v);
			lane[i] = first ? _mm_xor_si128(lane[i], v) : fold(lane[i], k8, v);
		}
		first = false;
	}
	for (int i = 0; i < 4; i++)
		lane[i + 4] = fold(lane[i], k4, lane[i + 4]);
	memcpy(to, p, len);
	return fold_rest(poly, join_lanes(poly, lane + 4), to, len);
}

const struct crc_ops crc_pclmul_ops = FOLD_OPS(false);
#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * For processors that have VPCLMULQDQ without 512-bit registers (Zen 3, Alder Lake): 128 bytes a turn in four
 * registers of two lanes.
 */
#include "util/crc_vpclmul.h"

#ifdef UT_CRC_X86
#define FOLD_TARGET __attribute__((target("pclmul,sse4.2,avx2,vpclmulqdq")))
#include "util/crc_fold.h"

enum { PAIR = 32, TURN = 4 * PAIR };

FOLD_INLINE __m256i load_pair(const uint8_t *p)
{
	return _mm256_loadu_si256((const __m256i *)p);
}

/* One multiplier for both lanes. */
FOLD_INLINE __m256i spread(const uint64_t k[2])
{
	return _mm256_broadcastsi128_si256(load16((const uint8_t *)k));
}

FOLD_INLINE __m256i fold_pair(__m256i acc, __m256i k, __m256i next)
{
	return _mm256_xor_si256(next, _mm256_xor_si256(_mm256_clmulepi64_epi128(acc, k, 0x00),
						       _mm256_clmulepi64_epi128(acc, k, 0x11)));
}

/* Four pairs that follow each other, made one. */
FOLD_INLINE __m256i join_pairs(const struct crc_poly *poly, const __m256i pair[4])
{
	const __m256i k2 = spread(poly->fold2), k4 = spread(poly->fold4);

	return fold_pair(fold_pair(pair[0], k4, pair[2]), k2, fold_pair(pair[1], k4, pair[3]));
}

FOLD_INLINE __m128i join_pair(const struct crc_poly *poly, __m256i pair)
{
	return fold(_mm256_castsi256_si128(pair), load16((const uint8_t *)poly->fold1),
		    _mm256_extracti128_si256(pair, 1));
}

/* The pair before *p, and a turn or more behind it. */
FOLD_INLINE __m256i fold_turns(const struct crc_poly *poly, __m256i pair0, const uint8_t **p, size_t *len)
{
	const __m256i k8 = spread(poly->fold8);
	__m256i pair[4] = { pair0, load_pair(*p), load_pair(*p + PAIR), load_pair(*p + 2 * PAIR) };

	*p += TURN - PAIR;
	*len -= TURN - PAIR;
	for (; *len >= TURN; *p += TURN, *len -= TURN) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			pair[i] = fold_pair(pair[i], k8, load_pair(*p + PAIR * i));
	}
	return join_pairs(poly, pair);
}

FOLD_INLINE __m128i fold_bulk(const struct crc_poly *poly, __m128i acc, const uint8_t **p, size_t *len)
{
	const __m256i k2 = spread(poly->fold2);
	/* acc, and the 16 bytes behind it. */
	__m256i pair = _mm256_inserti128_si256(_mm256_castsi128_si256(acc), load16(*p), 1);

	*p += 16;
	*len -= 16;
	if (*len >= TURN)
		pair = fold_turns(poly, pair, p, len);
	for (; *len >= PAIR; *p += PAIR, *len -= PAIR)
		pair = fold_pair(pair, k2, load_pair(*p));
	return join_pair(poly, pair);
}

/* As with one lane, the copy is made beside the products. */
FOLD_INLINE uint32_t copied(const struct crc_poly *poly, uint32_t state, uint8_t *to,
			    const uint8_t *p, size_t len)
{
	const __m256i k8 = spread(poly->fold8);
	__m256i pair[4] = { _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)state)) };
	bool first = true;

	for (; len >= TURN; p += TURN, to += TURN, len -= TURN) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++) {
			__m256i v = load_pair(p + PAIR * i);

			_mm256_storeu_si256((__m256i *)(to + PAIR * i), v);
			pair[i] = first ? _mm256_xor_si256(pair[i], v) : fold_pair(pair[i], k8, v);
		}
		first = false;
	}
	memcpy(to, p, len);
	return fold_rest(poly, join_pair(poly, join_pairs(poly, pair)), to, len);
}

const struct crc_ops crc_vpclmul_two_ops = FOLD_OPS(false);
#endif

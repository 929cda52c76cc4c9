/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CRC by carry-less multiplication: the part that is the same for each width of the multiplier. The
 * file of a width defines FOLD_TARGET, includes this one and implements fold_bulk() and copied().
 *
 * Folding: with the message as a polynomial, 16 bytes that are d bits ahead may be replaced by
 * their product with x^d mod P, added to the 16 bytes found there. In the bit-reflected form
 * the low half of a register is the earlier one, so its multiplier is x^(d+32) and that of the
 * high half x^(d-32). Several independent chains hide the latency of the multiplier.
 */
#include "util/crc_poly.h"
#include "util/crc_sliced.h"

#ifdef FOLD_TARGET
#include <immintrin.h>
#include <stdbool.h>

#define FOLD_INLINE FOLD_TARGET __attribute__((always_inline)) static inline
#define BULK_LEAST 48	/* bytes behind the first 16 that are worth several chains */
#define COPY_LEAST 512

/* acc holds the 16 bytes before *p; *len is BULK_LEAST or more. On return acc is for the new *p, with
 * any *len left. */
FOLD_INLINE __m128i fold_bulk(const struct crc_poly *poly, __m128i acc, const uint8_t **p,
			      size_t *len);

/* Copies COPY_LEAST bytes or more. The CRC is that of the bytes that were stored, even if the source
 * changes meanwhile. */
FOLD_INLINE uint32_t copied(const struct crc_poly *poly, uint32_t state, uint8_t *to,
			    const uint8_t *p, size_t len);

FOLD_INLINE __m128i load16(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)p);
}

FOLD_INLINE __m128i fold(__m128i acc, __m128i k, __m128i next)
{
	return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(acc, k, 0x00),
						 _mm_clmulepi64_si128(acc, k, 0x11)));
}

/* acc followed by the last n (1..15) bytes before end: the 16 + n bytes are made 16 again. */
FOLD_INLINE __m128i fold_tail(__m128i acc, __m128i k, const uint8_t *end, size_t n)
{
	static const uint8_t shift[48] = {
		128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
	};
	__m128i up = load16(shift + n), down = load16(shift + 16 + n);
	__m128i head = _mm_shuffle_epi8(acc, up);
	__m128i rest = _mm_blendv_epi8(load16(end - 16), _mm_shuffle_epi8(acc, down), up);

	return fold(head, k, rest);
}

/* 128 bits to 96 to 64, then Barrett: quotient by mu, times P; the remainder is the state. */
FOLD_INLINE uint32_t reduce(const struct crc_poly *poly, __m128i acc)
{
	const __m128i low32 = _mm_set_epi64x(0, 0xffffffff);
	const __m128i k = _mm_set_epi64x((long long)poly->x64, (long long)poly->fold1[1]);
	const __m128i p_mu = load16((const uint8_t *)poly->barrett);
	__m128i t;

	acc = _mm_xor_si128(_mm_srli_si128(acc, 8), _mm_clmulepi64_si128(acc, k, 0x00));
	acc = _mm_xor_si128(_mm_srli_si128(acc, 4),
			    _mm_clmulepi64_si128(_mm_and_si128(acc, low32), k, 0x10));
	t = _mm_clmulepi64_si128(_mm_and_si128(acc, low32), p_mu, 0x10);
	t = _mm_clmulepi64_si128(_mm_and_si128(t, low32), p_mu, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(acc, t), 1);
}

/* acc holds the 16 bytes before p. */
FOLD_INLINE uint32_t fold_rest(const struct crc_poly *poly, __m128i acc, const uint8_t *p,
			       size_t len)
{
	const __m128i k = load16((const uint8_t *)poly->fold1);

	for (; len >= 16; p += 16, len -= 16)
		acc = fold(acc, k, load16(p));
	if (len)
		acc = fold_tail(acc, k, p + len, len);
	return reduce(poly, acc);
}

/* Four chains that follow each other, 64 bytes, made one. */
FOLD_INLINE __m128i join_lanes(const struct crc_poly *poly, const __m128i lane[4])
{
	const __m128i k1 = load16((const uint8_t *)poly->fold1);
	const __m128i k2 = load16((const uint8_t *)poly->fold2);

	return fold(fold(lane[0], k2, lane[2]), k1, fold(lane[1], k2, lane[3]));
}

FOLD_INLINE uint32_t fold_from(const struct crc_poly *poly, __m128i acc, const uint8_t *p,
			       size_t len)
{
	if (len >= BULK_LEAST)
		acc = fold_bulk(poly, acc, &p, &len);
	return fold_rest(poly, acc, p, len);
}

FOLD_INLINE uint32_t fold_message(const struct crc_poly *poly, uint32_t state, const uint8_t *p,
				  size_t len)
{
	__m128i acc = _mm_xor_si128(load16(p), _mm_cvtsi32_si128((int)state));

	return fold_from(poly, acc, p + 16, len - 16);
}

FOLD_TARGET static uint32_t crc32_folded(uint32_t state, const uint8_t *p, size_t len)
{
	if (len < 16)
		return crc_sliced(crc32_slices, state, p, len);
	return fold_message(&crc32_poly, state, p, len);
}

/* Both pieces by one chain: one reduction instead of two. */
FOLD_TARGET static uint32_t crc32_two_folded(const uint8_t *a, size_t alen, const uint8_t *b,
					     size_t blen)
{
	const __m128i k = load16((const uint8_t *)crc32_poly.fold1);
	__m128i acc;

	if (alen < 16 || blen < 16)
		return crc32_folded(crc32_folded(~0u, a, alen), b, blen);
	acc = _mm_xor_si128(load16(a), _mm_cvtsi32_si128(-1));
	for (a += 16, alen -= 16; alen >= 16; a += 16, alen -= 16)
		acc = fold(acc, k, load16(a));
	if (alen)
		acc = fold_tail(acc, k, a + alen, alen);
	return fold_from(&crc32_poly, acc, b, blen);
}

/* The crc32 instruction has a latency of 3 cycles for 8 bytes: better than folding when short. */
FOLD_TARGET static uint32_t crc32c_instruction(uint32_t state, const uint8_t *p, size_t len)
{
	uint64_t crc = state;

	for (; len >= 8; p += 8, len -= 8)
		crc = _mm_crc32_u64(crc, crc_load_le64(p));
	while (len--)
		crc = _mm_crc32_u8((uint32_t)crc, *p++);
	return (uint32_t)crc;
}

FOLD_TARGET static uint32_t crc32c_folded(uint32_t state, const uint8_t *p, size_t len)
{
	if (len < 200)
		return crc32c_instruction(state, p, len);
	return fold_message(&crc32c_poly, state, p, len);
}

/* 16 bytes and more, the first 16 of them with the bits of `ones` set. */
FOLD_TARGET static uint32_t crc32_or_folded(uint32_t state, const uint8_t ones[16], const uint8_t *p,
					    size_t len)
{
	__m128i acc = _mm_or_si128(load16(p), load16(ones));

	acc = _mm_xor_si128(acc, _mm_cvtsi32_si128((int)state));
	return fold_from(&crc32_poly, acc, p + 16, len - 16);
}

FOLD_TARGET static uint32_t crc32_copied(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	if (len >= COPY_LEAST)
		return copied(&crc32_poly, state, to, p, len);
	memcpy(to, p, len);
	return crc32_folded(state, to, len);
}

FOLD_TARGET static uint32_t crc32c_copied(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	if (len >= COPY_LEAST)
		return copied(&crc32c_poly, state, to, p, len);
	memcpy(to, p, len);
	return crc32c_folded(state, to, len);
}

/* The product has 63 bits: its earlier half is carried over 4 bytes, the later one added. */
FOLD_TARGET static uint32_t multiply_clmul(const struct crc_poly *poly, crc_slices t, uint32_t a,
					   uint32_t b)
{
	__m128i m = _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)a), _mm_cvtsi32_si128((int)b), 0);
	uint64_t v = (uint64_t)_mm_cvtsi128_si64(m) << 1;

	(void)poly;
	return (uint32_t)(v >> 32) ^ t[3][v & 255] ^ t[2][v >> 8 & 255] ^ t[1][v >> 16 & 255] ^
	       t[0][v >> 24 & 255];
}

#define FOLD_OPS(copies_first) { crc32_folded, crc32c_folded, crc32_two_folded, crc32_or_folded, \
				 crc32_copied, crc32c_copied, multiply_clmul, copies_first }
#endif

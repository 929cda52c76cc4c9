/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CRC by carry-less multiplication where the CPU has it, by eight tables elsewhere.
 *
 * Folding: with the message as a polynomial, 16 bytes that are d bits ahead may be replaced by
 * their product with x^d mod P, added to the 16 bytes found there. In the bit-reflected form
 * the low half of a register is the earlier one, so its multiplier is x^(d+32) and that of the
 * high half x^(d-32). Eight independent chains hide the latency of the multiplier.
 */
#include "util/crc.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define UT_CRC_X86 1
#endif

/* One polynomial, reflected. Each constant is a power of x mod P. */
struct crc_poly {
	uint32_t poly;
	unsigned period;	/* x^(8 * 2^k) repeats after so many k */
	uint64_t fold8[2];	/* x^(8*128+32), x^(8*128-32), each << 1 as the multiplier wants it */
	uint64_t fold4[2];
	uint64_t fold2[2];
	uint64_t fold1[2];
	uint64_t x64;
	uint64_t barrett[2];	/* P, floor(x^64 / P) */
	uint32_t fwd[32];	/* x^(8 * 2^k) */
	uint32_t bwd[32];	/* x^(-8 * 2^k) */
};

static const struct crc_poly crc32_poly = {
	.poly = 0xedb88320,
	.period = 32,
	.fold8 = { 0x1e88ef372, 0x14a7fe880 },
	.fold4 = { 0x154442bd4, 0x1c6e41596 },
	.fold2 = { 0x0f1da05aa, 0x15a546366 },
	.fold1 = { 0x1751997d0, 0x0ccaa009e },
	.x64 = 0x163cd6124,
	.barrett = { 0x1db710641, 0x1f7011641 },
	.fwd = {
		0x00800000, 0x00008000, 0xedb88320, 0xb1e6b092, 0xa06a2517, 0xed627dae,
		0x88d14467, 0xd7bbfe6a, 0xec447f11, 0x8e7ea170, 0x6427800e, 0x4d47bae0,
		0x09fe548f, 0x83852d0f, 0x30362f1a, 0x7b5a9cc3, 0x31fec169, 0x9fec022a,
		0x6c8dedc4, 0x15d6874d, 0x5fde7a4e, 0xbad90e37, 0x2e4e5eef, 0x4eaba214,
		0xa8a472c0, 0x429a969e, 0x148d302a, 0xc40ba6d0, 0xc4e22c3c, 0x40000000,
		0x20000000, 0x08000000,
	},
	.bwd = {
		0x6567cb95, 0xd7125358, 0x5b358fd3, 0x2e9bb40b, 0x12a59a49, 0x8df9403d,
		0x5139de12, 0xba340226, 0x29c45641, 0x12fbc105, 0xecd30c55, 0x3755ebd8,
		0x24ee460c, 0x23783fcf, 0x479933fc, 0xa39442a5, 0x9ea0056d, 0xf42608f6,
		0x20cacf04, 0x2a0cf83d, 0xeffd8645, 0x2a39a67d, 0x640ebd82, 0x9dfd8792,
		0x277402ab, 0xad31bc4f, 0x31536354, 0x5ea35fca, 0x52b55e39, 0xdb710641,
		0x6d930ac3, 0x6d3d2d4d,
	},
};

static const struct crc_poly crc32c_poly = {
	.poly = 0x82f63b78,
	.period = 31,
	.fold8 = { 0x06992cea2, 0x00d3b6092 },
	.fold4 = { 0x0740eef02, 0x09e4addf8 },
	.fold2 = { 0x1384aa63a, 0x0ba4fc28e },
	.fold1 = { 0x0f20c0dfe, 0x14cd00bd6 },
	.x64 = 0x0dd45aab8,
	.barrett = { 0x105ec76f1, 0x0dea713f1 },
	.fwd = {
		0x00800000, 0x00008000, 0x82f63b78, 0x6ea2d55c, 0x18b8ea18, 0x510ac59a,
		0xb82be955, 0xb8fdb1e7, 0x88e56f72, 0x74c360a4, 0xe4172b16, 0x0d65762a,
		0x35d73a62, 0x28461564, 0xbf455269, 0xe2ea32dc, 0xfe7740e6, 0xf946610b,
		0x3c204f8f, 0x538586e3, 0x59726915, 0x734d5309, 0xbc1ac763, 0x7d0722cc,
		0xd289cabe, 0xe94ca9bc, 0x05b74f3f, 0xa51e1f42, 0x40000000, 0x20000000,
		0x08000000, 0x00800000,
	},
	.bwd = {
		0xfde39562, 0xbef0965e, 0xd610d67e, 0xe67cce65, 0xa268b79e, 0x134fb088,
		0x32998d96, 0xcedac2cc, 0x70118575, 0x0e004a40, 0xa7864c8b, 0xbc7be916,
		0x10ba2894, 0x6077197b, 0x98448e4e, 0x8baf845d, 0xe93e07fc, 0xf58027d7,
		0x5e2b422d, 0x9db2851c, 0x9270ed25, 0x5984e7b3, 0x7af026f1, 0xe0f4116b,
		0xace8a6b0, 0x9e09f006, 0x6a60ea71, 0x4fd04875, 0x05ec76f1, 0x0bd8ede2,
		0x2f63b788, 0xfde39562,
	},
};

/* slice[k][b]: the state that byte b leaves k bytes later. */
typedef uint32_t crc_slices[8][256];
static crc_slices crc32_slices, crc32c_slices;

static uint64_t load_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint32_t sliced(crc_slices t, uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8) {
		uint64_t v = load_le64(p) ^ crc;

		crc = t[7][v & 255] ^ t[6][v >> 8 & 255] ^ t[5][v >> 16 & 255] ^
		      t[4][v >> 24 & 255] ^ t[3][v >> 32 & 255] ^ t[2][v >> 40 & 255] ^
		      t[1][v >> 48 & 255] ^ t[0][v >> 56];
	}
	while (len--)
		crc = crc >> 8 ^ t[0][(crc ^ *p++) & 255];
	return crc;
}

/* a * b mod P; bit 31 is x^0. */
static uint32_t multiply(uint32_t poly, uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t m = 0x80000000; m; m >>= 1) {
		product ^= b & -(uint32_t)!!(a & m);
		b = b >> 1 ^ (poly & -(b & 1));
	}
	return product;
}

#ifdef UT_CRC_X86
#define COPY_LEAST 512 /* bytes that are worth eight lanes */
#define FOLD_TARGET __attribute__((target("pclmul,sse4.1")))
#define FOLD_INLINE FOLD_TARGET __attribute__((always_inline)) static inline

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

/* 128 bits to 96 to 64, then Barrett: quotient by mu, times P, what is left is the state. */
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

/* acc holds the 16 bytes before p, of which there are 48 or more: four lanes, joined pairwise. */
FOLD_INLINE __m128i fold_lanes(const struct crc_poly *poly, __m128i acc, const uint8_t **p,
			       size_t *len)
{
	const __m128i k1 = load16((const uint8_t *)poly->fold1);
	const __m128i k2 = load16((const uint8_t *)poly->fold2);
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
	lane[2] = fold(lane[0], k2, lane[2]);
	lane[3] = fold(lane[1], k2, lane[3]);
	return fold(lane[2], k1, lane[3]);
}

FOLD_INLINE uint32_t fold_from(const struct crc_poly *poly, __m128i acc, const uint8_t *p,
			       size_t len)
{
	if (len >= 48)
		acc = fold_lanes(poly, acc, &p, &len);
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
		return sliced(crc32_slices, state, p, len);
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
__attribute__((target("sse4.2")))
static uint32_t crc32c_instruction(uint32_t state, const uint8_t *p, size_t len)
{
	uint64_t crc = state;

	for (; len >= 8; p += 8, len -= 8)
		crc = _mm_crc32_u64(crc, load_le64(p));
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

/* 16 bytes and more, the first 16 of them with what is set in `ones`. */
FOLD_TARGET static uint32_t crc32_or_folded(uint32_t state, const uint8_t ones[16], const uint8_t *p,
					    size_t len)
{
	__m128i acc = _mm_or_si128(load16(p), load16(ones));

	acc = _mm_xor_si128(acc, _mm_cvtsi32_si128((int)state));
	return fold_from(&crc32_poly, acc, p + 16, len - 16);
}

/* Eight lanes as in fold_wide(); the stores find room beside the multiplier, so that the copy is
 * for nothing, and what is summed up is what was stored even if the source changes meanwhile. */
FOLD_INLINE uint32_t copied(const struct crc_poly *poly, uint32_t state, uint8_t *to,
			    const uint8_t *p, size_t len)
{
	const __m128i k8 = load16((const uint8_t *)poly->fold8);
	const __m128i k4 = load16((const uint8_t *)poly->fold4);
	const __m128i k2 = load16((const uint8_t *)poly->fold2);
	const __m128i k1 = load16((const uint8_t *)poly->fold1);
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
	lane[6] = fold(lane[4], k2, lane[6]);
	lane[7] = fold(lane[5], k2, lane[7]);
	memcpy(to, p, len);
	return fold_rest(poly, fold(lane[6], k1, lane[7]), to, len);
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
#endif

static uint32_t multiply_portable(const struct crc_poly *poly, crc_slices t, uint32_t a, uint32_t b)
{
	(void)t;
	return multiply(poly->poly, a, b);
}

static uint32_t crc32_sliced(uint32_t state, const uint8_t *p, size_t len)
{
	return sliced(crc32_slices, state, p, len);
}

static uint32_t crc32c_sliced(uint32_t state, const uint8_t *p, size_t len)
{
	return sliced(crc32c_slices, state, p, len);
}

static uint32_t crc32_two_sliced(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	return crc32_sliced(crc32_sliced(~0u, a, alen), b, blen);
}

static uint32_t crc32_or_sliced(uint32_t state, const uint8_t ones[16], const uint8_t *p, size_t len)
{
	uint8_t head[16];

	for (int i = 0; i < 16; i++)
		head[i] = p[i] | ones[i];
	return crc32_sliced(crc32_sliced(state, head, 16), p + 16, len - 16);
}

static uint32_t crc32_copied_sliced(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	memcpy(to, p, len);
	return crc32_sliced(state, to, len);
}

static uint32_t crc32c_copied_sliced(uint32_t state, uint8_t *to, const uint8_t *p, size_t len)
{
	memcpy(to, p, len);
	return crc32c_sliced(state, to, len);
}

struct crc_ops {
	uint32_t (*crc32)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32c)(uint32_t state, const uint8_t *p, size_t len);
	uint32_t (*crc32_two)(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen);
	uint32_t (*crc32_or)(uint32_t state, const uint8_t ones[16], const uint8_t *p, size_t len);
	uint32_t (*crc32_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*crc32c_copy)(uint32_t state, uint8_t *to, const uint8_t *p, size_t len);
	uint32_t (*mul)(const struct crc_poly *poly, crc_slices t, uint32_t a, uint32_t b);
};

static const struct crc_ops portable_ops = {
	crc32_sliced, crc32c_sliced, crc32_two_sliced, crc32_or_sliced, crc32_copied_sliced,
	crc32c_copied_sliced, multiply_portable
};
static const struct crc_ops *crc_ops = &portable_ops;

#ifdef UT_CRC_X86
static const struct crc_ops fold_ops = {
	crc32_folded, crc32c_folded, crc32_two_folded, crc32_or_folded, crc32_copied,
	crc32c_copied, multiply_clmul
};
#endif

enum ut_crc_impl ut_crc_use(enum ut_crc_impl impl)
{
#ifdef UT_CRC_X86
	__builtin_cpu_init();
	if (impl == UT_CRC_FOLD && __builtin_cpu_supports("pclmul") &&
	    __builtin_cpu_supports("sse4.2")) {
		crc_ops = &fold_ops;
		return UT_CRC_FOLD;
	}
#endif
	(void)impl;
	crc_ops = &portable_ops;
	return UT_CRC_PORTABLE;
}

static void fill_slices(crc_slices t, uint32_t poly)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t v = b;

		for (int bit = 0; bit < 8; bit++)
			v = v >> 1 ^ (poly & -(v & 1));
		t[0][b] = v;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			t[k][b] = t[k - 1][b] >> 8 ^ t[0][t[k - 1][b] & 255];
}

/* Before any thread of ours can exist, so that no call pays for a check. */
__attribute__((constructor(101))) static void crc_init(void)
{
	fill_slices(crc32_slices, crc32_poly.poly);
	fill_slices(crc32c_slices, crc32c_poly.poly);
	ut_crc_use(UT_CRC_FOLD);
}

uint32_t ut_crc32(uint32_t crc, const void *data, size_t len)
{
	return ~crc_ops->crc32(~crc, data, len);
}

uint32_t ut_crc32c(uint32_t crc, const void *data, size_t len)
{
	return ~crc_ops->crc32c(~crc, data, len);
}

uint32_t ut_crc32_copy(uint32_t crc, void *to, const void *from, size_t len)
{
	return ~crc_ops->crc32_copy(~crc, to, from, len);
}

uint32_t ut_crc32c_copy(uint32_t crc, void *to, const void *from, size_t len)
{
	return ~crc_ops->crc32c_copy(~crc, to, from, len);
}

uint32_t ut_crc32_two(const void *a, size_t alen, const void *b, size_t blen)
{
	return ~crc_ops->crc32_two(a, alen, b, blen);
}

uint32_t ut_crc32_or(uint32_t crc, const uint8_t ones[16], const void *data, size_t len)
{
	return ~crc_ops->crc32_or(~crc, ones, data, len);
}

/* powers[k] = x^(+-8 * 2^k): one product per set bit of n. */
static uint32_t shifted(const struct crc_poly *poly, crc_slices t, const uint32_t *powers,
			uint32_t diff, uint64_t n)
{
	for (unsigned k = 0; n; n >>= 1, k = k + 1 == poly->period ? 0 : k + 1)
		if (n & 1)
			diff = crc_ops->mul(poly, t, diff, powers[k]);
	return diff;
}

uint32_t ut_crc32_advance(uint32_t diff, uint64_t n)
{
	return shifted(&crc32_poly, crc32_slices, crc32_poly.fwd, diff, n);
}

uint32_t ut_crc32_retreat(uint32_t diff, uint64_t n)
{
	return shifted(&crc32_poly, crc32_slices, crc32_poly.bwd, diff, n);
}

uint32_t ut_crc32c_advance(uint32_t diff, uint64_t n)
{
	return shifted(&crc32c_poly, crc32c_slices, crc32c_poly.fwd, diff, n);
}

uint32_t ut_crc32c_retreat(uint32_t diff, uint64_t n)
{
	return shifted(&crc32c_poly, crc32c_slices, crc32c_poly.bwd, diff, n);
}

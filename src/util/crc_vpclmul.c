/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 256 bytes a turn in four registers, whose eight products take as long as one of them has to wait
 * for its last.
 */
#include "util/crc_vpclmul.h"

#ifdef UT_CRC_X86
#define FOLD_TARGET __attribute__((target("pclmul,sse4.2,avx512f,avx512vl,avx512bw,vpclmulqdq")))
#include "util/crc_fold.h"

enum { LINE = 64, TURN = 4 * LINE, BLOCK = 4096 };

FOLD_INLINE __m512i load_line(const uint8_t *p)
{
	return _mm512_loadu_si512((const void *)p);
}

/* One multiplier for all four lanes. */
FOLD_INLINE __m512i spread(const uint64_t k[2])
{
	return _mm512_broadcast_i32x4(load16((const uint8_t *)k));
}

FOLD_INLINE __m512i fold_line(__m512i acc, __m512i k, __m512i next)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(acc, k, 0x00),
					 _mm512_clmulepi64_epi128(acc, k, 0x11), next, 0x96);
}

/* Four lines that follow each other, made one. */
FOLD_INLINE __m512i join_lines(const struct crc_poly *poly, const __m512i line[4])
{
	const __m512i k4 = spread(poly->fold4), k8 = spread(poly->fold8);

	return fold_line(fold_line(line[0], k8, line[2]), k4, fold_line(line[1], k8, line[3]));
}

FOLD_INLINE __m128i join_line(const struct crc_poly *poly, __m512i line)
{
	__m128i lane[4] = {
		_mm512_extracti32x4_epi32(line, 0), _mm512_extracti32x4_epi32(line, 1),
		_mm512_extracti32x4_epi32(line, 2), _mm512_extracti32x4_epi32(line, 3),
	};

	return join_lanes(poly, lane);
}

/* The line before *p, and a turn or more behind it. */
FOLD_INLINE __m512i fold_turns(const struct crc_poly *poly, __m512i line0, const uint8_t **p,
			       size_t *len)
{
	const __m512i k16 = spread(poly->fold16);
	__m512i line[4] = { line0, load_line(*p), load_line(*p + LINE), load_line(*p + 2 * LINE) };

	*p += TURN - LINE;
	*len -= TURN - LINE;
	for (; *len >= TURN; *p += TURN, *len -= TURN) {
#pragma GCC unroll 4
		for (int i = 0; i < 4; i++)
			line[i] = fold_line(line[i], k16, load_line(*p + LINE * i));
	}
	return join_lines(poly, line);
}

FOLD_INLINE __m128i fold_bulk(const struct crc_poly *poly, __m128i acc, const uint8_t **p, size_t *len)
{
	const __m512i k4 = spread(poly->fold4);
	/* acc, and the 48 bytes behind it. */
	__m512i line = _mm512_inserti32x4(_mm512_maskz_loadu_epi64(0xfc, *p - 16), acc, 0);

	*p += LINE - 16;
	*len -= LINE - 16;
	if (*len >= TURN)
		line = fold_turns(poly, line, p, len);
	for (; *len >= LINE; *p += LINE, *len -= LINE)
		line = fold_line(line, k4, load_line(*p));
	return join_line(poly, line);
}

/*
 * Block by block: a block that stays in the first-level cache is read again at little cost, and libc's
 * copy overwrites cache lines without reading them first, which stores between the products do not.
 * The first block is shorter, so that the others are aligned and whole lines are read.
 */
FOLD_INLINE uint32_t copied(const struct crc_poly *poly, uint32_t state, uint8_t *to,
			    const uint8_t *p, size_t len)
{
	size_t n = len < 2 * BLOCK ? len : BLOCK - (uintptr_t)to % LINE;

	for (; len; to += n, p += n, len -= n, n = len < 2 * BLOCK ? len : BLOCK) {
		memmove(to, p, n); /* memcpy() becomes string instructions, slow when unaligned */
		state = fold_message(poly, state, to, n);
	}
	return state;
}

const struct crc_ops crc_vpclmul_ops = FOLD_OPS(true);
#endif

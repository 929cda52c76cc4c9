/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The 32-bit CRCs of the wire: CRC-32 (Ethernet; the ICRC of IBTA) and CRC-32C (iSCSI; MPA).
 *
 * Calls chain as in zlib: the first one gets 0, each later one the result of the one before. A CRC is
 * affine, so the *difference* of two CRCs of equally long data is linear: multiplication with x^(-8n)
 * carries it back over n bytes.
 */
#ifndef UT_CRC_H
#define UT_CRC_H

#include "util/crc_ops.h"

#include <stddef.h>
#include <stdint.h>

/* The best implementation that the processor has; chosen before the first thread of the library starts. */
extern const struct crc_ops *ut_crc_ops;

static inline uint32_t ut_crc32(uint32_t crc, const void *data, size_t len)
{
	return ~ut_crc_ops->crc32(~crc, data, len);
}

static inline uint32_t ut_crc32c(uint32_t crc, const void *data, size_t len)
{
	return ~ut_crc_ops->crc32c(~crc, data, len);
}

/* Copies, and returns ut_crc32(), ut_crc32c() of the copy: one pass, each byte read once. */
static inline uint32_t ut_crc32_copy(uint32_t crc, void *to, const void *from, size_t len)
{
	return ~ut_crc_ops->crc32_copy(~crc, to, from, len);
}

static inline uint32_t ut_crc32c_copy(uint32_t crc, void *to, const void *from, size_t len)
{
	return ~ut_crc_ops->crc32c_copy(~crc, to, from, len);
}

/* Returns true if the caller may as well copy, and then compute the CRC of the copy together with what lies around it. */
static inline bool ut_crc_copies_first(void)
{
	return ut_crc_ops->copies_first;
}

/* CRC-32 of a || b in one pass: for the ICRC, of a pseudo header and then the packet. */
static inline uint32_t ut_crc32_two(const void *a, size_t alen, const void *b, size_t blen)
{
	return ~ut_crc_ops->crc32_two(a, alen, b, blen);
}

/* As ut_crc32(); len is 16 or more, and in the first 16 bytes the bits of `ones` count as set. */
static inline uint32_t ut_crc32_or(uint32_t crc, const uint8_t ones[16], const void *data, size_t len)
{
	return ~ut_crc_ops->crc32_or(~crc, ones, data, len);
}

/* The difference of two CRC-32s as it was n bytes earlier, if those bytes are equal. */
uint32_t ut_crc32_retreat(uint32_t diff, uint64_t n);

/* By folding: in one lane of the multiplier, two, four. */
enum ut_crc_impl { UT_CRC_PORTABLE, UT_CRC_FOLD, UT_CRC_FOLD_TWO, UT_CRC_FOLD_WIDE };

/*
 * For tests and benchmarks of each implementation: switches the whole process. Returns the
 * implementation that is now in use, a lesser one if the processor lacks the one asked for. No other
 * thread may compute a CRC meanwhile.
 */
enum ut_crc_impl ut_crc_use(enum ut_crc_impl impl);

#endif

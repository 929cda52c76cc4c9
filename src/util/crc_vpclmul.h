/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CRC with a multiplier of several 128-bit lanes (VPCLMULQDQ): of four (512 bits, since 2019), or of two (256 bits). */
#ifndef UT_CRC_VPCLMUL_H
#define UT_CRC_VPCLMUL_H

#include "util/crc_ops.h"

#ifdef UT_CRC_X86
extern const struct crc_ops crc_vpclmul_ops, crc_vpclmul_two_ops;
#endif

#endif

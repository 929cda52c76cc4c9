/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* CRC with a multiplier of one 128-bit lane (PCLMULQDQ, since 2010). */
#ifndef UT_CRC_PCLMUL_H
#define UT_CRC_PCLMUL_H

#include "util/crc_ops.h"

#ifdef UT_CRC_X86
extern const struct crc_ops crc_pclmul_ops;
#endif

#endif

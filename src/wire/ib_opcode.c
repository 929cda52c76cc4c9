/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The message table, expanded per class into 256 shapes. */
#include "wire/ib_opcode.h"

_Static_assert(sizeof(struct wire_ib_shape) == 16, "four shapes to a cache line");

/* Words of the table's columns. */
#define WIRE_H_NONE 0
#define WIRE_H_RETH_ImmDt (WIRE_H_RETH | WIRE_H_ImmDt)
#define WIRE_H_AETH_AtomicAckETH (WIRE_H_AETH | WIRE_H_AtomicAckETH)
#define WIRE_F_NONE 0

/* Headers of a class between BTH and the headers of the message, and QP types that receive it. */
#define CLASS_HDRS_RC_REQ 0
#define CLASS_HDRS_RC_RSP 0
#define CLASS_HDRS_UC_REQ 0
#define CLASS_HDRS_RD_REQ (WIRE_H_RDETH | WIRE_H_DETH)
#define CLASS_HDRS_RD_RSP WIRE_H_RDETH
#define CLASS_HDRS_UD_REQ WIRE_H_DETH
#define CLASS_HDRS_XRC_REQ WIRE_H_XRCETH
#define CLASS_HDRS_XRC_RSP 0
#define CLASS_HDRS_CNP_REQ WIRE_H_CNP

#define QPT_RC_REQ WIRE_QPT_RC
#define QPT_RC_RSP WIRE_QPT_RC
#define QPT_UC_REQ WIRE_QPT_UC
#define QPT_RD_REQ WIRE_QPT_RD
#define QPT_RD_RSP WIRE_QPT_RD
#define QPT_UD_REQ WIRE_QPT_UD
#define QPT_XRC_REQ WIRE_QPT_XRC_TGT
#define QPT_XRC_RSP WIRE_QPT_XRC_INI
#define QPT_CNP_REQ WIRE_QPT_ANY

#define LEN(set, name) ((set) & WIRE_H_##name ? WIRE_##name##_LEN : 0)
#define HDR_LEN(set)                                                                           \
	(WIRE_BTH_LEN + LEN(set, RDETH) + LEN(set, DETH) + LEN(set, XRCETH) + LEN(set, RETH) + \
	 LEN(set, AtomicETH) + LEN(set, AETH) + LEN(set, AtomicAckETH) + LEN(set, ImmDt) +     \
	 LEN(set, IETH) + LEN(set, CNP))

const struct wire_ib_shape wire_ib_shapes[256] = {
#define M(c, low, message, h, dir, place, op, data, extra)                                     \
	[WIRE_##c##_##message] = {                                                             \
		.name = #c "_" #message,                                                       \
		.hdrs = CLASS_HDRS_##c##_##dir | WIRE_H_##h,                                          \
		.flags = WIRE_F_##dir | WIRE_F_##place | WIRE_F_##op | WIRE_F_##data |         \
			 WIRE_F_##extra,                                                       \
		.hdr_len = HDR_LEN(CLASS_HDRS_##c##_##dir | WIRE_H_##h),                              \
		.cls = WIRE_CLASS_##c,                                                         \
		.qp_types = QPT_##c##_##dir,                                                   \
	},
	WIRE_IB_OPCODES(M)
#undef M
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RDMAP opcode -> shape: buffer model, queue, length behind the DDP header, kind of message. */
#ifndef WIRE_IWARP_OPCODE_H
#define WIRE_IWARP_OPCODE_H

#include "wire/iwarp_fields.h"

enum {
	WIRE_IWF_TAGGED  = 1 << 0,
	WIRE_IWF_PAYLOAD = 1 << 1,	/* ULP data of any length */
	WIRE_IWF_SE      = 1 << 2,
	WIRE_IWF_INV     = 1 << 3,
	WIRE_IWF_RECV    = 1 << 4,	/* takes a receive */
	WIRE_IWF_NONE    = 0,
};

#define WIRE_IW_VARIES 0xff

/*
 * RFC 5040 table 2 and figure 3; RFC 7306 section 3.
 * Columns: opcode, name, QN, length behind the DDP header (VARIES, or of the header named), flags.
 */
#define WIRE_IWARP_OPCODES(M)                                                                  \
	M(0x0, RDMA_WRITE,         0, WIRE_IW_VARIES,           TAGGED, PAYLOAD, NONE, NONE)   \
	M(0x1, READ_REQUEST,       1, WIRE_ReadRequest_LEN,     NONE,   NONE,    NONE, NONE)   \
	M(0x2, READ_RESPONSE,      0, WIRE_IW_VARIES,           TAGGED, PAYLOAD, NONE, NONE)   \
	M(0x3, SEND,               0, WIRE_IW_VARIES,           RECV,   PAYLOAD, NONE, NONE)   \
	M(0x4, SEND_INVALIDATE,    0, WIRE_IW_VARIES,           RECV,   PAYLOAD, NONE, INV)    \
	M(0x5, SEND_SE,            0, WIRE_IW_VARIES,           RECV,   PAYLOAD, SE,   NONE)   \
	M(0x6, SEND_SE_INVALIDATE, 0, WIRE_IW_VARIES,           RECV,   PAYLOAD, SE,   INV)    \
	M(0x7, TERMINATE,          2, WIRE_IW_VARIES,           NONE,   NONE,    NONE, NONE)   \
	M(0x8, IMMEDIATE,          0, WIRE_Immediate_LEN,       RECV,   NONE,    NONE, NONE)   \
	M(0x9, IMMEDIATE_SE,       0, WIRE_Immediate_LEN,       RECV,   NONE,    SE,   NONE)   \
	M(0xa, ATOMIC_REQUEST,     1, WIRE_AtomicRequest_LEN,   NONE,   NONE,    NONE, NONE)   \
	M(0xb, ATOMIC_RESPONSE,    3, WIRE_AtomicResponse_LEN,  NONE,   NONE,    NONE, NONE)

enum wire_iwarp_opcode {
#define M(op, name, qn, len, a, b, c, d) WIRE_IW_##name = op,
	WIRE_IWARP_OPCODES(M)
#undef M
};

/* AOpCode, RFC 7306 5.2.1. */
enum { WIRE_AOP_FETCH_ADD = 0, WIRE_AOP_CMP_SWAP = 2 };

struct wire_iwarp_shape {
	const char *name;	/* NULL: no such opcode */
	uint8_t qn;
	uint8_t len;		/* behind the DDP header, or WIRE_IW_VARIES */
	uint8_t flags;		/* WIRE_IWF_ */
};

extern const struct wire_iwarp_shape wire_iwarp_shapes[16];

static inline const struct wire_iwarp_shape *wire_iwarp_shape(unsigned opcode)
{
	return &wire_iwarp_shapes[opcode & 15];
}

#endif

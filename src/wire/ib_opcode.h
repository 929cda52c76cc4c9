/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opcode -> shape: headers, their length, kind of message, QP types (IBTA vol 1, 9.2.1, table 38;
 * annexes A14 and A17).
 *
 * The upper three bits of an opcode are the transport class, the lower five the message. The table
 * of messages stands here once; the classes differ in the headers before those of the message.
 */
#ifndef WIRE_IB_OPCODE_H
#define WIRE_IB_OPCODE_H

#include <stdint.h>

#include "wire/ib_fields.h"

enum wire_class {
	WIRE_CLASS_RC  = 0x00,
	WIRE_CLASS_UC  = 0x20,
	WIRE_CLASS_RD  = 0x40,
	WIRE_CLASS_UD  = 0x60,
	WIRE_CLASS_CNP = 0x80,
	WIRE_CLASS_XRC = 0xa0,
};

/* Headers as a set; their bit order is their order on the wire. */
enum {
#define H(name, length, source) WIRE_H_##name = 1u << WIRE_HDR_##name,
	WIRE_IB_HEADERS(H)
#undef H
};

/* QP types that may receive an opcode. A GSI QP counts as UD. */
enum {
	WIRE_QPT_RC      = 1 << 0,
	WIRE_QPT_UC      = 1 << 1,
	WIRE_QPT_UD      = 1 << 2,
	WIRE_QPT_RD      = 1 << 3,
	WIRE_QPT_XRC_INI = 1 << 4,
	WIRE_QPT_XRC_TGT = 1 << 5,
	WIRE_QPT_ANY     = 0x3f,
};

enum {
	WIRE_F_REQ     = 1 << 0,
	WIRE_F_RSP     = 1 << 1,
	WIRE_F_FIRST   = 1 << 2,
	WIRE_F_MIDDLE  = 1 << 3,
	WIRE_F_LAST    = 1 << 4,
	WIRE_F_ONLY    = 1 << 5,
	WIRE_F_SEND    = 1 << 6,
	WIRE_F_WRITE   = 1 << 7,
	WIRE_F_READ    = 1 << 8,
	WIRE_F_ATOMIC  = 1 << 9,
	WIRE_F_ACK     = 1 << 10,
	WIRE_F_IMM     = 1 << 11,
	WIRE_F_INV     = 1 << 12,
	WIRE_F_PAYLOAD = 1 << 13,	/* may carry data */

	WIRE_F_START   = WIRE_F_FIRST | WIRE_F_ONLY,
	WIRE_F_END     = WIRE_F_LAST | WIRE_F_ONLY,
};

/* Columns: class, low 5 bits, name, headers behind those of the class, flags (WIRE_F_). */
#define WIRE_MESSAGES_SEND_WRITE(M, C)                                                         \
	M(C, 0x00, SEND_FIRST,                     NONE,      REQ, FIRST,  SEND,  PAYLOAD, NONE) \
	M(C, 0x01, SEND_MIDDLE,                    NONE,      REQ, MIDDLE, SEND,  PAYLOAD, NONE) \
	M(C, 0x02, SEND_LAST,                      NONE,      REQ, LAST,   SEND,  PAYLOAD, NONE) \
	M(C, 0x03, SEND_LAST_WITH_IMMEDIATE,       ImmDt,     REQ, LAST,   SEND,  PAYLOAD, IMM)  \
	M(C, 0x04, SEND_ONLY,                      NONE,      REQ, ONLY,   SEND,  PAYLOAD, NONE) \
	M(C, 0x05, SEND_ONLY_WITH_IMMEDIATE,       ImmDt,     REQ, ONLY,   SEND,  PAYLOAD, IMM)  \
	M(C, 0x06, RDMA_WRITE_FIRST,               RETH,      REQ, FIRST,  WRITE, PAYLOAD, NONE) \
	M(C, 0x07, RDMA_WRITE_MIDDLE,              NONE,      REQ, MIDDLE, WRITE, PAYLOAD, NONE) \
	M(C, 0x08, RDMA_WRITE_LAST,                NONE,      REQ, LAST,   WRITE, PAYLOAD, NONE) \
	M(C, 0x09, RDMA_WRITE_LAST_WITH_IMMEDIATE, ImmDt,     REQ, LAST,   WRITE, PAYLOAD, IMM)  \
	M(C, 0x0a, RDMA_WRITE_ONLY,                RETH,      REQ, ONLY,   WRITE, PAYLOAD, NONE) \
	M(C, 0x0b, RDMA_WRITE_ONLY_WITH_IMMEDIATE, RETH_ImmDt, REQ, ONLY,  WRITE, PAYLOAD, IMM)

#define WIRE_MESSAGES_READ_ATOMIC(M, C)                                                        \
	M(C, 0x0c, RDMA_READ_REQUEST,              RETH,      REQ, ONLY,   READ,   NONE,    NONE) \
	M(C, 0x0d, RDMA_READ_RESPONSE_FIRST,       AETH,      RSP, FIRST,  READ,   PAYLOAD, NONE) \
	M(C, 0x0e, RDMA_READ_RESPONSE_MIDDLE,      NONE,      RSP, MIDDLE, READ,   PAYLOAD, NONE) \
	M(C, 0x0f, RDMA_READ_RESPONSE_LAST,        AETH,      RSP, LAST,   READ,   PAYLOAD, NONE) \
	M(C, 0x10, RDMA_READ_RESPONSE_ONLY,        AETH,      RSP, ONLY,   READ,   PAYLOAD, NONE) \
	M(C, 0x11, ACKNOWLEDGE,                    AETH,      RSP, ONLY,   ACK,    NONE,    NONE) \
	M(C, 0x12, ATOMIC_ACKNOWLEDGE,             AETH_AtomicAckETH, RSP, ONLY, ATOMIC, NONE, ACK) \
	M(C, 0x13, COMPARE_SWAP,                   AtomicETH, REQ, ONLY,   ATOMIC, NONE,    NONE) \
	M(C, 0x14, FETCH_ADD,                      AtomicETH, REQ, ONLY,   ATOMIC, NONE,    NONE)

#define WIRE_MESSAGES_INVALIDATE(M, C)                                                         \
	M(C, 0x16, SEND_LAST_WITH_INVALIDATE,      IETH,      REQ, LAST,   SEND,  PAYLOAD, INV)  \
	M(C, 0x17, SEND_ONLY_WITH_INVALIDATE,      IETH,      REQ, ONLY,   SEND,  PAYLOAD, INV)

#define WIRE_MESSAGES_DATAGRAM(M, C)                                                           \
	M(C, 0x04, SEND_ONLY,                      NONE,      REQ, ONLY,   SEND,  PAYLOAD, NONE) \
	M(C, 0x05, SEND_ONLY_WITH_IMMEDIATE,       ImmDt,     REQ, ONLY,   SEND,  PAYLOAD, IMM)

/*
 * The messages of each class. 0x81 is the RoCEv2 congestion notification; 0x80, a bare BTH, exists
 * on InfiniBand links only and is unknown here.
 */
#define WIRE_IB_OPCODES(M)                                                                     \
	WIRE_MESSAGES_SEND_WRITE(M, RC)                                                        \
	WIRE_MESSAGES_READ_ATOMIC(M, RC)                                                       \
	WIRE_MESSAGES_INVALIDATE(M, RC)                                                        \
	WIRE_MESSAGES_SEND_WRITE(M, UC)                                                        \
	WIRE_MESSAGES_SEND_WRITE(M, RD)                                                        \
	WIRE_MESSAGES_READ_ATOMIC(M, RD)                                                       \
	WIRE_MESSAGES_DATAGRAM(M, UD)                                                          \
	WIRE_MESSAGES_SEND_WRITE(M, XRC)                                                       \
	WIRE_MESSAGES_READ_ATOMIC(M, XRC)                                                      \
	WIRE_MESSAGES_INVALIDATE(M, XRC)                                                       \
	M(CNP, 0x01, NOTIFICATION, NONE, REQ, ONLY, NONE, NONE, NONE)

/*
 * The low five bits of an opcode, for code that serves all classes: an opcode is class | message.
 */
enum wire_ib_message {
#define M(cls, low, name, hdrs, dir, place, op, data, extra) WIRE_MSG_##name = (low),
	WIRE_MESSAGES_SEND_WRITE(M, )
	WIRE_MESSAGES_READ_ATOMIC(M, )
	WIRE_MESSAGES_INVALIDATE(M, )
#undef M
};

static inline enum wire_ib_message wire_ib_message(uint8_t opcode)
{
	return (enum wire_ib_message)(opcode & 0x1f);
}

enum wire_ib_opcode {
#define M(cls, low, name, hdrs, dir, place, op, data, extra) \
	WIRE_##cls##_##name = WIRE_CLASS_##cls | (low),
	WIRE_IB_OPCODES(M)
#undef M
};

struct wire_ib_shape {
	const char *name;	/* NULL: no such opcode */
	uint16_t hdrs;		/* WIRE_H_, without BTH */
	uint16_t flags;		/* WIRE_F_ */
	uint8_t hdr_len;	/* BTH and hdrs; 0: no such opcode */
	uint8_t cls;		/* enum wire_class */
	uint8_t qp_types;	/* WIRE_QPT_ that may receive it */
};

extern const struct wire_ib_shape wire_ib_shapes[256];

static inline const struct wire_ib_shape *wire_ib_shape(uint8_t opcode)
{
	return &wire_ib_shapes[opcode];
}

#endif

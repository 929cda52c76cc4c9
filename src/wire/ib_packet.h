/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A transport packet, between bytes and a plain struct in host order.
 *
 * Packet = BTH, extended headers, payload, pad, ICRC; that is the UDP payload in RoCEv2. The
 * shape (by opcode) says which fields have a meaning; the parser does not write the others, and the
 * builder does not read them, so neither spends time on them.
 */
#ifndef WIRE_IB_PACKET_H
#define WIRE_IB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ib_opcode.h"

/* Reasons to drop a packet before its QP is looked up. Rows: name, sentence. */
#define WIRE_DROPS(D)                                                                          \
	D(ICRC,   "invariant CRC does not match")                                              \
	D(SHORT,  "shorter than a base transport header and a CRC")                            \
	D(TVER,   "transport version is not 0")                                                \
	D(OPCODE, "opcode unknown")                                                            \
	D(LENGTH, "shorter than its headers, pad and CRC")                                     \
	D(LRH,    "shorter than a local route header")                                         \
	D(LVER,   "link version is not 0")                                                     \
	D(LNH,    "next header is not an IBA transport")                                       \
	D(PKTLEN, "packet length of the local route header is wrong")                          \
	D(GRH,    "global route header is short, not version 6, or before no IBA transport")     \
	D(VCRC,   "variant CRC does not match")

enum wire_drop {
	WIRE_OK,
#define D(name, sentence) WIRE_DROP_##name,
	WIRE_DROPS(D)
#undef D
	WIRE_NR_DROPS
};

struct wire_ib_packet {
	const struct wire_ib_shape *shape;	/* set by the parser */
	const uint8_t *payload;			/* of payload_len bytes; then pad, then icrc */
	const uint8_t *icrc;
	uint64_t va;				/* RETH, AtomicETH */
	union {
		uint64_t swap_add;		/* AtomicETH */
		uint64_t orig;			/* AtomicAckETH */
	};
	uint64_t compare;			/* AtomicETH */
	uint32_t payload_len;
	uint32_t dest_qpn;
	uint32_t psn;
	uint32_t rkey;				/* RETH, AtomicETH */
	union {
		uint32_t dma_len;		/* RETH */
		uint32_t msn;			/* AETH */
	};
	uint32_t qkey;				/* DETH */
	uint32_t src_qpn;			/* DETH */
	union {
		uint32_t srqn;			/* XRCETH */
		uint32_t eecn;			/* RDETH */
	};
	union {
		uint32_t imm;			/* ImmDt: the four bytes as they are on the wire */
		uint32_t inv_rkey;		/* IETH */
	};
	uint16_t pkey;
	uint8_t opcode;
	uint8_t pad;
	uint8_t tver;
	uint8_t syndrome;			/* AETH */
	bool se;
	bool migreq;
	bool fecn;
	bool becn;
	bool ack_req;
};

/*
 * Reads buf[0 .. len), no byte beyond. Returns 0, or an enum wire_drop, after which *ret is undefined.
 * Not checked: the ICRC, and whether an opcode without payload has a pad.
 */
int wire_ib_parse(const uint8_t *buf, size_t len, struct wire_ib_packet *ret);

/*
 * Writes BTH and extended headers for p->opcode (at most WIRE_IB_HDRS_MAX bytes) with every
 * reserved bit 0. Returns their length, 0 if there is no such opcode. The caller adds payload, p->pad
 * bytes of zero and ICRC. Values are cut to the width of their field.
 */
size_t wire_ib_build(uint8_t *buf, const struct wire_ib_packet *p);

/* Returns the sentence of a drop, "" for WIRE_OK and for numbers that are no drop. */
const char *wire_drop_text(int drop);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * InfiniBand transport headers, the LRH and GRH below them on InfiniBand links, and the IP and UDP
 * headers below them in RoCEv2, field by field.
 *
 * Fields named rsvN are reserved: sent as zero, ignored on receipt. The rows have the order of the
 * specification's table, which the list of headers below names.
 */
#ifndef WIRE_IB_FIELDS_H
#define WIRE_IB_FIELDS_H

#include "wire/field.h"

/*	header, length, source. The order of BTH .. CNP is their order on the wire. */
#define WIRE_IB_HEADERS(H)                                                                     \
	H(BTH,          12, "IBTA vol 1, 9.2")                                                 \
	H(RDETH,         4, "IBTA vol 1, 9.3.1")                                               \
	H(DETH,          8, "IBTA vol 1, 9.3.2")                                               \
	H(XRCETH,        4, "IBTA annex A14")                                                  \
	H(RETH,         16, "IBTA vol 1, 9.3.3")                                               \
	H(AtomicETH,    28, "IBTA vol 1, 9.3.4")                                               \
	H(AETH,          4, "IBTA vol 1, 9.3.5")                                               \
	H(AtomicAckETH,  8, "IBTA vol 1, 9.5.3")                                               \
	H(ImmDt,         4, "IBTA vol 1, 9.3.6")                                               \
	H(IETH,          4, "IBTA vol 1, 9.3.7")                                               \
	H(CNP,          16, "IBTA annex A17, 9.3")                                             \
	H(LRH,           8, "IBTA vol 1, 7.7")                                                 \
	H(GRH,          40, "IBTA vol 1, 8.3")                                                 \
	H(IPv4,         20, "RFC 791, 3.1")                                                    \
	H(IPv6,         40, "RFC 8200, 3")                                                     \
	H(UDP,           8, "RFC 768")

/*	header field         byte bit width */
#define WIRE_BTH_FIELDS(F, B)                                                                  \
	F(BTH, opcode,          0, 0,  8)                                                      \
	F(BTH, se,              1, 0,  1)                                                      \
	F(BTH, migreq,          1, 1,  1)                                                      \
	F(BTH, pad,             1, 2,  2)                                                      \
	F(BTH, tver,            1, 4,  4)                                                      \
	F(BTH, pkey,            2, 0, 16)                                                      \
	F(BTH, fecn,            4, 0,  1)                                                      \
	F(BTH, becn,            4, 1,  1)                                                      \
	F(BTH, rsv6,            4, 2,  6)                                                      \
	F(BTH, dest_qpn,        5, 0, 24)                                                      \
	F(BTH, ack_req,         8, 0,  1)                                                      \
	F(BTH, rsv7,            8, 1,  7)                                                      \
	F(BTH, psn,             9, 0, 24)

#define WIRE_RDETH_FIELDS(F, B)                                                                \
	F(RDETH, rsv8,          0, 0,  8)                                                      \
	F(RDETH, eecn,          1, 0, 24)

#define WIRE_DETH_FIELDS(F, B)                                                                 \
	F(DETH, qkey,           0, 0, 32)                                                      \
	F(DETH, rsv8,           4, 0,  8)                                                      \
	F(DETH, src_qpn,        5, 0, 24)

#define WIRE_XRCETH_FIELDS(F, B)                                                               \
	F(XRCETH, rsv8,         0, 0,  8)                                                      \
	F(XRCETH, srqn,         1, 0, 24)

#define WIRE_RETH_FIELDS(F, B)                                                                 \
	F(RETH, va,             0, 0, 64)                                                      \
	F(RETH, rkey,           8, 0, 32)                                                      \
	F(RETH, dma_len,       12, 0, 32)

#define WIRE_AtomicETH_FIELDS(F, B)                                                            \
	F(AtomicETH, va,        0, 0, 64)                                                      \
	F(AtomicETH, rkey,      8, 0, 32)                                                      \
	F(AtomicETH, swap_add, 12, 0, 64)                                                      \
	F(AtomicETH, compare,  20, 0, 64)

#define WIRE_AETH_FIELDS(F, B)                                                                 \
	F(AETH, syndrome,       0, 0,  8)                                                      \
	F(AETH, msn,            1, 0, 24)

#define WIRE_AtomicAckETH_FIELDS(F, B)                                                         \
	F(AtomicAckETH, orig,   0, 0, 64)

#define WIRE_ImmDt_FIELDS(F, B)                                                                \
	F(ImmDt, imm,           0, 0, 32)

#define WIRE_IETH_FIELDS(F, B)                                                                 \
	F(IETH, inv_rkey,       0, 0, 32)

#define WIRE_CNP_FIELDS(F, B)                                                                  \
	B(CNP, rsv128,          0, 16)

#define WIRE_LRH_FIELDS(F, B)                                                                  \
	F(LRH, vl,              0, 0,  4)                                                      \
	F(LRH, lver,            0, 4,  4)                                                      \
	F(LRH, sl,              1, 0,  4)                                                      \
	F(LRH, rsv2,            1, 4,  2)                                                      \
	F(LRH, lnh,             1, 6,  2)                                                      \
	F(LRH, dlid,            2, 0, 16)                                                      \
	F(LRH, rsv5,            4, 0,  5)                                                      \
	F(LRH, pkt_len,         4, 5, 11)                                                      \
	F(LRH, slid,            6, 0, 16)

#define WIRE_GRH_FIELDS(F, B)                                                                  \
	F(GRH, ipver,           0, 0,  4)                                                      \
	F(GRH, tclass,          0, 4,  8)                                                      \
	F(GRH, flow_label,      1, 4, 20)                                                      \
	F(GRH, pay_len,         4, 0, 16)                                                      \
	F(GRH, nxt_hdr,         6, 0,  8)                                                      \
	F(GRH, hop_lmt,         7, 0,  8)                                                      \
	B(GRH, sgid,            8, 16)                                                         \
	B(GRH, dgid,           24, 16)

#define WIRE_IPv4_FIELDS(F, B)                                                                 \
	F(IPv4, version,        0, 0,  4)                                                      \
	F(IPv4, ihl,            0, 4,  4)                                                      \
	F(IPv4, tos,            1, 0,  8)                                                      \
	F(IPv4, total_len,      2, 0, 16)                                                      \
	F(IPv4, id,             4, 0, 16)                                                      \
	F(IPv4, rsv1,           6, 0,  1)                                                      \
	F(IPv4, df,             6, 1,  1)                                                      \
	F(IPv4, mf,             6, 2,  1)                                                      \
	F(IPv4, frag_off,       6, 3, 13)                                                      \
	F(IPv4, ttl,            8, 0,  8)                                                      \
	F(IPv4, protocol,       9, 0,  8)                                                      \
	F(IPv4, checksum,      10, 0, 16)                                                      \
	B(IPv4, src,           12, 4)                                                          \
	B(IPv4, dst,           16, 4)

#define WIRE_IPv6_FIELDS(F, B)                                                                 \
	F(IPv6, version,        0, 0,  4)                                                      \
	F(IPv6, tclass,         0, 4,  8)                                                      \
	F(IPv6, flow_label,     1, 4, 20)                                                      \
	F(IPv6, pay_len,        4, 0, 16)                                                      \
	F(IPv6, nxt_hdr,        6, 0,  8)                                                      \
	F(IPv6, hop_limit,      7, 0,  8)                                                      \
	B(IPv6, src,            8, 16)                                                         \
	B(IPv6, dst,           24, 16)

#define WIRE_UDP_FIELDS(F, B)                                                                  \
	F(UDP, sport,           0, 0, 16)                                                      \
	F(UDP, dport,           2, 0, 16)                                                      \
	F(UDP, length,          4, 0, 16)                                                      \
	F(UDP, checksum,        6, 0, 16)

#define WIRE_IB_FIELDS(F, B)                                                                   \
	WIRE_BTH_FIELDS(F, B)                                                                  \
	WIRE_RDETH_FIELDS(F, B)                                                                \
	WIRE_DETH_FIELDS(F, B)                                                                 \
	WIRE_XRCETH_FIELDS(F, B)                                                               \
	WIRE_RETH_FIELDS(F, B)                                                                 \
	WIRE_AtomicETH_FIELDS(F, B)                                                            \
	WIRE_AETH_FIELDS(F, B)                                                                 \
	WIRE_AtomicAckETH_FIELDS(F, B)                                                         \
	WIRE_ImmDt_FIELDS(F, B)                                                                \
	WIRE_IETH_FIELDS(F, B)                                                                 \
	WIRE_CNP_FIELDS(F, B)                                                                  \
	WIRE_LRH_FIELDS(F, B)                                                                  \
	WIRE_GRH_FIELDS(F, B)                                                                  \
	WIRE_IPv4_FIELDS(F, B)                                                                 \
	WIRE_IPv6_FIELDS(F, B)                                                                 \
	WIRE_UDP_FIELDS(F, B)

enum wire_hdr {
#define H(name, length, source) WIRE_HDR_##name,
	WIRE_IB_HEADERS(H)
#undef H
	WIRE_NR_HDRS
};

/* Lengths in bytes. */
enum {
#define H(name, length, source) WIRE_##name##_LEN = length,
	WIRE_IB_HEADERS(H)
#undef H
	WIRE_ICRC_LEN = 4,
	WIRE_VCRC_LEN = 2,
	/* The longest: an RD atomic, BTH + RDETH + DETH + AtomicETH. */
	WIRE_IB_HDRS_MAX = 12 + 4 + 8 + 28,
};

/* Syndromes of an AETH (IBTA vol 1, 9.7.5.2): the kind in the upper three bits, a value below. */
enum {
	WIRE_SYN_ACK = 0x1f,		/* ACK without end-to-end credits */
	WIRE_SYN_RNR = 0x20,		/* and the timer's code */
	WIRE_SYN_SEQUENCE = 0x60,	/* NAK of a PSN sequence error */
	WIRE_SYN_VALUE = 0x1f,		/* mask */
};

/* The P_Key of the default partition with full membership (IBTA vol 1, 10.9.1). */
enum { WIRE_PKEY_DEFAULT = 0xffff };

WIRE_IB_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

extern const struct wire_header wire_headers[WIRE_NR_HDRS];
extern const struct wire_field wire_fields[];
extern const unsigned wire_nr_fields;

#endif

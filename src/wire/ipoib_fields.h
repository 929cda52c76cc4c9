/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IP over InfiniBand, field by field (RFC 4391): the encapsulation header, the link-layer address, and the bodies of
 * address resolution (RFC 826) and neighbour discovery (RFC 4861) that carry it. Of IP's own headers: what decides where a
 * packet goes.
 */
#ifndef WIRE_IPOIB_FIELDS_H
#define WIRE_IPOIB_FIELDS_H

#include "wire/field.h"

/* RFC 4391, 6, figure 3.
 *	header field                   byte bit width */
#define WIRE_IPOIB_FIELDS(F, B)                                                                \
	F(IPOIB, type,                  0, 0, 16)                                              \
	F(IPOIB, rsv,                   2, 0, 16)

/* RFC 4391, 9.1.1, figure 5. */
#define WIRE_IPOIB_ADDR_FIELDS(F, B)                                                           \
	F(IPOIB_ADDR, flags,            0, 0,  8)                                              \
	F(IPOIB_ADDR, qpn,              0, 8, 24)                                              \
	B(IPOIB_ADDR, gid,              4, 16)

/* Private data of REQ and REP (RFC 4755, 6): the queue pair of the interface's own datagrams, and what it receives. */
#define WIRE_IPOIB_CM_FIELDS(F, B)                                                             \
	F(IPOIB_CM, qpn,                0, 8, 24)                                              \
	F(IPOIB_CM, mtu,                4, 0, 32)

/* RFC 826, with addresses of RFC 4391, 9.1.1. */
#define WIRE_ARP_FIELDS(F, B)                                                                  \
	F(ARP, hardware,                0, 0, 16)                                              \
	F(ARP, protocol,                2, 0, 16)                                              \
	F(ARP, hw_len,                  4, 0,  8)                                              \
	F(ARP, proto_len,               5, 0,  8)                                              \
	F(ARP, op,                      6, 0, 16)                                              \
	B(ARP, sender_hw,               8, 20)                                                 \
	F(ARP, sender_ip,              28, 0, 32)                                              \
	B(ARP, target_hw,              32, 20)                                                 \
	F(ARP, target_ip,              52, 0, 32)

/* Neighbour solicitation and advertisement (RFC 4861, 4.3 and 4.4), from the first byte of ICMPv6. */
#define WIRE_ND_FIELDS(F, B)                                                                   \
	F(ND, type,                     0, 0,  8)                                              \
	F(ND, code,                     1, 0,  8)                                              \
	F(ND, checksum,                 2, 0, 16)                                              \
	F(ND, router,                   4, 0,  1)                                              \
	F(ND, solicited,                4, 1,  1)                                              \
	F(ND, override,                 4, 2,  1)                                              \
	B(ND, target,                   8, 16)

/* The option with a link-layer address (RFC 4391, 9.2, figure 7). */
#define WIRE_ND_OPTION_FIELDS(F, B)                                                            \
	F(ND_OPTION, type,              0, 0,  8)                                              \
	F(ND_OPTION, length,            1, 0,  8)                                              \
	F(ND_OPTION, rsv,               2, 0, 16)                                              \
	B(ND_OPTION, hw,                4, 20)

/* RFC 791, 3.1. */
#define WIRE_IPV4_FIELDS(F, B)                                                                 \
	F(IPV4, version,                0, 0,  4)                                              \
	F(IPV4, words,                  0, 4,  4)                                              \
	F(IPV4, length,                 2, 0, 16)                                              \
	F(IPV4, ttl,                    8, 0,  8)                                              \
	F(IPV4, protocol,               9, 0,  8)                                              \
	F(IPV4, checksum,              10, 0, 16)                                              \
	B(IPV4, source,                12, 4)                                                  \
	B(IPV4, destination,           16, 4)

/* RFC 8200, 3. */
#define WIRE_IPV6_FIELDS(F, B)                                                                 \
	F(IPV6, version,                0, 0,  4)                                              \
	F(IPV6, length,                 4, 0, 16)                                              \
	F(IPV6, next,                   6, 0,  8)                                              \
	F(IPV6, hops,                   7, 0,  8)                                              \
	B(IPV6, source,                 8, 16)                                                 \
	B(IPV6, destination,           24, 16)

WIRE_IPOIB_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_IPOIB_ADDR_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_IPOIB_CM_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_ARP_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_ND_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_ND_OPTION_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_IPV4_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)
WIRE_IPV6_FIELDS(WIRE_ACCESS_F, WIRE_ACCESS_B)

enum {
	WIRE_IPOIB_LEN = 4,
	WIRE_IPOIB_ADDR_LEN = 20,
	WIRE_IPOIB_CM_LEN = 8,
	WIRE_ARP_LEN = 56,
	WIRE_ND_LEN = 24,
	WIRE_ND_OPTION_LEN = 24,
	WIRE_IPV4_LEN = 20,
	WIRE_IPV6_LEN = 40
};

/* Service IDs of connected mode have the QPN of the interface's datagrams in their last three octets (RFC 4755, 3.5). */
#define WIRE_IPOIB_CM_SERVICE 0x1000000000000000ull

/* Types of the encapsulation header (RFC 4391, 6), and of ARP's protocol. */
enum { WIRE_IPOIB_IPV4 = 0x0800, WIRE_IPOIB_ARP = 0x0806, WIRE_IPOIB_IPV6 = 0x86dd };

/* Hardware type of ARP (RFC 4391, 9.1), operations (RFC 826). */
enum { WIRE_ARP_INFINIBAND = 32, WIRE_ARP_REQUEST = 1, WIRE_ARP_REPLY = 2 };

/* ICMPv6 (RFC 4861, 4.3, 4.4, 4.6.1). */
enum { WIRE_ND_SOLICITATION = 135, WIRE_ND_ADVERTISEMENT = 136, WIRE_ND_SOURCE_HW = 1, WIRE_ND_TARGET_HW = 2 };

/* Protocols behind IP. */
enum { WIRE_IP_ICMP = 1, WIRE_IP_IGMP = 2, WIRE_IP_ICMPV6 = 58, WIRE_IP_HOP_OPTIONS = 0 };

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A packet of an InfiniBand link (IBTA vol 1, chapter 7), between bytes and a plain struct in host
 * order.
 *
 * Packet = LRH, GRH if LNH says so, transport packet (wire/ib_packet.h: BTH to ICRC), VCRC. RoCEv2
 * has IP and UDP headers in place of LRH and GRH and no VCRC. A soft fabric may leave the VCRC away
 * on its own links, so the functions of the headers do not count it; those of the VCRC do.
 *
 * The invariant CRC of these packets is in wire/icrc.h.
 */
#ifndef WIRE_IB_LINK_H
#define WIRE_IB_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "wire/grh.h"
#include "wire/ib_fields.h"

/* Link Next Header (7.7.5). The first two are raw packets, which have no ICRC. */
enum wire_lnh {
	WIRE_LNH_RAW,
	WIRE_LNH_IP,
	WIRE_LNH_LOCAL,		/* BTH follows */
	WIRE_LNH_GLOBAL,	/* GRH follows */
};

struct wire_lrh {
	uint16_t dlid;
	uint16_t slid;
	uint16_t pkt_len;	/* words of 4 bytes from LRH to ICRC, 0..2047 */
	uint8_t vl;		/* 0..15 */
	uint8_t lver;
	uint8_t sl;		/* 0..15 */
	uint8_t lnh;		/* enum wire_lnh */
};

struct wire_link_packet {
	struct wire_lrh lrh;
	struct wire_grh grh;	/* valid if lrh.lnh is WIRE_LNH_GLOBAL */
	const uint8_t *ib;	/* BTH to ICRC: ib_len bytes, as wire_ib_parse() takes them */
	size_t ib_len;
};

enum {
	WIRE_LINK_HDRS_MAX = WIRE_LRH_LEN + WIRE_GRH_LEN,
	WIRE_LINK_PACKET_MAX = 2047 * 4,	/* the limit of pkt_len */
};

/* Reads an LRH from buf[0 .. len). Returns 0, or WIRE_DROP_LRH if len is below 8. */
int wire_lrh_get(const uint8_t *buf, size_t len, struct wire_lrh *ret);

/*
 * Writes an LRH with reserved bits 0; values are cut to the width of their field. Returns 8, or 0
 * if room is below that.
 */
size_t wire_lrh_put(uint8_t *buf, size_t room, const struct wire_lrh *lrh);

/*
 * Reads LRH and GRH of buf[0 .. len), LRH to ICRC without VCRC, and no byte beyond. Returns 0 or an
 * enum wire_drop, after which *ret is undefined: raw packets, other versions and lengths that
 * contradict len are refused. Not checked: the transport packet and both CRCs.
 */
int wire_link_parse(const uint8_t *buf, size_t len, struct wire_link_packet *ret);

/*
 * Writes LRH and, if p->lrh.lnh is WIRE_LNH_GLOBAL, GRH for a transport packet of p->ib_len bytes;
 * both lengths and the GRH's next header follow from that, p->lrh.pkt_len and p->grh.pay_len are
 * ignored. Returns the length of the headers, at most WIRE_LINK_HDRS_MAX, or 0: no room, a raw LNH,
 * an ib_len that is no multiple of 4 or beyond WIRE_LINK_PACKET_MAX.
 */
size_t wire_link_build(uint8_t *buf, size_t room, const struct wire_link_packet *p);

/* The variant CRC (7.8.2) of buf[0 .. len), LRH to ICRC. */
uint16_t wire_vcrc(const uint8_t *buf, size_t len);

/* Computes it and stores it at buf + len. */
void wire_vcrc_fill(uint8_t *buf, size_t len);

/* len counts the VCRC. Returns 0, or WIRE_DROP_VCRC if it does not match or len is below 2. */
int wire_vcrc_check(const uint8_t *buf, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The invariant CRC of RoCEv2 and of InfiniBand links.
 *
 * RoCEv2: it covers, besides the packet, IP and UDP header fields that a UDP socket neither sets nor
 * shows, so both ends rebuild the headers. The receiver does not know one of them, the identification
 * of IPv4: see wire_icrc_check().
 *
 * `ib` always points to BTH; the packet is contiguous up to and including its pad. `lrh` points to
 * the LRH of a packet of an InfiniBand link, which contains all covered fields and needs no flow.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_icrc_kind {
	WIRE_ICRC_V4,
	WIRE_ICRC_V6,
	WIRE_ICRC_LOCAL,	/* an InfiniBand link: LRH */
	WIRE_ICRC_GLOBAL,	/* LRH and GRH */
};

/* The constant headers from one address to another, masked fields already all ones. */
struct wire_icrc_flow {
	uint8_t head_len;	/* bytes used: 8 for the absent LRH, IP, UDP; or LRH, GRH */
	uint8_t kind;		/* enum wire_icrc_kind */
	uint8_t head[64];
};

/* Addresses in network order, 4 and 16 bytes. */
void wire_icrc_flow_v4(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst);
void wire_icrc_flow_v6(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst);
/* Packets of an InfiniBand link without a GRH, and with one. Ports and identification mean nothing for them. */
void wire_icrc_flow_local(struct wire_icrc_flow *flow, uint16_t slid, uint16_t dlid, uint8_t sl);
void wire_icrc_flow_global(struct wire_icrc_flow *flow, const uint8_t *sgid, const uint8_t *dgid);

/*
 * The CRC up to BTH of the last packet of one flow, with identification 0: it is the same for all
 * packets of one length and port. A zeroed memo is empty. Each flow has a memo of its own.
 */
struct wire_icrc_memo {
	uint32_t crc;
	uint32_t len;
	uint16_t sport, dport;
};

/* len counts BTH up to the pad (>= 12), not the ICRC. id and df mean nothing without IPv4. */
uint32_t wire_icrc_compute(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport,
			   uint16_t id, bool df, const uint8_t *ib, size_t len);

/* The same with DF, and with a memo for many packets of one flow. */
uint32_t wire_icrc_again(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport,
			 uint16_t dport, uint16_t id, const uint8_t *ib, size_t len);

/* Computes it and stores it behind the packet, at ib + len. */
void wire_icrc_fill(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport, uint16_t id,
		    bool df, uint8_t *ib, size_t len);

/* The same with DF, and with a memo; copies n bytes of payload behind the hdr bytes of headers at ib, reading each byte of
 * it once, and writes pad bytes of zeros behind it. */
void wire_icrc_copy(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport, uint16_t dport,
		    uint16_t id, uint8_t *ib, size_t hdr, const void *payload, size_t n, size_t pad);

/*
 * len counts the ICRC. Returns 0 if it matches, else WIRE_DROP_ICRC.
 *
 * IPv4: *id is the guess (0, or the sender's last + 1) and is set to the identification that fits. A
 * wrong guess costs no second pass: the difference to the received CRC, carried back to the offset of
 * the identification, is the difference of the header bytes there. It must be 16 bits of
 * identification and nothing else, or those and a clear DF. About 15 bits of check remain, beside the
 * UDP checksum; only a right guess has all 32. *id is unchanged on failure and without IPv4.
 */
int wire_icrc_check(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport,
		    uint16_t dport, const uint8_t *ib, size_t len, uint16_t *id);

/*
 * InfiniBand links (IBTA vol 1, 7.8.1). Fields that may change on the way count as ones. Without a
 * GRH: the VL. With a GRH: the whole LRH, and traffic class, flow label and hop limit of the GRH. In
 * both: byte 4 of BTH. The LNH of the LRH says whether there is a GRH: it is LOCAL or GLOBAL.
 *
 * len counts LRH to pad (>= 20, with GRH >= 60), not the ICRC, which is stored at lrh + len.
 */
uint32_t wire_icrc_link(const uint8_t *lrh, size_t len);
void wire_icrc_link_fill(uint8_t *lrh, size_t len);

/*
 * len counts the ICRC, not the VCRC. Returns 0, or WIRE_DROP_ICRC: it does not match, the packet is
 * too short to have one, or it is a raw packet, which has none.
 */
int wire_icrc_link_check(const uint8_t *lrh, size_t len);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The invariant CRC of RoCEv2 and of InfiniBand links.
 *
 * RoCEv2: it covers, besides the packet, IP and UDP header fields that a UDP socket neither sets nor
 * shows, so both ends rebuild the headers. The one field that a receiver cannot know is the
 * identification of IPv4; see wire_icrc_check().
 *
 * `ib` always points to BTH; the packet is contiguous up to and including its pad. `lrh` points to
 * the LRH of a packet of an InfiniBand link, which needs no flow: all that is covered is in it.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The constant part of one direction between two addresses, masked fields already all ones. */
struct wire_icrc_flow {
	uint8_t head_len;	/* bytes used: 8 for the absent LRH, IP, UDP */
	bool v6;
	uint8_t head[64];
};

/* Addresses in network order, 4 and 16 bytes. */
void wire_icrc_flow_v4(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst);
void wire_icrc_flow_v6(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst);

/*
 * The CRC up to BTH, with identification 0, as the last packet of this flow had it: those of one length
 * and port have the same. Zeroed: none yet. One flow, one memo.
 */
struct wire_icrc_memo {
	uint32_t crc;
	uint32_t len;
	uint16_t sport, dport;
};

/* len counts BTH up to the pad (>= 12), not the ICRC. id and df mean nothing for IPv6. */
uint32_t wire_icrc_compute(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport,
			   uint16_t id, bool df, const uint8_t *ib, size_t len);

/* The same with DF, most of it remembered: for packet after packet of one flow. */
uint32_t wire_icrc_again(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport,
			 uint16_t dport, uint16_t id, const uint8_t *ib, size_t len);

/* Computes and stores behind the packet, at ib + len. */
void wire_icrc_fill(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport, uint16_t id,
		    bool df, uint8_t *ib, size_t len);

/* The same while the payload is copied behind hdr bytes of headers that are in place, each byte of
 * it read once; pad bytes of zeros follow it. */
void wire_icrc_copy(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport, uint16_t id,
		    bool df, uint8_t *ib, size_t hdr, const void *payload, size_t n, size_t pad);

/*
 * len counts the ICRC. 0 when it matches, else WIRE_DROP_ICRC.
 *
 * IPv4: *id is the guess (0, or the sender's last + 1), and becomes the identification that
 * fits. A wrong guess costs no second pass: the difference to the received CRC is, carried back
 * to the place of the identification, the difference of the header bytes there. It must be 16 bits
 * of identification and nothing else, or that and a clear DF. About 15 bits of check remain, beside
 * the UDP checksum; only a right guess has all 32. *id is untouched on failure and for IPv6.
 */
int wire_icrc_check(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport,
		    const uint8_t *ib, size_t len, uint16_t *id);
/* The same with a memo. */
int wire_icrc_check_again(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo,
			  uint16_t sport, uint16_t dport, const uint8_t *ib, size_t len,
			  uint16_t *id);

/*
 * InfiniBand links (IBTA vol 1, 7.8.1). Fields that may change on the way count as ones: the VL of
 * a packet without GRH; of one with GRH the whole LRH and the GRH's traffic class, flow label and hop
 * limit; of both the byte 4 of BTH. The LRH's LNH says which of the two it is: LOCAL or GLOBAL.
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

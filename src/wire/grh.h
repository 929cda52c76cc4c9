/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The Global Route Header of an InfiniBand packet, and the 40 bytes before the payload of a received
 * datagram.
 *
 * On an InfiniBand link those 40 bytes are the GRH. RoCEv2 puts the IP header of the packet there:
 * IPv6 fills them, IPv4 fills the last 20 and leaves the rest 0. Consumers tell the two apart by the
 * first byte and the IPv4 header checksum and make an address handle for the answer from the header.
 * A UDP socket does not show it, so it is built anew from the addresses, with a valid checksum.
 */
#ifndef WIRE_GRH_H
#define WIRE_GRH_H

#include <stddef.h>
#include <stdint.h>

#include "wire/ib_fields.h"

enum { WIRE_NXT_HDR_IBA = 0x1b };	/* an IBA transport follows (IBTA vol 1, 8.3) */

struct wire_grh {
	uint8_t sgid[16];
	uint8_t dgid[16];
	uint32_t flow_label;	/* 20 bits */
	uint16_t pay_len;	/* bytes behind the GRH up to and including the ICRC */
	uint8_t ipver;		/* 6 */
	uint8_t tclass;
	uint8_t nxt_hdr;
	uint8_t hop_lmt;
};

/* Reads a GRH from buf[0 .. len). Returns 0, or WIRE_DROP_GRH if len is below 40. */
int wire_grh_get(const uint8_t *buf, size_t len, struct wire_grh *ret);

/*
 * Writes a GRH; values are cut to the width of their field. Returns 40, or 0 if room is below that.
 */
size_t wire_grh_put(uint8_t *buf, size_t room, const struct wire_grh *grh);

/*
 * Write the IP header of a RoCEv2 packet. tclass: TOS or traffic class; ib_len: bytes from BTH through
 * ICRC, at most those of a UDP datagram.
 */
void wire_grh_v4(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t ttl, size_t ib_len);
void wire_grh_v6(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t hop_limit, size_t ib_len);

/* Returns the checksum of an IPv4 header without options; its checksum field is ignored. */
uint16_t wire_ipv4_checksum(const uint8_t header[WIRE_IPv4_LEN]);

#endif

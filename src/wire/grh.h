/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The 40 bytes before the payload of a received datagram.
 *
 * RoCEv2 puts the IP header of the packet there: IPv6 fills them, IPv4 fills the last 20 and leaves
 * the rest 0. Consumers tell the two apart by the first byte and by the IPv4 header checksum, and
 * make an address handle for the answer from it, so both are always good, though a UDP socket shows
 * neither and the header is built anew.
 */
#ifndef WIRE_GRH_H
#define WIRE_GRH_H

#include <stddef.h>
#include <stdint.h>

#include "wire/ib_fields.h"

/* tclass: TOS or traffic class; ib_len: from BTH through ICRC, at most what a UDP datagram holds. */
void wire_grh_v4(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t ttl, size_t ib_len);
void wire_grh_v6(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t hop_limit, size_t ib_len);

/* The checksum that an IPv4 header without options should have; its own field is not looked at. */
uint16_t wire_ipv4_checksum(const uint8_t header[WIRE_IPv4_LEN]);

#endif

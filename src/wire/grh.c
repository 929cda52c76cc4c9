/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* IP headers as the sender's kernel wrote them, from what the receiver's socket tells. */
#include "wire/grh.h"

#include <string.h>

enum { PROTOCOL_UDP = 17 };

uint16_t wire_ipv4_checksum(const uint8_t header[WIRE_IPv4_LEN])
{
	uint32_t sum = 0;

	for (int i = 0; i < WIRE_IPv4_LEN; i += 4) {
		uint32_t word = wire_get32(header + i);

		sum += (word >> 16) + (word & 0xffff);
	}
	sum -= (uint32_t)wire_get_IPv4_checksum(header);
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return (uint16_t)~sum;
}

void wire_grh_v4(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t ttl, size_t ib_len)
{
	uint8_t *ip = grh + WIRE_GRH_LEN - WIRE_IPv4_LEN;

	memset(grh, 0, WIRE_GRH_LEN);
	wire_set_IPv4_version(ip, 4);
	wire_set_IPv4_ihl(ip, WIRE_IPv4_LEN / 4);
	wire_set_IPv4_tos(ip, tclass);
	wire_set_IPv4_total_len(ip, WIRE_IPv4_LEN + WIRE_UDP_LEN + ib_len);
	wire_set_IPv4_df(ip, 1);
	wire_set_IPv4_ttl(ip, ttl);
	wire_set_IPv4_protocol(ip, PROTOCOL_UDP);
	wire_set_IPv4_src(ip, src);
	wire_set_IPv4_dst(ip, dst);
	wire_set_IPv4_checksum(ip, wire_ipv4_checksum(ip));
}

void wire_grh_v6(uint8_t grh[WIRE_GRH_LEN], const uint8_t *src, const uint8_t *dst, uint8_t tclass,
		 uint8_t hop_limit, size_t ib_len)
{
	memset(grh, 0, WIRE_GRH_LEN);
	wire_set_IPv6_version(grh, 6);
	wire_set_IPv6_tclass(grh, tclass);
	wire_set_IPv6_pay_len(grh, WIRE_UDP_LEN + ib_len);
	wire_set_IPv6_nxt_hdr(grh, PROTOCOL_UDP);
	wire_set_IPv6_hop_limit(grh, hop_limit);
	wire_set_IPv6_src(grh, src);
	wire_set_IPv6_dst(grh, dst);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* GRHs, and IP headers as the kernel of the sender wrote them. */
#include "wire/grh.h"

#include <string.h>

#include "wire/ib_packet.h"

enum { PROTOCOL_UDP = 17 };

int wire_grh_get(const uint8_t *buf, size_t len, struct wire_grh *ret)
{
	if (len < WIRE_GRH_LEN)
		return WIRE_DROP_GRH;
	ret->ipver = (uint8_t)wire_get_GRH_ipver(buf);
	ret->tclass = (uint8_t)wire_get_GRH_tclass(buf);
	ret->flow_label = (uint32_t)wire_get_GRH_flow_label(buf);
	ret->pay_len = (uint16_t)wire_get_GRH_pay_len(buf);
	ret->nxt_hdr = (uint8_t)wire_get_GRH_nxt_hdr(buf);
	ret->hop_lmt = (uint8_t)wire_get_GRH_hop_lmt(buf);
	memcpy(ret->sgid, wire_get_GRH_sgid(buf), sizeof(ret->sgid));
	memcpy(ret->dgid, wire_get_GRH_dgid(buf), sizeof(ret->dgid));
	return WIRE_OK;
}

size_t wire_grh_put(uint8_t *buf, size_t room, const struct wire_grh *grh)
{
	if (room < WIRE_GRH_LEN)
		return 0;
	wire_set_GRH_ipver(buf, grh->ipver);
	wire_set_GRH_tclass(buf, grh->tclass);
	wire_set_GRH_flow_label(buf, grh->flow_label);
	wire_set_GRH_pay_len(buf, grh->pay_len);
	wire_set_GRH_nxt_hdr(buf, grh->nxt_hdr);
	wire_set_GRH_hop_lmt(buf, grh->hop_lmt);
	wire_set_GRH_sgid(buf, grh->sgid);
	wire_set_GRH_dgid(buf, grh->dgid);
	return WIRE_GRH_LEN;
}

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

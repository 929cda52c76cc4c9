/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RDMA IP CM service (annex A11): a range of service IDs whose requests
 * begin their private data with the IP addresses and the sender's port. GIDs of
 * RoCE are addresses too, so both must say the same; a header that names
 * others is a forgery or garbage.
 */
#include "cm/ibcm/ep.h"

#include <string.h>

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const uint8_t addr[16])
{
	return memcmp(addr, mapped, 12) == 0;
}

bool ibcm_is_ip(uint64_t service)
{
	uint64_t space = service >> 16;

	return space == CM_PS_TCP || space == CM_PS_UDP || space == CM_PS_IB ||
	       space == CM_PS_IPOIB;
}

/* IPv4 in the last four bytes, the rest zero. */
static void put_addr(uint8_t to[16], const uint8_t addr[16], bool v4)
{
	memcpy(to, addr, 16);
	if (v4)
		memset(to, 0, 12);
}

void ibcm_ip_build(uint8_t *h, const struct link_end *src, const struct link_end *dst)
{
	bool v4 = is_v4(dst->addr);
	uint8_t addr[16];

	memset(h, 0, WIRE_IP_CM_LEN);
	wire_set_IP_CM_ip_version(h, v4 ? 4 : 6);
	wire_set_IP_CM_src_port(h, src->port);
	put_addr(addr, src->addr, v4);
	wire_set_IP_CM_src_addr(h, addr);
	put_addr(addr, dst->addr, v4);
	wire_set_IP_CM_dst_addr(h, addr);
}

static bool same(const uint8_t *in, const uint8_t addr[16], bool v4)
{
	return v4 ? !memcmp(in + 12, addr + 12, 4) : !memcmp(in, addr, 16);
}

bool ibcm_ip_check(const uint8_t *h, const struct gsi_rx *rx, uint16_t *ret_port)
{
	unsigned version = (unsigned)wire_get_IP_CM_ip_version(h);
	bool v4 = version == 4;

	if (wire_get_IP_CM_version_major(h) || (!v4 && version != 6))
		return false;
	if (v4 != is_v4(rx->dst) || v4 != is_v4(rx->src))
		return false;
	if (!same(wire_get_IP_CM_src_addr(h), rx->src, v4) ||
	    !same(wire_get_IP_CM_dst_addr(h), rx->dst, v4))
		return false;
	*ret_port = (uint16_t)wire_get_IP_CM_src_port(h);
	return true;
}

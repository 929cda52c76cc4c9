/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way back to the sender of a datagram, from its completion and the 40
 * bytes in front of the payload. RoCEv2 puts the network header there: an IPv6
 * header, or 20 undefined bytes and an IPv4 header (Annex A17.4.5.2). The two
 * are told apart by the first nibble and, where that fits both, by the IPv4
 * header checksum.
 */
#include "abi/verbs/vrb.h"
#include "engine/dev.h"
#include "util/export.h"

#include <endian.h>
#include <string.h>

#define IPV4_AT 20
#define IPV4_LEN 20

static uint32_t word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool checksum_ok(const uint8_t *h)
{
	uint32_t sum = 0;

	for (int i = 0; i < IPV4_LEN; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

static bool is_ipv4(const uint8_t *grh)
{
	const uint8_t *h = grh + IPV4_AT;

	if (grh[0] >> 4 != 6)
		return true;
	return h[0] == 0x45 && checksum_ok(h);
}

static void map_ipv4(union ibv_gid *gid, const uint8_t *addr)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, addr, 4);
}

struct origin {
	union ibv_gid src, dst;
	uint32_t flow_label;
	uint8_t hop_limit, traffic_class;
};

static int read_ipv4(const uint8_t *h, struct origin *ret)
{
	if (h[0] != 0x45 || (h[16] & 0xf0) == 0xe0) /* sent to a group: whose address? */
		return -EINVAL;
	*ret = (struct origin){ .hop_limit = h[8], .traffic_class = h[1] };
	map_ipv4(&ret->src, h + 12);
	map_ipv4(&ret->dst, h + 16);
	return 0;
}

static int read_ipv6(const uint8_t *h, struct origin *ret)
{
	uint32_t first = word(h);

	*ret = (struct origin){
		.flow_label = first & 0xfffff,
		.traffic_class = (uint8_t)(first >> 20),
		.hop_limit = h[7],
	};
	memcpy(ret->src.raw, h + 8, 16);
	memcpy(ret->dst.raw, h + 24, 16);
	return ret->dst.raw[0] == 0xff ? -EINVAL : 0;
}

static int find_gid(struct eng_dev *dev, const union ibv_gid *gid)
{
	int i;

	ut_lock(&dev->lock);
	i = eng_gid_find(dev, gid);
	eng_dev_unlock(dev);
	return i;
}

UT_EXPORT int ibv_init_ah_from_wc(struct ibv_context *c, uint8_t port, struct ibv_wc *wc,
				  struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	const uint8_t *h = (const uint8_t *)grh;
	struct eng_dev *dev = vrb_live(c);
	struct origin o;
	int rc, index;

	if (!dev)
		return -1;
	*attr = (struct ibv_ah_attr){
		.dlid = wc->slid,
		.sl = wc->sl,
		.src_path_bits = wc->dlid_path_bits,
		.port_num = port,
	};
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	rc = is_ipv4(h) ? read_ipv4(h + IPV4_AT, &o) : read_ipv6(h, &o);
	if (rc)
		return vrb_minus(rc);
	index = find_gid(dev, &o.dst);
	if (index < 0)
		return vrb_minus(index);
	attr->is_global = 1;
	attr->grh.dgid = o.src;
	attr->grh.sgid_index = (uint8_t)index;
	attr->grh.flow_label = o.flow_label;
	attr->grh.hop_limit = o.hop_limit;
	attr->grh.traffic_class = o.traffic_class;
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles and multicast. */
#include <infiniband/verbs.h>

#include "abi/verbs/context.h"
#include "abi/verbs/export.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/vrb.h"
#include "engine/ah.h"
#include "engine/dev.h"
#include "engine/gid.h"
#include "engine/mcast.h"
#include "engine/pd.h"
#include "util/alloc.h"
#include "util/export.h"

#include "engine/refuse.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

VRB_NOW(create_ah) struct ibv_ah *vrb_create_ah(struct ibv_pd *pub, struct ibv_ah_attr *attr)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct vrb_ah *ah;
	int rc;

	if (!vrb_live(pub->context))
		return NULL;
	ah = ut_zalloc(sizeof(*ah));
	if (!ah)
		return vrb_null(eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_MEMORY));
	rc = eng_ah_create(pd->pd, attr, &ah->ah);
	if (rc) {
		free(ah);
		return vrb_null(rc);
	}
	ah->pd = pd;
	ah->pub.context = pub->context;
	ah->pub.pd = pub;
	vrb_pd_use(pd);
	vrb_hold(pub->context);
	return &ah->pub;
}

UT_EXPORT struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					       struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;
	int rc = ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr);

	if (rc)
		return NULL;
	return vrb_create_ah(pd, &attr);
}

VRB_NOW(destroy_ah) int vrb_destroy_ah(struct ibv_ah *pub)
{
	struct vrb_ah *ah = vrb_of(pub, vrb_ah);
	struct ibv_context *c = pub->context;

	if (!vrb_live(c))
		return EIO;
	eng_ah_destroy(ah->ah);
	vrb_pd_unuse(ah->pd);
	free(ah);
	vrb_release(c);
	return 0;
}

/* The kernel resolves the neighbour when a packet is sent. */
UT_EXPORT int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr,
					  uint8_t mac[6], uint16_t *vid);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *c, struct ibv_ah_attr *attr, uint8_t mac[6],
				uint16_t *vid)
{
	return vrb_error(-EOPNOTSUPP);
}

VRB_NOW(attach_mcast) int vrb_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
					   uint16_t lid)
{
	if (!vrb_live(qp->context))
		return EIO;
	return vrb_error(eng_mcast_attach(vrb_of(qp, vrb_qp)->qp, gid));
}

VRB_NOW(detach_mcast) int vrb_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid,
					   uint16_t lid)
{
	if (!vrb_live(qp->context))
		return EIO;
	return vrb_error(eng_mcast_detach(vrb_of(qp, vrb_qp)->qp, gid));
}

/* --- address handles from completions --- */

/*
 * The path to the sender of a datagram, from its completion and the 40 bytes in front of the payload. On
 * RoCEv2 they are the network header: an IPv6 header, or 20 undefined bytes and an IPv4 header (Annex
 * A17.4.5.2). The first nibble tells them apart and, where that fits both, the checksum of the IPv4 header.
 */

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
	if (h[0] != 0x45 || (h[16] & 0xf0) == 0xe0) /* sent to a group, which is no address of this host */
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

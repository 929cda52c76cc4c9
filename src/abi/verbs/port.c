/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attributes of a device and its port, GIDs and P_Keys. */

#include "abi/verbs/port.h"

#include "abi/dapple/adapter.h"
#include "abi/verbs/export.h"
#include "abi/verbs/newer.h"
#include "engine/dev.h"
#include "engine/gid.h"

#include <endian.h>
#include <string.h>
#include <time.h>

#undef ibv_query_port

VRB_NOW(query_device) int vrb_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	struct eng_dev *dev = vrb_live(c);

	if (!dev)
		return EIO;
	*attr = dev->attr.orig_attr;
	return 0;
}

/*
 * Attributes of what the shell implements and not the engine: on-demand paging, which every registration is, for
 * the services that the adapter has (iWARP: RC alone), and device memory (dm.c).
 */
static void add_ours(struct ibv_device_attr_ex *a, bool iwarp)
{
	const uint32_t unreliable = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
	const uint32_t reliable = unreliable | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ |
				  IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;

	a->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	a->odp_caps.per_transport_caps.rc_odp_caps = reliable;
	a->max_dm_size = VRB_DM_MAX;
	if (iwarp)
		return;
	a->odp_caps.per_transport_caps.uc_odp_caps = unreliable | IBV_ODP_SUPPORT_WRITE;
	a->odp_caps.per_transport_caps.ud_odp_caps = unreliable;
	a->xrc_odp_caps = reliable;
}

int vrb_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
			struct ibv_device_attr_ex *attr, size_t len)
{
	struct eng_dev *dev = vrb_live(c);
	struct ibv_device_attr_ex all;

	if (!dev)
		return EIO;
	if (in && in->comp_mask)
		return vrb_error(eng_refuse(dev, ENG_R_QUERY_FIELDS));
	all = dev->attr;
	add_ours(&all, c->device->node_type == IBV_NODE_RNIC);
	memset(attr, 0, len);
	memcpy(attr, &all, len < sizeof(all) ? len : sizeof(all));
	return 0;
}

/* Completion time stamps are nanoseconds, so the counter is one of 1 GHz. */
int vrb_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values)
{
	struct timespec t;

	if (!vrb_live(c))
		return EIO;
	if (!(values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK)) {
		values->comp_mask = 0;
		return vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_QUERY_CLOCK));
	}
	clock_gettime(CLOCK_MONOTONIC, &t);
	values->raw_clock.tv_sec = 0;
	values->raw_clock.tv_nsec = t.tv_sec * 1000000000L + t.tv_nsec;
	values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	return 0;
}

int vrb_query_port_ex(struct ibv_context *c, uint8_t port, struct ibv_port_attr *ret, size_t len)
{
	struct eng_dev *dev = vrb_live(c);
	struct ibv_port_attr attr = { 0 };
	int rc;

	if (!dev)
		return EIO;
	if (!eng_port_is(port))
		return vrb_error(eng_refuse(dev, ENG_R_QUERY_PORT));
	rc = eng_port_query(dev, &attr);
	if (rc)
		return vrb_error(rc);
	dpl_overlay_port(dev->name, &attr);
	memset(ret, 0, len);
	memcpy(ret, &attr, len < sizeof(attr) ? len : sizeof(attr));
	return 0;
}

/* For programs from before 2019: the structure without port_cap_flags2. */
VRB_NOW(query_port) int vrb_query_port(struct ibv_context *c, uint8_t port,
				       struct _compat_ibv_port_attr *attr)
{
	return vrb_query_port_ex(c, port, (struct ibv_port_attr *)(void *)attr,
				 offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* The rate of a lane, in 100 Mb/s (IBTA 14.2.5.6, PortInfo LinkSpeedActive). */
static uint64_t lane_rate(unsigned speed)
{
	switch (speed) {
	case 1: return 25;
	case 2: return 50;
	case 4:
	case 8: return 100; /* QDR, FDR10 */
	case 16: return 140;
	case 32: return 250;
	case 64: return 500;
	case 128: return 1000;
	default: return 0;
	}
}

static unsigned lanes(unsigned width)
{
	return width == 16 ? 2 : width == 8 ? 12 : width == 4 ? 8 : width == 2 ? 4 : width;
}

/* In 100 Mb/s. */
VRB_NEWER(int, ibv_query_port_speed, (struct ibv_context *c, uint32_t port, uint64_t *ret))
{
	struct ibv_port_attr attr;
	int rc = port > UINT8_MAX ? vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_QUERY_PORT))
				  : vrb_query_port_ex(c, (uint8_t)port, &attr, sizeof(attr));

	if (!rc)
		*ret = lane_rate(attr.active_speed) * lanes(attr.active_width);
	return rc;
}

/* 0, -EINVAL (no such port or index), -ENODATA (an empty entry). */
static int get_gid(struct ibv_context *c, uint32_t port, uint32_t index, struct eng_gid *g)
{
	struct eng_dev *dev = vrb_live(c);

	if (!dev)
		return -EIO;
	if (!eng_port_is(port) || index >= ENG_GIDS_MAX)
		return -EINVAL;
	return eng_gid_get(dev, index, g);
}

VRB_NOW(query_gid) int vrb_query_gid(struct ibv_context *c, uint8_t port, int index,
				     union ibv_gid *gid)
{
	struct eng_gid g;
	int rc = index < 0 ? -EINVAL : get_gid(c, port, (uint32_t)index, &g);

	if (rc == -ENODATA) { /* programs scan the table with this call */
		memset(gid, 0, sizeof(*gid));
		return 0;
	}
	if (rc)
		return vrb_minus(rc);
	*gid = g.gid;
	return 0;
}

int vrb_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type)
{
	struct eng_gid g;
	int rc = get_gid(c, port, index, &g);

	*type = 0; /* InfiniBand or RoCE v1; also of an empty entry, as in rdma-core */
	if (rc && rc != -ENODATA)
		return vrb_minus(rc);
	if (!rc && g.type == IBV_GID_TYPE_ROCE_V2)
		*type = 1;
	return 0;
}

static void to_entry(const struct eng_gid *g, uint32_t index, void *ret, size_t size)
{
	struct ibv_gid_entry e = {
		.gid = g->gid,
		.gid_index = index,
		.port_num = ENG_PORT_NUM,
		.gid_type = g->type,
		.ndev_ifindex = g->ifindex,
	};

	memset(ret, 0, size);
	memcpy(ret, &e, size < sizeof(e) ? size : sizeof(e));
}

UT_EXPORT int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index,
				struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	struct eng_gid g;
	int rc = flags ? eng_refuse(vrb_ctx(c)->dev, ENG_R_QUERY_GIDS) : get_gid(c, port, index, &g);

	if (rc)
		return vrb_error(rc);
	to_entry(&g, index, entry, size);
	return 0;
}

UT_EXPORT ssize_t _ibv_query_gid_table(struct ibv_context *c, struct ibv_gid_entry *entries,
				       size_t max, uint32_t flags, size_t size)
{
	struct eng_gid g;
	size_t n = 0;

	if (flags)
		return -vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_QUERY_GIDS));
	if (!vrb_live(c))
		return -EIO;
	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		if (get_gid(c, ENG_PORT_NUM, i, &g))
			continue;
		if (n == max)
			return -vrb_error(eng_refuse(vrb_ctx(c)->dev, ENG_R_QUERY_ROOM));
		to_entry(&g, i, (char *)entries + n++ * size, size);
	}
	return (ssize_t)n;
}

VRB_NOW(query_pkey) int vrb_query_pkey(struct ibv_context *c, uint8_t port, int index,
				       __be16 *pkey)
{
	const struct eng_dev *dev = vrb_live(c);

	if (!dev)
		return -1;
	/* iWARP has none. */
	if (!eng_port_is(port) || index < 0 || index >= dev->attr.orig_attr.max_pkeys)
		return vrb_minus(-EINVAL);
	*pkey = htobe16(eng_port_pkey(dev, (unsigned)index));
	return 0;
}

UT_EXPORT int ibv_get_pkey_index(struct ibv_context *c, uint8_t port, __be16 pkey)
{
	const struct eng_dev *dev = vrb_live(c);
	int index;

	if (!dev)
		return -1;
	index = eng_port_is(port) ? eng_port_pkey_index(dev, be16toh(pkey)) : -EINVAL;
	return index < 0 ? vrb_minus(-EINVAL) : index;
}

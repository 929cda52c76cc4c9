/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/ib.h"

#include "device/kind/ib_port.h"
#include "device/kind/ib_sa.h"
#include "device/kind/ib_ways.h"
#include "device/kind/local_env.h"
#include "device/kind/transport.h"
#include "device/why.h"
#include "host/shm/channel.h"
#include "host/shm/handshake.h"
#include "host/shm/peer.h"
#include "link/fabric/fabric.h"
#include "util/log.h"

#include <errno.h>
#include <string.h>

#define MTU_MAX 4096

static int open_link(struct link **ret)
{
	struct att_place where;
	struct fabric_place at = { .port = DEV_IB_PORT };
	char why[FABRIC_WHY_MAX];
	int r;

	if (!dev_ib_place(&where))
		return -ENODEV;
	at.fabric = where.fabric;
	at.node = where.node;
	r = fabric_open(&at, ret, why);
	if (r < 0) {
		ut_error("%s", why);
		dev_why_keep(UT_SAY_FAILURE, why);
		return r;
	}
	shm_handshake_refuse_all(fabric_host(*ret));
	return 0;
}

/* Returns the channel to the processes of this host. */
static struct shm_channel *go_local(struct link *l)
{
	unsigned allowed = dev_local_env();
	struct shm_channel *c;
	int r;

	if (!(allowed & DEV_LOCAL_SHM))
		return &shm_channel_none;
	r = shm_channel_open(fabric_host(l), &c);
	if (r < 0) {
		ut_warn("cannot make shared memory (%s): processes of this host reach each other by the fabric process, "
			"which is slower; see dapple doctor, or set DAPPLE_LOCAL=off", strerror(-r));
		return &shm_channel_none;
	}
	fabric_use_channel(l, c);
	if (allowed & DEV_LOCAL_MESSAGES)
		shm_channel_messages(c, allowed & DEV_LOCAL_DIRECT);
	return c;
}

static int wire(struct dev_adapter *a)
{
	const struct ibp_config cfg = { .mtu_max = MTU_MAX, .rate_control = true };
	struct link *l;
	int r = open_link(&l);

	if (r < 0)
		return r;
	r = dev_transport_wire(a, l, go_local(l), &dev_ib_ways, &cfg);
	if (r < 0)
		l->ops->close(l);
	return r;
}

/* The port is the one address; GIDs and LIDs are fields of packets. */
static int take_slot(struct dev_adapter *a)
{
	struct link *l = dev_transport_of(a)->link;

	return l->ops->add_addr(l, fabric_address(l), 0);
}

static void forget(struct dev_adapter *a)
{
	dev_transport_forget(a);
	dev_ib_port_forget(a);
}

static int query_port(struct eng_dev *dev, struct ibv_port_attr *ret)
{
	int r = dev_ib_query_port(dev, ret);

	dev_transport_violations(dev, ret);
	return r;
}

static int mcast_join(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link *l;

	if (!a->wired)
		return -ENODEV;
	l = dev_transport_of(a)->link;
	return l->ops->join(l, mgid->raw, 0);
}

static void mcast_leave(struct eng_dev *dev, const union ibv_gid *mgid)
{
	struct dev_adapter *a = dev_adapter_of(dev);
	struct link *l;

	if (!a->wired || dev_is_foreign(dev))
		return;
	l = dev_transport_of(a)->link;
	l->ops->leave(l, mgid->raw, 0);
}

static void limit(struct ibv_device_attr *attr)
{
	attr->device_cap_flags |= IBV_DEVICE_AUTO_PATH_MIG;
}

DEV_OVERLAY(static const struct eng_dev_ops ops, DEV_DEFAULT_OPS,
	.mcast_join = mcast_join,
	.mcast_leave = mcast_leave,
	.query_port = query_port);

DEV_OVERLAY(const struct dev_kind_row dev_ib_row, DEV_TRANSPORT_ROW,
	.word = "ib",
	.prefix = "dpl_ib",
	.kind = DEV_IB,
	.node_type = IBV_NODE_CA,
	.gid_type = IBV_GID_TYPE_IB,
	.n_gids = ENG_GIDS_MAX,
	.is_found = true,
	.ops = &ops,
	.wire = wire,
	.bind = take_slot,
	.forget = forget,
	.find = dev_ib_find,
	.open = dev_ib_open,
	.close = dev_ib_close,
	.refresh = dev_ib_refresh,
	.port_fd = dev_ib_port_fd,
	.addrs = dev_ib_addrs,
	.route = dev_ib_route,
	.path = dev_ib_path,
	.gid_of = dev_ib_to_gid,
	.addr_of = dev_ib_from_gid,
	.announce = dev_ib_announce,
	.ask_addr = dev_ib_ask_addr,
	.group_join = dev_ib_join,
	.group_leave = dev_ib_leave,
	.forked = dev_ib_forked,
	.limit = limit,
	.query_port = dev_ib_query);

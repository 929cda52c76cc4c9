/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 *   DAPPLE_NO_GRH=self  on lo, let a path without GRH lead to the port itself: for programs that
 *                       know LIDs only, as qperf
 *
 * The environment of the link is read in roce_link.c.
 */
#include "device/kind/roce.h"

#include "device/kind/roce_addr.h"
#include "device/kind/roce_link.h"
#include "device/kind/transport.h"
#include "util/env.h"

#include <string.h>

static bool no_grh_is_self(const struct dev_adapter *a)
{
	const char *v = ut_env("DAPPLE_NO_GRH");

	return v && strcmp(v, "self") == 0 && dev_is_lo(a);
}

static int wire(struct dev_adapter *a)
{
	const struct ibp_config cfg = {
		.mtu_max = dev_port_mtu(a->info.ifindex),
		.rate_control = !dev_is_lo(a),
		.no_grh_is_self = no_grh_is_self(a),
	};
	struct shm_channel *chan;
	struct link *l;
	int r = dev_roce_link_open(&l, &chan);

	if (r < 0)
		return r;
	r = dev_transport_wire(a, l, chan, &dev_transport_ways_gid, &cfg);
	if (r < 0)
		l->ops->close(l);
	return r;
}

static int query_port(struct eng_dev *dev, struct ibv_port_attr *ret) UT_NO_TSA
{
	int r = dev_port_query(dev_adapter_of(dev)->info.ifindex, ret);

	if (r < 0)
		return r;
	dev_transport_violations(dev, ret);
	return 0;
}

DEV_OVERLAY(static const struct eng_dev_ops ops, DEV_DEFAULT_OPS,
	.mcast_join = dev_roce_mcast_join,
	.mcast_leave = dev_roce_mcast_leave,
	.query_port = query_port);

DEV_OVERLAY(const struct dev_kind_row dev_roce_row, DEV_TRANSPORT_ROW,
	.word = "roce",
	.prefix = "dpl_roce_",
	.kind = DEV_ROCE,
	.node_type = IBV_NODE_CA,
	.gid_type = IBV_GID_TYPE_ROCE_V2,
	.n_gids = ENG_GIDS_MAX,
	.ops = &ops,
	.wire = wire,
	.bind = dev_roce_bind,
	.add_addr = dev_roce_add_addr,
	.del_addr = dev_roce_del_addr);

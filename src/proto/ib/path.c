/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/path.h"

#include "engine/gid.h"
#include "proto/ib/port.h"

#include <errno.h>

#define HOPS 64
#define LID_UNICAST_END 0xc000u /* IBTA 4.1.3: multicast LIDs from here to 0xfffe */
#define LID_PERMISSIVE 0xffffu

uint16_t ibp_flow_sport(uint32_t flow_label, uint32_t qpn_a, uint32_t qpn_b)
{
	uint64_t v = (uint64_t)qpn_a * qpn_b;
	uint32_t label = flow_label & 0xfffff;

	if (!label) {
		v ^= v >> 20;
		v ^= v >> 40;
		label = v & 0xfffff;
	}
	return (uint16_t)(0xc000 | ((label & 0x3fff) ^ (label >> 14)));
}

static void icrc_of_ip(struct wire_icrc_flow *f, const uint8_t *src, const uint8_t *dst)
{
	if (ut_ip_is_v4(dst))
		wire_icrc_flow_v4(f, src + 12, dst + 12);
	else
		wire_icrc_flow_v6(f, src, dst);
}

void ibp_icrc_there(struct wire_icrc_flow *f, const struct ut_flow *flow)
{
	if (!flow->lids)
		icrc_of_ip(f, flow->src, flow->dst);
	else if (flow->grh)
		wire_icrc_flow_global(f, flow->src, flow->dst);
	else
		wire_icrc_flow_local(f, flow->slid, flow->dlid, flow->sl);
}

void ibp_icrc_back(struct wire_icrc_flow *f, const struct ut_flow *flow)
{
	struct ut_flow back = *flow;

	memcpy(back.src, flow->dst, 16);
	memcpy(back.dst, flow->src, 16);
	back.slid = flow->dlid;
	back.dlid = flow->slid;
	ibp_icrc_there(f, &back);
}

void ibp_icrc_of(struct wire_icrc_flow *f, const struct link_rx *rx)
{
	if (!rx->lids)
		icrc_of_ip(f, rx->src, rx->dst);
	else if (rx->grh)
		wire_icrc_flow_global(f, rx->src, rx->dst);
	else
		wire_icrc_flow_local(f, rx->slid, rx->dlid, rx->sl);
}

bool ibp_path_lacks_grh(const struct ibp_port *port, const struct eng_av *av)
{
	eng_dev_held(port->dev);
	return port->dev->port.link_layer != IBV_LINK_LAYER_INFINIBAND && !av->is_global && !port->cfg.no_grh_is_self;
}

int ibp_path_from_grh(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av,
		      uint16_t sport)
{
	bool self = !av->is_global && port->cfg.no_grh_is_self;
	uint32_t index = self ? 0 : av->sgid_index;
	const struct eng_gid *g;
	const uint8_t *dst;

	if ((!av->is_global && !self) || index >= ENG_GIDS_MAX)
		return -EINVAL;
	eng_dev_held(port->dev);
	g = eng_gid_at(port->dev, index);
	if (!g)
		return -ENODATA;
	dst = self ? g->gid.raw : av->dgid;
	if (ut_ip_is_v4(g->gid.raw) != ut_ip_is_v4(dst))
		return -EINVAL;
	*path = (struct ibp_path){ .flow = {
		.scope = g->ifindex, .sport = sport, .tos = av->traffic_class, .ttl = HOPS,
	}, .valid = true };
	memcpy(path->flow.src, g->gid.raw, 16);
	memcpy(path->flow.dst, dst, 16);
	path->chan = path->flow;
	path->there = path->back = NULL;
	ibp_icrc_there(&path->icrc, &path->flow);
	return 0;
}

/* A multicast LID stands for the group that the GRH names (IBTA 9.8.3.1). */
static bool lid_fits(const struct eng_av *av)
{
	if (av->dlid >= LID_UNICAST_END)
		return av->dlid != LID_PERMISSIVE && av->is_global && av->dgid[0] == 0xff;
	return av->dlid != 0;
}

static int put_grh(struct ibp_port *port, struct ut_flow *f, const struct eng_av *av)
{
	const struct eng_gid *g;

	if (!av->is_global)
		return 0;
	if (av->sgid_index >= ENG_GIDS_MAX)
		return -EINVAL;
	eng_dev_held(port->dev);
	g = eng_gid_at(port->dev, av->sgid_index);
	if (!g)
		return -ENODATA;
	memcpy(f->src, g->gid.raw, 16);
	memcpy(f->dst, av->dgid, 16);
	f->scope = av->flow_label;
	f->tos = av->traffic_class;
	f->ttl = av->hop_limit;
	f->grh = 1;
	return 0;
}

int ibp_path_from_lid(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av)
{
	const struct eng_port *p = &port->dev->port;
	struct ut_flow f;
	int r;

	eng_dev_held(port->dev);
	if (!lid_fits(av) || av->sl > 15)
		return -EINVAL;
	/* As on adapters, LMC bits of the path bits count: ibacm passes those of a whole LID. */
	f = (struct ut_flow){
		.slid = (uint16_t)(p->lid | (av->src_path_bits & ((1u << p->lmc) - 1))), .dlid = av->dlid, .sl = av->sl,
		.rate = av->static_rate, .lids = 1,
	};
	r = put_grh(port, &f, av);
	if (r < 0)
		return r;
	*path = (struct ibp_path){ .flow = f, .valid = true };
	ibp_icrc_there(&path->icrc, &path->flow);
	return 0;
}

int ibp_path_set(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av, uint16_t sport)
{
	eng_dev_held(port->dev);
	if (port->dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		return ibp_path_from_lid(port, path, av);
	return ibp_path_from_grh(port, path, av, sport);
}

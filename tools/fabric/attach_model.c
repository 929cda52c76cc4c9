/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "attach_model.h"

#include "mgmt/carry.h"
#include "wire/grh.h"
#include "wire/smp_fields.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

static int node(void *ctx, const char *name, struct att_welcome *ret)
{
	const struct fab_node *n = fab_node_by_name(ctx, name);

	if (!n) {
		snprintf(ret->why, sizeof(ret->why),
			 "the fabric has no node %s: this process is at none; start it by dapple fabric run with a node that dapple "
			 "fabric show lists", name);
		return -ENODEV;
	}
	ret->node_guid = n->guid;
	ret->image_guid = n->system_guid;
	ret->vendor_id = n->vendor;
	ret->device_id = n->device;
	ret->revision = n->revision;
	ret->node_type = n->type;
	ret->ports = n->type == FAB_SWITCH ? 1 : n->n_ports;
	ret->first_port = n->type != FAB_SWITCH;
	memcpy(ret->description, n->description, sizeof(ret->description));
	return 0;
}

static void *port(void *ctx, const char *name, unsigned number)
{
	const struct fab_node *n = fab_node_by_name(ctx, name);
	struct fab_port *p = n ? fab_node_port(n, number) : NULL;

	return p && fab_port_is_end(p) ? p : NULL;
}

static struct attachments_port **slot(void *ctx, void *port)
{
	struct fab_port *p = port;

	return (struct attachments_port **)&p->user;
}

static void describe_tables(const struct fab_port *p, struct att_port *ret)
{
	unsigned pkeys = fab_port_n_pkeys(p), guids = fab_port_n_guids(p);

	ret->pkeys_n = (uint16_t)(pkeys < ATT_PKEYS_MAX ? pkeys : ATT_PKEYS_MAX);
	for (unsigned i = 0; i < ret->pkeys_n; i++)
		ret->pkeys[i] = fab_port_pkey(p, i);
	ret->guids_n = (uint8_t)(guids < ATT_GUIDS_MAX ? guids : ATT_GUIDS_MAX);
	for (unsigned i = 0; i < ret->guids_n; i++)
		ret->guids[i] = fab_port_guid(p, i);
}

/* Same names, same fields. */
#define COPY(to, from) ret->to = (__typeof__(ret->to))wire_get_PORT_INFO_##from(p->info)

static void describe(void *ctx, void *port, struct att_port *ret)
{
	const struct fab_port *p = port;

	memset(ret, 0, sizeof(*ret));
	ret->number = p->num;
	ret->guid = fab_port_guid(p, 0);
	COPY(cap_mask, capability_mask);
	COPY(gid_prefix, gid_prefix);
	COPY(lid, lid);
	COPY(sm_lid, sm_lid);
	COPY(cap_mask2, capability_mask2);
	COPY(diag_code, diag_code);
	COPY(mkey_violations, m_key_violations);
	COPY(pkey_violations, p_key_violations);
	COPY(qkey_violations, q_key_violations);
	COPY(lmc, lmc);
	COPY(sm_sl, sm_sl);
	COPY(state, port_state);
	COPY(phys_state, phys_state);
	COPY(width_supported, width_supported);
	COPY(width_enabled, width_enabled);
	COPY(width_active, width_active);
	COPY(speed_supported, speed_supported);
	COPY(speed_enabled, speed_enabled);
	COPY(speed_active, speed_active);
	COPY(speed_ext_supported, ext_speed_supported);
	COPY(speed_ext_enabled, ext_speed_enabled);
	COPY(speed_ext_active, ext_speed_active);
	COPY(mtu_cap, mtu_cap);
	COPY(neighbor_mtu, neighbor_mtu);
	COPY(vl_cap, vl_cap);
	COPY(operational_vls, oper_vls);
	COPY(init_type_reply, init_reply);
	COPY(subnet_timeout, subnet_timeout);
	describe_tables(p, ret);
}

static void own_gid(const struct fab_port *p, unsigned index, uint8_t gid[16])
{
	wire_put64(gid, wire_get_PORT_INFO_gid_prefix(p->info));
	wire_put64(gid + 8, fab_port_guid(p, index));
}

/* The network's bytes behind the GRH: BTH, DETH, datagram, ICRC. */
#define GRH_PAYLOAD (12 + 8 + MAD_LEN + 4)

static void put_grh(const struct fab_port *p, const struct att_addr *to, struct mad *m)
{
	struct wire_grh g = {
		.ipver = 6, .nxt_hdr = WIRE_NXT_HDR_IBA, .pay_len = GRH_PAYLOAD, .flow_label = to->flow_label,
		.tclass = to->traffic_class, .hop_lmt = to->hop_limit,
	};

	own_gid(p, to->gid_index, g.sgid);
	memcpy(g.dgid, to->gid, sizeof(g.dgid));
	m->has_grh = wire_grh_put(m->grh, sizeof(m->grh), &g) != 0;
}

static void send(void *ctx, void *port, unsigned qpn, const struct att_addr *to, uint8_t mad[ATT_MAD_LENGTH])
{
	struct fab_port *p = port;
	struct mad m = {
		.slid = to->path_bits, .dlid = to->lid, .sl = to->sl, .pkey = fab_port_pkey(p, to->pkey_index),
		.sqpn = qpn, .dqpn = to->qpn, .qkey = to->qkey,
	};

	memcpy(m.bytes, mad, MAD_LEN);
	if (to->grh_present)
		put_grh(p, to, &m);
	fab_send(p, &m);
}

static void set_sm(void *ctx, void *port, bool on)
{
	fab_port_set_is_sm(port, on);
}

static void rename_node(void *ctx, const char *name, const char *text)
{
	struct fab_node *n = fab_node_by_name(ctx, name);

	if (n)
		fab_node_describe(n, text);
}

static void set_dm(void *ctx, void *port, bool on)
{
	fab_port_set_capabilities(port, on ? FAB_CAP_DEV_MGT : 0, on ? 0 : FAB_CAP_DEV_MGT);
}

static void name(void *ctx, void *port, char ret[ATT_NAME_MAX])
{
	const struct fab_port *p = port;

	snprintf(ret, ATT_NAME_MAX, "%s", p->node->name);
}

static const struct attachments_ops ops = {
	.node = node, .port = port, .slot = slot, .name = name, .describe = describe, .send = send, .set_sm = set_sm, .set_dm = set_dm,
	.rename = rename_node,
};

int attach_model_open(struct attachments **ret, struct loop *loop, const char *dir, struct fab *f, char why[ATT_WHY_MAX])
{
	return attachments_open(ret, loop, dir, &ops, f, why);
}

static uint16_t pkey_index(const struct fab_port *p, uint16_t pkey)
{
	unsigned n = fab_port_n_pkeys(p);

	for (unsigned i = 0; i < n; i++)
		if ((fab_port_pkey(p, i) & 0x7fff) == (pkey & 0x7fff))
			return (uint16_t)i;
	return 0;
}

/* Which of the port's GUIDs the packet was sent to. */
static uint8_t gid_index(const struct fab_port *p, const uint8_t *dgid)
{
	unsigned n = fab_port_n_guids(p);
	uint64_t guid = wire_get64(dgid + 8);

	for (unsigned i = 0; i < n && i < 256; i++)
		if (fab_port_guid(p, i) == guid)
			return (uint8_t)i;
	return 0;
}

static void source(const struct fab_port *p, const struct mad *m, struct att_addr *ret)
{
	struct wire_grh g;
	unsigned paths = 1u << fab_port_lmc(p);

	*ret = (struct att_addr){
		.qpn = m->sqpn & 0xffffff, .qkey = m->qkey, .lid = m->slid, .sl = m->sl & 15,
		.path_bits = (uint8_t)(m->dlid == MAD_LID_PERMISSIVE ? 0 : m->dlid & (paths - 1)),
		.pkey_index = m->dqpn ? pkey_index(p, m->pkey) : 0,
	};
	if (!m->has_grh || wire_grh_get(m->grh, sizeof(m->grh), &g))
		return;
	ret->grh_present = 1;
	ret->gid_index = gid_index(p, g.dgid);
	ret->flow_label = g.flow_label & 0xfffff;
	ret->hop_limit = g.hop_lmt;
	ret->traffic_class = g.tclass;
	memcpy(ret->gid, g.sgid, sizeof(ret->gid));
}

void attach_model_deliver(struct attachments *a, struct fab_port *port, const struct mad *m)
{
	struct att_addr from;
	uint8_t mad[ATT_MAD_LENGTH];

	source(port, m, &from);
	memcpy(mad, m->bytes, sizeof(mad));
	if (attachments_deliver(a, port, m->dqpn, &from, mad) == AGENTS_ANSWER)
		send(port->node->fabric, port, m->dqpn, &from, mad);
}

void attach_model_changed(struct attachments *a, struct fab_port *port, unsigned what)
{
	static const struct { unsigned from; uint32_t to; } rows[] = {
		{ FAB_CHANGED_LID, ATT_LID_CHANGE }, { FAB_CHANGED_SM, ATT_SM_CHANGE },
		{ FAB_CHANGED_PKEYS, ATT_PKEY_CHANGE }, { FAB_CHANGED_GIDS, ATT_GID_CHANGE },
		{ FAB_CHANGED_REREGISTER, ATT_CLIENT_REREGISTER }, { FAB_CHANGED_INFO, ATT_OTHER_CHANGE },
	};
	uint32_t events = 0;

	if (what & FAB_CHANGED_STATE)
		events |= fab_port_state(port) == FAB_ACTIVE ? ATT_PORT_ACTIVE : ATT_PORT_ERR;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (what & rows[i].from)
			events |= rows[i].to;
	attachments_changed(a, port, events);
}

void attach_model_removed(struct attachments *a, struct fab_node *n)
{
	for (unsigned i = 0; i <= n->n_ports; i++) {
		struct fab_port *p = fab_node_port(n, i);

		if (p && p->user)
			attachments_changed(a, p, ATT_NODE_GONE);
	}
}

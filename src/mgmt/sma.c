/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/sma.h"

#include "mgmt/port.h"
#include "mgmt/smp.h"
#include "mgmt/switch.h"
#include "mgmt/trap.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/cm_fields.h"

/* A request at the agent. */
struct request {
	struct fab_port *base;	/* the end port that it came to */
	struct fab_node *node;
	unsigned in;		/* the port of its arrival */
	bool is_set;
	bool has_key;		/* the SMP has the M_Key of the port, or the port has none */
	uint32_t mod;		/* AttributeModifier */
	uint8_t *data;		/* 64 bytes: the attribute, in and out */
};

/* --- attributes; each returns the status of the response --- */

static uint16_t node_description(struct request *r)
{
	if (r->is_set)
		return MAD_BAD_ATTRIBUTE;
	memcpy(r->data, r->node->description, WIRE_NODE_DESC_LEN);
	return MAD_OK;
}

static uint16_t node_info(struct request *r)
{
	const struct fab_node *n = r->node;
	uint8_t *d = r->data;

	if (r->is_set)
		return MAD_BAD_ATTRIBUTE;
	memset(d, 0, WIRE_NODE_INFO_LEN);
	wire_set_NODE_INFO_base_version(d, 1);
	wire_set_NODE_INFO_class_version(d, 1);
	wire_set_NODE_INFO_node_type(d, n->type);
	wire_set_NODE_INFO_num_ports(d, n->n_ports);
	wire_set_NODE_INFO_system_guid(d, n->system_guid);
	wire_set_NODE_INFO_node_guid(d, n->guid);
	wire_set_NODE_INFO_port_guid(d, r->base->guid);
	wire_set_NODE_INFO_partition_cap(d, FAB_PKEYS_CA);
	wire_set_NODE_INFO_device_id(d, n->device);
	wire_set_NODE_INFO_revision(d, n->revision);
	wire_set_NODE_INFO_local_port(d, r->in);
	wire_set_NODE_INFO_vendor_id(d, n->vendor);
	return MAD_OK;
}

/* Fields that the SM sets (14.2.5.4, table 139); the others are the switch's. */
static uint16_t set_switch_info(struct request *r)
{
	uint8_t *now = r->node->sw->info;
	const uint8_t *d = r->data;

	if (wire_get_SWITCH_INFO_linear_top(d) > FAB_LINEAR_CAP)
		return MAD_BAD_FIELD;
	if (wire_get_SWITCH_INFO_linear_top(now) != wire_get_SWITCH_INFO_linear_top(d))
		fab_touch(r->node->fabric);
	wire_set_SWITCH_INFO_linear_top(now, wire_get_SWITCH_INFO_linear_top(d));
	wire_set_SWITCH_INFO_default_port(now, wire_get_SWITCH_INFO_default_port(d));
	wire_set_SWITCH_INFO_default_mcast_primary(now, wire_get_SWITCH_INFO_default_mcast_primary(d));
	wire_set_SWITCH_INFO_default_mcast_not_primary(now, wire_get_SWITCH_INFO_default_mcast_not_primary(d));
	wire_set_SWITCH_INFO_life_time(now, wire_get_SWITCH_INFO_life_time(d));
	wire_set_SWITCH_INFO_mcast_top(now, wire_get_SWITCH_INFO_mcast_top(d));
	/* Written as 1 the bit is cleared, as 0 it stays. */
	if (wire_get_SWITCH_INFO_port_state_change(d))
		wire_set_SWITCH_INFO_port_state_change(now, 0);
	return MAD_OK;
}

static uint16_t switch_info(struct request *r)
{
	uint16_t status = MAD_OK;

	if (!r->node->sw)
		return MAD_BAD_ATTRIBUTE;
	if (r->is_set)
		status = set_switch_info(r);
	memcpy(r->data, r->node->sw->info, WIRE_SWITCH_INFO_LEN);
	return status;
}

static uint16_t guid_info(struct request *r)
{
	struct fab_port *p = r->base;
	unsigned i, n = fab_port_n_guids(p);

	if (r->mod * 8 >= n)
		return MAD_BAD_FIELD;
	if (r->is_set && !p->guids) {
		p->guids = ut_calloc(n, sizeof(*p->guids));
		if (!p->guids)
			return MAD_BUSY;
	}
	/* Entry 0 is the port GUID, read only. */
	for (i = r->mod ? 0 : 1; r->is_set && i < 8; i++)
		p->guids[r->mod * 8 + i] = wire_get64(r->data + 8 * i);
	if (r->is_set)
		fab_changed(p, FAB_CHANGED_GIDS);
	for (i = 0; i < 8; i++)
		wire_put64(r->data + 8 * i, fab_port_guid(p, r->mod * 8 + i));
	return MAD_OK;
}

/* --- PortInfo --- */

/* The port that the modifier names; bit 31 says that the SM knows extended speeds. NULL: none. */
static struct fab_port *named_port(const struct request *r)
{
	uint32_t num = r->mod & 0x7fffffffu;

	if (num == 0)
		return r->base;
	return num <= r->node->n_ports ? &r->node->ports[num] : NULL;
}

static void show_port(const struct request *r, const struct fab_port *p)
{
	uint8_t *d = r->data;

	memcpy(d, p->info, WIRE_PORT_INFO_LEN);
	wire_set_PORT_INFO_local_port(d, r->in);
	/* Protection 1 and above hides the key from SMPs without it (14.2.4.1, table 129). */
	if (!r->has_key && wire_get_PORT_INFO_m_key_protect(p->info))
		wire_set_PORT_INFO_m_key(d, 0);
	/* Capabilities of a switch are those of its port 0, but for the speeds of each port. */
	if (!fab_port_is_end(p))
		wire_set_PORT_INFO_capability_mask(d, wire_get_PORT_INFO_capability_mask(r->base->info));
}

/* A set of widths or speeds as written: 0 leaves it, `all` means all supported ones. Returns false if not supported. */
static bool take_set(uint64_t written, uint64_t all, uint64_t supported, uint64_t *now)
{
	if (written == 0)
		return true;
	if (written == all)
		written = supported;
	if (written & ~supported)
		return false;
	*now = written;
	return true;
}

static bool take_link_sets(struct fab_port *p, const uint8_t *d)
{
	uint64_t width = wire_get_PORT_INFO_width_enabled(p->info);
	uint64_t speed = wire_get_PORT_INFO_speed_enabled(p->info);
	uint64_t ext = wire_get_PORT_INFO_ext_speed_enabled(p->info), written_ext;

	if (!take_set(wire_get_PORT_INFO_width_enabled(d), 0xff, wire_get_PORT_INFO_width_supported(p->info), &width) ||
	    !take_set(wire_get_PORT_INFO_speed_enabled(d), 0xf, wire_get_PORT_INFO_speed_supported(p->info), &speed))
		return false;
	written_ext = wire_get_PORT_INFO_ext_speed_enabled(d);
	if (written_ext == 30)	/* no extended speed (table 145, LinkSpeedExtEnabled) */
		ext = 0;
	else if (!take_set(written_ext, 31, wire_get_PORT_INFO_ext_speed_supported(p->info), &ext))
		return false;
	/* They hold from the next training on. */
	wire_set_PORT_INFO_width_enabled(p->info, width);
	wire_set_PORT_INFO_speed_enabled(p->info, speed);
	wire_set_PORT_INFO_ext_speed_enabled(p->info, ext);
	return true;
}

/* What only end ports and port 0 have. Returns FAB_CHANGED_*, or a negative number for a bad field. */
static int take_identity(const struct request *r, struct fab_port *p)
{
	const uint8_t *d = r->data;
	uint64_t lid = wire_get_PORT_INFO_lid(d), lmc = wire_get_PORT_INFO_lmc(d);
	int what = 0;

	if (lid >= MAD_LID_MCAST || wire_get_PORT_INFO_sm_lid(d) >= MAD_LID_MCAST)
		return -1;
	/* The base LID has LMC zeros at its end (4.1.3); a basic port 0 has one LID. */
	if (lid & ((1u << lmc) - 1) || (lmc && p->node->sw && !wire_get_SWITCH_INFO_enhanced_port0(p->node->sw->info)))
		return -1;
	if (lid != fab_port_lid(p) || lmc != fab_port_lmc(p))
		what |= FAB_CHANGED_LID;
	if (wire_get_PORT_INFO_sm_lid(d) != wire_get_PORT_INFO_sm_lid(p->info) ||
	    wire_get_PORT_INFO_sm_sl(d) != wire_get_PORT_INFO_sm_sl(p->info))
		what |= FAB_CHANGED_SM;
	if (wire_get_PORT_INFO_gid_prefix(d) != wire_get_PORT_INFO_gid_prefix(p->info))
		what |= FAB_CHANGED_GIDS;
	if (wire_get_PORT_INFO_client_reregister(d))
		what |= FAB_CHANGED_REREGISTER;
	wire_set_PORT_INFO_m_key(p->info, wire_get_PORT_INFO_m_key(d));
	wire_set_PORT_INFO_gid_prefix(p->info, wire_get_PORT_INFO_gid_prefix(d));
	wire_set_PORT_INFO_lid(p->info, lid);
	wire_set_PORT_INFO_lmc(p->info, lmc);
	wire_set_PORT_INFO_sm_lid(p->info, wire_get_PORT_INFO_sm_lid(d));
	wire_set_PORT_INFO_sm_sl(p->info, wire_get_PORT_INFO_sm_sl(d));
	wire_set_PORT_INFO_m_key_lease(p->info, wire_get_PORT_INFO_m_key_lease(d));
	wire_set_PORT_INFO_m_key_protect(p->info, wire_get_PORT_INFO_m_key_protect(d));
	wire_set_PORT_INFO_subnet_timeout(p->info, wire_get_PORT_INFO_subnet_timeout(d));
	wire_set_PORT_INFO_mcast_pkey_trap(p->info, wire_get_PORT_INFO_mcast_pkey_trap(d));
	wire_set_PORT_INFO_m_key_violations(p->info, wire_get_PORT_INFO_m_key_violations(d));
	wire_set_PORT_INFO_p_key_violations(p->info, wire_get_PORT_INFO_p_key_violations(d));
	wire_set_PORT_INFO_q_key_violations(p->info, wire_get_PORT_INFO_q_key_violations(d));
	return what;
}

static bool take_link_values(struct fab_port *p, const uint8_t *d)
{
	uint64_t mtu = wire_get_PORT_INFO_neighbor_mtu(d), vls = wire_get_PORT_INFO_oper_vls(d);

	if (mtu > wire_get_PORT_INFO_mtu_cap(p->info) || vls > wire_get_PORT_INFO_vl_cap(p->info))
		return false;
	if (mtu)
		wire_set_PORT_INFO_neighbor_mtu(p->info, mtu);
	if (vls)
		wire_set_PORT_INFO_oper_vls(p->info, vls);
	if (wire_get_PORT_INFO_down_default(d))
		wire_set_PORT_INFO_down_default(p->info, wire_get_PORT_INFO_down_default(d));
	wire_set_PORT_INFO_vl_high_limit(p->info, wire_get_PORT_INFO_vl_high_limit(d));
	wire_set_PORT_INFO_vl_stall(p->info, wire_get_PORT_INFO_vl_stall(d));
	wire_set_PORT_INFO_hoq_life(p->info, wire_get_PORT_INFO_hoq_life(d));
	wire_set_PORT_INFO_enforce_inbound(p->info, wire_get_PORT_INFO_enforce_inbound(d));
	wire_set_PORT_INFO_enforce_outbound(p->info, wire_get_PORT_INFO_enforce_outbound(d));
	wire_set_PORT_INFO_filter_raw_inbound(p->info, wire_get_PORT_INFO_filter_raw_inbound(d));
	wire_set_PORT_INFO_filter_raw_outbound(p->info, wire_get_PORT_INFO_filter_raw_outbound(d));
	wire_set_PORT_INFO_local_phy_errors(p->info, wire_get_PORT_INFO_local_phy_errors(d));
	wire_set_PORT_INFO_overrun_errors(p->info, wire_get_PORT_INFO_overrun_errors(d));
	return take_link_sets(p, d);
}

/* PortState and PortPhysicalState, 0 each for "as it is" (14.2.5.6). */
static bool take_states(struct fab_port *p, const uint8_t *d)
{
	unsigned state = (unsigned)wire_get_PORT_INFO_port_state(d);
	unsigned phys = (unsigned)wire_get_PORT_INFO_phys_state(d);

	if (p->num == 0 && p->node->sw)
		return true;
	if (state == FAB_INIT || state > FAB_ACTIVE || phys > FAB_DISABLED)
		return false;
	if (phys == FAB_DISABLED || phys == FAB_SLEEP) {
		fab_port_set_phys(p, phys);
		return true;
	}
	if (phys == FAB_POLLING)
		fab_port_set_phys(p, phys);
	if (state == FAB_DOWN && fab_port_is_up(p)) {
		fab_port_bounce(p);
		return true;
	}
	return state == FAB_NOP || state == FAB_DOWN || fab_port_advance(p, state);
}

static uint16_t set_port_info(struct request *r, struct fab_port *p)
{
	uint8_t wanted[WIRE_PORT_INFO_LEN];
	int what = 0;
	bool ok;

	memcpy(wanted, r->data, sizeof(wanted));
	if (fab_port_is_end(p)) {
		what = take_identity(r, p);
		if (what < 0)
			return MAD_BAD_FIELD;
	}
	ok = take_link_values(p, wanted) && take_states(p, wanted);
	fab_changed(p, (unsigned)what | FAB_CHANGED_INFO);
	if (what & (FAB_CHANGED_SM | FAB_CHANGED_LID))
		fab_trap_resume(p);
	return ok ? MAD_OK : MAD_BAD_FIELD;
}

static uint16_t port_info(struct request *r)
{
	struct fab_port *p = named_port(r);
	bool asks_reregister = wire_get_PORT_INFO_client_reregister(r->data);
	uint16_t status = MAD_OK;

	if (!p)
		return MAD_BAD_FIELD;
	/* A port of a CA is set through itself alone. */
	if (r->is_set && !r->node->sw && p != r->base)
		return MAD_BAD_FIELD;
	if (r->is_set)
		status = set_port_info(r, p);
	show_port(r, p);
	if (r->is_set)
		wire_set_PORT_INFO_client_reregister(r->data, asks_reregister);
	return status;
}

/* --- tables --- */

static struct fab_partition_table *pkeys_of(struct fab_port *p)
{
	unsigned n = fab_port_n_pkeys(p);

	if (p->pkeys)
		return p->pkeys;
	p->pkeys = ut_zalloc(sizeof(*p->pkeys) + n * sizeof(p->pkeys->key[0]));
	if (!p->pkeys)
		return NULL;
	p->pkeys->n = (uint16_t)n;
	if (fab_port_is_end(p))
		p->pkeys->key[0] = 0xffff;
	return p->pkeys;
}

static uint16_t pkey_table(struct request *r)
{
	struct fab_port *p = r->base;
	unsigned i, block = r->mod & 0xffff, num = r->mod >> 16;
	struct fab_partition_table *t;

	if (r->node->sw) {
		if (num > r->node->n_ports)
			return MAD_BAD_FIELD;
		p = &r->node->ports[num];
	}
	if (block * 32 >= fab_port_n_pkeys(p))
		return MAD_BAD_FIELD;
	if (r->is_set) {
		t = pkeys_of(p);
		if (!t)
			return MAD_BUSY;
		for (i = 0; i < 32; i++)
			t->key[block * 32 + i] = wire_get16(r->data + 2 * i);
		fab_changed(p, FAB_CHANGED_PKEYS);
	}
	for (i = 0; i < 32; i++)
		wire_put16(r->data + 2 * i, fab_port_pkey(p, block * 32 + i));
	return MAD_OK;
}

/* Mappings of an output port, one for each input port of a switch; identity until the SM writes one. */
static uint8_t *sl_map(struct fab_port *p)
{
	unsigned in, i, n = p->node->sw ? p->node->n_ports + 1u : 1;

	if (p->sl_to_vl)
		return p->sl_to_vl;
	p->sl_to_vl = ut_malloc(8 * n);
	for (in = 0; p->sl_to_vl && in < n; in++)
		for (i = 0; i < 8; i++)
			p->sl_to_vl[8 * in + i] = (uint8_t)(((2 * i) & 7) << 4 | ((2 * i + 1) & 7));
	return p->sl_to_vl;
}

static uint16_t sl_to_vl(struct request *r)
{
	struct fab_port *out = r->base;
	unsigned in = 0;
	uint8_t *map;

	if (r->node->sw) {
		in = r->mod >> 8 & 0xff;
		if (r->mod >> 16 || in > r->node->n_ports || (r->mod & 0xff) > r->node->n_ports)
			return MAD_BAD_FIELD;
		out = &r->node->ports[r->mod & 0xff];
	}
	map = sl_map(out);
	if (!map)
		return MAD_BUSY;
	if (r->is_set) {
		memcpy(map + 8 * in, r->data, 8);
		fab_changed(out, FAB_CHANGED_INFO);
	}
	memset(r->data, 0, 64);
	memcpy(r->data, map + 8 * in, 8);
	return MAD_OK;
}

/* Two tables of 64 pairs of lane and weight; blocks 1 and 2 are the low one, 3 and 4 the high one. */
static uint8_t *vl_arbitration(struct fab_port *p)
{
	unsigned i;

	if (p->vl_arb)
		return p->vl_arb;
	p->vl_arb = ut_zalloc(2 * 64 * 2);
	for (i = 0; p->vl_arb && i < 8; i++) {
		p->vl_arb[2 * i] = (uint8_t)i;
		p->vl_arb[2 * i + 1] = 4;
	}
	return p->vl_arb;
}

static uint16_t vl_arb(struct request *r)
{
	struct fab_port *p = r->base;
	unsigned block = r->mod >> 16, num = r->mod & 0xffff;
	uint8_t *t;

	if (block < 1 || block > 4 || (r->node->sw && num > r->node->n_ports))
		return MAD_BAD_FIELD;
	if (r->node->sw)
		p = &r->node->ports[num];
	t = vl_arbitration(p);
	if (!t)
		return MAD_BUSY;
	t += (block - 1) * 64;
	if (r->is_set)
		memcpy(t, r->data, 64);
	memcpy(r->data, t, 64);
	return MAD_OK;
}

static uint16_t linear_fdb(struct request *r)
{
	struct fab_switch *sw = r->node->sw;

	if (!sw)
		return MAD_BAD_ATTRIBUTE;
	if (r->mod > FAB_LINEAR_CAP / FAB_LFT_BLOCK)
		return MAD_BAD_FIELD;
	if (r->is_set) {
		if (fab_switch_lft_set(sw, r->mod, r->data) < 0)
			return MAD_BUSY;
		fab_touch(r->node->fabric);
	}
	fab_switch_lft_get(sw, r->mod, r->data);
	return MAD_OK;
}

static uint16_t mcast_fdb(struct request *r)
{
	struct fab_switch *sw = r->node->sw;
	unsigned block = r->mod & 0x1ff, position = r->mod >> 28;

	if (!sw)
		return MAD_BAD_ATTRIBUTE;
	if (block >= FAB_MCAST_CAP / FAB_MFT_BLOCK || position > r->node->n_ports / 16u)
		return MAD_BAD_FIELD;
	if (r->is_set) {
		if (fab_switch_mft_set(sw, block, position, r->data) < 0)
			return MAD_BUSY;
		fab_touch(r->node->fabric);
	}
	fab_switch_mft_get(sw, block, position, r->data);
	return MAD_OK;
}

static uint16_t unsupported(struct request *r)
{
	return MAD_BAD_ATTRIBUTE;
}

static const struct attribute {
	uint16_t id;
	uint16_t (*process)(struct request *r);
} attributes[] = {
	/* In the order of their number in a sweep. */
	{ WIRE_SMP_ATTR_PORT_INFO, port_info },
	{ WIRE_SMP_ATTR_NODE_INFO, node_info },
	{ WIRE_SMP_ATTR_PKEY_TABLE, pkey_table },
	{ WIRE_SMP_ATTR_LINEAR_FDB, linear_fdb },
	{ WIRE_SMP_ATTR_NODE_DESC, node_description },
	{ WIRE_SMP_ATTR_SWITCH_INFO, switch_info },
	{ WIRE_SMP_ATTR_SL_TO_VL, sl_to_vl },
	{ WIRE_SMP_ATTR_VL_ARB, vl_arb },
	{ WIRE_SMP_ATTR_MCAST_FDB, mcast_fdb },
	{ WIRE_SMP_ATTR_GUID_INFO, guid_info },
	{ 0, unsupported },
};

/* --- M_Key (14.2.4) --- */

static void lease_expired(struct fab *f, struct fab_timer *t)
{
	struct fab_port *p = ut_container(t, struct fab_port, lease);

	wire_set_PORT_INFO_m_key_protect(p->info, 0);
}

static void violate(struct fab_port *p, const struct mad *m)
{
	uint64_t n = wire_get_PORT_INFO_m_key_violations(p->info);
	uint64_t lease_s = wire_get_PORT_INFO_m_key_lease(p->info);

	if (n < 0xffff)
		wire_set_PORT_INFO_m_key_violations(p->info, n + 1);
	/* A lease of 0 never ends; a running one is not begun anew. */
	if (lease_s && !ut_timer_queued(&p->lease.at)) {
		p->lease.due = lease_expired;
		fab_timer_set(p->node->fabric, &p->lease, p->node->fabric->now + lease_s * UT_S);
	}
	fab_trap_m_key(p, m);
}

/* Returns whether the SMP may pass, and if so whether it has the key. */
static bool check_key(struct fab_port *p, const struct mad *m, bool is_set, bool *ret_has_key)
{
	uint64_t key = wire_get_PORT_INFO_m_key(p->info);
	unsigned protect = (unsigned)wire_get_PORT_INFO_m_key_protect(p->info);

	*ret_has_key = key == 0 || wire_get_SMP_m_key(m->bytes) == key;
	if (*ret_has_key) {
		fab_timer_clear(p->node->fabric, &p->lease);
		return true;
	}
	if (!is_set && protect < 2)
		return true;
	violate(p, m);
	return false;
}

/* --- the agent --- */

static bool is_for_programs(const struct mad *m, unsigned method, unsigned attr)
{
	if (wire_get_MAD_r(m->bytes) || method == MAD_TRAP || method == MAD_REPORT)
		return true;
	return attr == WIRE_SMP_ATTR_SM_INFO && (method == MAD_GET || method == MAD_SET);
}

static uint16_t answer(struct request *r, unsigned attr)
{
	const struct attribute *a = attributes;

	while (a->id && a->id != attr)
		a++;
	if (r->is_set)
		r->node->fabric->sm_set++;
	return a->process(r);
}

enum sma_outcome sma_process(struct fab_port *base, unsigned in, struct mad *m)
{
	unsigned method = (unsigned)wire_get_MAD_method(m->bytes), attr = (unsigned)wire_get_MAD_attr_id(m->bytes);
	struct request r = { .base = base, .node = base->node, .in = in, .is_set = method == MAD_SET,
			     .mod = (uint32_t)wire_get_MAD_attr_mod(m->bytes), .data = m->bytes + WIRE_SMP_DATA };
	uint16_t status;

	if (is_for_programs(m, method, attr))
		return SMA_FOREIGN;
	if (wire_get_MAD_base_version(m->bytes) != 1 || wire_get_MAD_class_version(m->bytes) != 1) {
		smp_answer(m, MAD_BAD_VERSION);
		return SMA_ANSWERED;
	}
	if (!check_key(base, m, method != MAD_GET, &r.has_key))
		return SMA_CONSUMED;
	if (method == MAD_TRAP_REPRESS) {
		fab_trap_repress(base, m);
		return SMA_CONSUMED;
	}
	status = method == MAD_GET || method == MAD_SET ? answer(&r, attr) : MAD_BAD_METHOD;
	/* The key does not travel back (14.2.4.1). */
	if (!r.has_key)
		wire_set_SMP_m_key(m->bytes, 0);
	smp_answer(m, status);
	return SMA_ANSWERED;
}

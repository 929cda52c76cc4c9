/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/port.h"

#include "mgmt/hop.h"
#include "mgmt/pma.h"
#include "mgmt/switch.h"
#include "mgmt/trap.h"
#include "util/alloc.h"

#define MTU_4096 5
#define VL_0_7 4
#define GID_PREFIX_DEFAULT 0xfe80000000000000u

static unsigned phys(const struct fab_port *p)
{
	return (unsigned)wire_get_PORT_INFO_phys_state(p->info);
}

static unsigned best(unsigned set)
{
	return set ? 1u << (31 - __builtin_clz(set)) : 0;
}

/* By lanes: 2X has the highest bit, but is narrower than 4X. */
static unsigned best_width(unsigned set)
{
	return set & 0xf & ~(unsigned)FAB_1X ? best(set & 0xf) : set & FAB_2X ? FAB_2X : set & FAB_1X;
}

static void end_port_init(struct fab_port *p)
{
	uint8_t *i = p->info;

	wire_set_PORT_INFO_gid_prefix(i, GID_PREFIX_DEFAULT);
	wire_set_PORT_INFO_guid_cap(i, FAB_GUIDS);
	wire_set_PORT_INFO_subnet_timeout(i, 18);
	wire_set_PORT_INFO_resp_time(i, 16);
	wire_set_PORT_INFO_mcast_pkey_trap(i, 0);
}

static uint32_t capabilities(const struct fab_node *n)
{
	uint32_t c = FAB_CAP_TRAP | FAB_CAP_SL_MAP | FAB_CAP_SYS_GUID | FAB_CAP_EXT_SPEEDS | FAB_CAP_CAP_NOTICE |
		     FAB_CAP_REREGISTER | FAB_CAP_OTHER_NOTICE;

	return n->type == FAB_SWITCH ? c | FAB_CAP_MCAST_TOP : c | FAB_CAP_CM;
}

void fab_port_init(struct fab_port *p, struct fab_node *n, unsigned num)
{
	uint8_t *i = p->info;
	bool is_management = n->type == FAB_SWITCH && num == 0;

	p->node = n;
	p->num = (uint8_t)num;
	wire_set_PORT_INFO_capability_mask(i, capabilities(n));
	wire_set_PORT_INFO_port_state(i, is_management ? FAB_ACTIVE : FAB_DOWN);
	wire_set_PORT_INFO_phys_state(i, is_management ? FAB_LINK_UP : FAB_POLLING);
	wire_set_PORT_INFO_down_default(i, FAB_POLLING);
	fab_port_set_abilities(p, FAB_1X | FAB_4X, FAB_SDR | FAB_DDR | FAB_QDR, FAB_FDR | FAB_EDR);
	wire_set_PORT_INFO_mtu_cap(i, MTU_4096);
	wire_set_PORT_INFO_neighbor_mtu(i, MTU_4096);
	wire_set_PORT_INFO_vl_cap(i, VL_0_7);
	wire_set_PORT_INFO_oper_vls(i, VL_0_7);
	wire_set_PORT_INFO_vl_arb_high_cap(i, 64);
	wire_set_PORT_INFO_vl_arb_low_cap(i, 64);
	wire_set_PORT_INFO_local_phy_errors(i, 8);
	wire_set_PORT_INFO_overrun_errors(i, 8);
	if (fab_port_is_end(p))
		end_port_init(p);
}

void fab_port_fini(struct fab_port *p)
{
	fab_timer_clear(p->node->fabric, &p->lease);
	fab_pma_fini(p);
	free(p->guids);
	free(p->pkeys);
	free(p->sl_to_vl);
	free(p->vl_arb);
	free(p->count.base);
	free(p->count.lanes);
	if (p->hop)
		hop_port_free(p->hop);
}

/* What a port has enabled: width, speed, extended speed, MTU capability. */
static void enabled(const struct fab_port *p, uint8_t ret[4])
{
	ret[0] = (uint8_t)wire_get_PORT_INFO_width_enabled(p->info);
	ret[1] = (uint8_t)wire_get_PORT_INFO_speed_enabled(p->info);
	ret[2] = (uint8_t)wire_get_PORT_INFO_ext_speed_enabled(p->info);
	ret[3] = (uint8_t)wire_get_PORT_INFO_mtu_cap(p->info);
}

static void enable(struct fab_port *p, unsigned widths, unsigned speeds, unsigned ext)
{
	uint8_t *i = p->info;

	wire_set_PORT_INFO_width_enabled(i, widths & wire_get_PORT_INFO_width_supported(i));
	wire_set_PORT_INFO_speed_enabled(i, speeds & wire_get_PORT_INFO_speed_supported(i));
	wire_set_PORT_INFO_ext_speed_enabled(i, ext & wire_get_PORT_INFO_ext_speed_supported(i));
}

void fab_port_set_abilities(struct fab_port *p, unsigned widths, unsigned speeds, unsigned ext)
{
	uint8_t *i = p->info;
	uint32_t mask = (uint32_t)wire_get_PORT_INFO_capability_mask(i) & ~(uint32_t)FAB_CAP_EXT_SPEEDS;

	wire_set_PORT_INFO_capability_mask(i, ext ? mask | FAB_CAP_EXT_SPEEDS : mask);
	wire_set_PORT_INFO_width_supported(i, widths);
	wire_set_PORT_INFO_speed_supported(i, speeds);
	wire_set_PORT_INFO_ext_speed_supported(i, ext);
	if (p->num == 0 && p->node->type == FAB_SWITCH) {
		wire_set_PORT_INFO_width_active(i, best_width(widths));
		wire_set_PORT_INFO_speed_active(i, best(speeds));
		wire_set_PORT_INFO_ext_speed_active(i, best(ext));
	}
	enable(p, widths, speeds, ext);
	if (fab_port_is_up(p))
		fab_port_bounce(p);
	else
		fab_port_train(p);
}

/* Not by the SM: notice 144 says which sets have changed (14.3.10). */
void fab_port_enable(struct fab_port *p, unsigned widths, unsigned speeds, unsigned ext)
{
	uint8_t before[4], now[4];
	unsigned flags;

	enabled(p, before);
	enable(p, widths, speeds, ext);
	enabled(p, now);
	if (fab_port_is_up(p))
		fab_port_bounce(p);
	else
		fab_port_train(p);
	flags = (before[0] != now[0] ? FAB_LOCAL_WIDTH : 0u) | (memcmp(before + 1, now + 1, 2) ? FAB_LOCAL_SPEED : 0u);
	if (flags)
		fab_trap_local(p, flags);
}

/* --- what goes wrong on a link --- */

/* A counter of 4 bits: after so many periods in a row with an overrun it counts once (14.2.5.6, OverrunErrors). */
void fab_port_overrun(struct fab_port *p)
{
	unsigned limit = (unsigned)wire_get_PORT_INFO_overrun_errors(p->info), i;

	for (i = 0; i < limit; i++) {
		p->count.c[FAB_C_BUFFER_OVERRUN]++;
		p->count.c[FAB_C_RCV_ERRORS]++;
	}
	if (!limit)
		return;
	p->count.c[FAB_C_OVERRUN]++;
	fab_trap_threshold(p, FAB_TRAP_OVERRUN);
}

void fab_port_stall(struct fab_port *p)
{
	if (!fab_port_is_up(p))
		return;
	p->count.c[FAB_C_LINK_RECOVERY]++;
	fab_trap_threshold(p, FAB_TRAP_WATCHDOG);
}

bool fab_port_is_up(const struct fab_port *p)
{
	return phys(p) == FAB_LINK_UP && (p->peer || p->is_trunk);
}

/* The port itself asks for a link. */
static bool is_enabled(const struct fab_port *p)
{
	return !p->is_cut && phys(p) != FAB_DISABLED && phys(p) != FAB_SLEEP;
}

/* Returns false if the other end asks for no link, else what it has enabled. */
static bool other_end(const struct fab_port *p, uint8_t ret[4])
{
	if (p->is_trunk) {
		memcpy(ret, p->far_info, 4);
		return p->far_up;
	}
	if (!p->peer || !is_enabled(p->peer))
		return false;
	enabled(p->peer, ret);
	return true;
}

/* An external port of a switch has changed its state: the SM learns it by the bit, and by notice 128. */
static void tell_sm(struct fab_port *p)
{
	struct fab_node *n = p->node;

	if (n->type != FAB_SWITCH || p->num == 0)
		return;
	wire_set_SWITCH_INFO_port_state_change(n->sw->info, 1);
	fab_trap_link_state(n);
}

static void come_up(struct fab_port *p, const uint8_t here[4], const uint8_t there[4])
{
	uint8_t *i = p->info;
	unsigned ext = here[2] & there[2];

	wire_set_PORT_INFO_phys_state(i, FAB_LINK_UP);
	wire_set_PORT_INFO_port_state(i, FAB_INIT);
	wire_set_PORT_INFO_width_active(i, best_width(here[0] & there[0]));
	/* With an extended speed the other field has its highest value (14.2.5.6, LinkSpeedActive). */
	wire_set_PORT_INFO_speed_active(i, ext ? FAB_QDR : best(here[1] & there[1]));
	wire_set_PORT_INFO_ext_speed_active(i, best(ext));
	wire_set_PORT_INFO_neighbor_mtu(i, here[3] < there[3] ? here[3] : there[3]);
	fab_changed(p, FAB_CHANGED_STATE | FAB_CHANGED_INFO);
	tell_sm(p);
}

static void go_down(struct fab_port *p)
{
	uint8_t *i = p->info;

	if (phys(p) == FAB_LINK_UP)
		wire_set_PORT_INFO_phys_state(i, FAB_POLLING);
	if (fab_port_state(p) == FAB_DOWN)
		return;
	p->count.c[FAB_C_LINK_DOWNED]++;
	wire_set_PORT_INFO_port_state(i, FAB_DOWN);
	fab_changed(p, FAB_CHANGED_STATE | FAB_CHANGED_INFO);
	tell_sm(p);
}

/* One end. Links need a common width, and a common speed of either kind. */
static void train_end(struct fab_port *p)
{
	uint8_t here[4], there[4];
	bool up;

	enabled(p, here);
	up = is_enabled(p) && other_end(p, there) && best_width(here[0] & there[0]) &&
	     (here[1] & there[1] || here[2] & there[2]);
	if (up && phys(p) != FAB_LINK_UP)
		come_up(p, here, there);
	else if (!up)
		go_down(p);
}

void fab_port_train(struct fab_port *p)
{
	struct fab_port *peer = p->peer;

	if (p->num == 0 && p->node->type == FAB_SWITCH)
		return;
	train_end(p);
	if (peer)
		train_end(peer);
	if (p->is_trunk && p->node->fabric->ops->trunk_changed)
		p->node->fabric->ops->trunk_changed(p->node->fabric->ctx, p);
}

void fab_port_bounce(struct fab_port *p)
{
	if (p->num == 0 && p->node->type == FAB_SWITCH)
		return;
	go_down(p);
	if (p->peer)
		go_down(p->peer);
	fab_port_train(p);
}

void fab_port_set_phys(struct fab_port *p, unsigned to)
{
	if (to == FAB_POLLING && (phys(p) == FAB_DISABLED || phys(p) == FAB_SLEEP)) {
		wire_set_PORT_INFO_phys_state(p->info, FAB_POLLING);
		fab_port_train(p);
	} else if (to == FAB_POLLING && phys(p) == FAB_LINK_UP) {
		/* A link that is up begins again, with what is enabled now (14.2.5.6: PortPhysicalState). */
		fab_port_bounce(p);
	} else if (to == FAB_DISABLED || to == FAB_SLEEP) {
		wire_set_PORT_INFO_phys_state(p->info, to);
		fab_port_train(p);
	}
}

bool fab_port_advance(struct fab_port *p, unsigned state)
{
	unsigned now = fab_port_state(p);

	if (now == state)
		return true;
	if (now + 1 != state || now < FAB_INIT)
		return false;
	wire_set_PORT_INFO_port_state(p->info, state);
	fab_changed(p, FAB_CHANGED_STATE);
	return true;
}

void fab_port_cut(struct fab_port *p, bool is_cut)
{
	p->is_cut = is_cut;
	if (p->peer)
		p->peer->is_cut = is_cut;
	fab_port_train(p);
}

void fab_port_trunk(struct fab_port *p, bool is_trunk)
{
	p->is_trunk = is_trunk;
	p->far_up = false;
	fab_port_train(p);
}

void fab_port_trunk_far(struct fab_port *p, bool up, const uint8_t far_info[4])
{
	bool same = memcmp(p->far_info, far_info, 4) == 0;

	p->far_up = up;
	memcpy(p->far_info, far_info, 4);
	if (fab_port_is_up(p) && !same)
		go_down(p);
	train_end(p);
}

bool fab_port_trunk_own(const struct fab_port *p, uint8_t ret_info[4])
{
	enabled(p, ret_info);
	return is_enabled(p);
}

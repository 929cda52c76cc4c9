/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Nodes, links, the port state machine, routes of data and of MADs by LID, multicast, and partitions. */
#include "mgmt_util.h"

#include "mgmt/pma.h"
#include "mgmt/switch.h"
#include "util/alloc.h"

/* Two nodes on two switches:  a -- s1 == s2 -- b,  with LIDs 1, 2, 3, 4 and tables as an SM would write them. */
struct line {
	struct world w;
	struct fab_node *a, *b, *s1, *s2;
};

static void set_lid(struct fab_port *p, uint16_t lid)
{
	wire_set_PORT_INFO_lid(p->info, lid);
	wire_set_PORT_INFO_sm_lid(p->info, 1);
}

static void route(struct fab_node *sw, uint16_t lid, uint8_t port)
{
	uint8_t block[FAB_LFT_BLOCK];

	fab_switch_lft_get(sw->sw, 0, block);
	block[lid] = port;
	CHECK(fab_switch_lft_set(sw->sw, 0, block) == 0);
	wire_set_SWITCH_INFO_linear_top(sw->sw->info, 63);
}

static void activate(struct fab_node *n)
{
	unsigned i;

	for (i = 1; i <= n->n_ports; i++)
		if (fab_port_state(&n->ports[i]) == FAB_INIT) {
			CHECK(fab_port_advance(&n->ports[i], FAB_ARMED));
			CHECK(fab_port_advance(&n->ports[i], FAB_ACTIVE));
		}
}

/* Writes entry 0 of the table, as the SM does it. */
static void set_pkey(struct fab_port *p, uint16_t key)
{
	if (!p->pkeys)
		p->pkeys = ut_zalloc(sizeof(*p->pkeys) + FAB_PKEYS_CA * sizeof(p->pkeys->key[0]));
	CHECK(p->pkeys);
	p->pkeys->n = FAB_PKEYS_CA;
	p->pkeys->key[0] = key;
}

static void line_init(struct line *l)
{
	static const uint8_t to[2][4] = { { 1, 0, 2, 2 }, { 2, 2, 0, 1 } };	/* by LID 1..4 */
	unsigned i;

	world_init(&l->w);
	l->a = world_node(&l->w, "a", FAB_CA, 1);
	l->s1 = world_node(&l->w, "s1", FAB_SWITCH, 4);
	l->s2 = world_node(&l->w, "s2", FAB_SWITCH, 4);
	l->b = world_node(&l->w, "b", FAB_CA, 1);
	CHECK(fab_link(&l->a->ports[1], &l->s1->ports[1]) == 0);
	CHECK(fab_link(&l->s1->ports[2], &l->s2->ports[2]) == 0);
	CHECK(fab_link(&l->s2->ports[1], &l->b->ports[1]) == 0);
	set_lid(&l->a->ports[1], 1);
	set_lid(&l->s1->ports[0], 2);
	set_lid(&l->s2->ports[0], 3);
	set_lid(&l->b->ports[1], 4);
	for (i = 0; i < 4; i++) {
		route(l->s1, (uint16_t)(i + 1), to[0][i]);
		route(l->s2, (uint16_t)(i + 1), to[1][i]);
	}
	activate(l->a);
	activate(l->b);
	activate(l->s1);
	activate(l->s2);
}

static void test_names(void)
{
	struct world w;
	struct fab_node *n, *other;
	struct fab_node_spec spec = { .name = "x", .type = FAB_CA, .n_ports = 2, .guid = 0x10, .port_guid = 0x20 };
	char text[24];

	world_init(&w);
	CHECK(fab_node_add(w.f, &spec, &n) == 0);
	CHECK(fab_node_by_name(w.f, "x") == n && fab_node_by_name(w.f, "0x10") == n);
	CHECK(fab_node_by_name(w.f, "H-0000000000000010") == n && !fab_node_by_name(w.f, "y"));
	CHECK(fab_port_by_guid(w.f, 0x20) == &n->ports[1] && fab_port_by_guid(w.f, 0x21) == &n->ports[2]);
	CHECK(!fab_port_by_guid(w.f, 0x10) && !fab_node_port(n, 0) && !fab_node_port(n, 3));
	CHECK(fab_node_add(w.f, &spec, &other) == -EEXIST);
	spec.name = "y";
	CHECK(fab_node_add(w.f, &spec, &other) == -EEXIST);	/* the GUID */
	spec.guid = 0x11;
	CHECK(fab_node_add(w.f, &spec, &other) == -EEXIST);	/* the port GUID */
	spec.port_guid = 0x30;
	CHECK(fab_node_add(w.f, &spec, &other) == 0);
	fab_node_remove(n);
	CHECK(!fab_node_by_name(w.f, "x") && !fab_port_by_guid(w.f, 0x21) && fab_node_by_name(w.f, "y") == other);
	spec = (struct fab_node_spec){ .name = "", .type = FAB_CA, .n_ports = 1 };
	CHECK(fab_node_add(w.f, &spec, &other) == -EINVAL);
	spec.name = "z";
	spec.n_ports = 255;
	CHECK(fab_node_add(w.f, &spec, &other) == -EINVAL);
	/* Many of them: the tables grow, and forget. */
	spec.n_ports = 1;
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "n%u", i);
		spec.name = text;
		CHECK(fab_node_add(w.f, &spec, &other) == 0);
	}
	for (unsigned i = 0; i < 3000; i += 2) {
		snprintf(text, sizeof(text), "n%u", i);
		fab_node_remove(fab_node_by_name(w.f, text));
	}
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "n%u", i);
		CHECK(!fab_node_by_name(w.f, text) == !(i & 1));
	}
	fab_free(w.f);
}

static void test_states(void)
{
	struct line l;
	struct fab_port *p, *q;

	line_init(&l);
	p = &l.s1->ports[2];
	q = p->peer;
	CHECK(fab_link(p, &l.s2->ports[3]) == -EBUSY && fab_link(&l.s1->ports[3], &l.s1->ports[3]) == -EINVAL);
	CHECK(fab_port_state(p) == FAB_ACTIVE && fab_port_rate(p) == 1000);
	/* Down, on both sides, counted, and shown to the SM; INIT again at once. */
	wire_set_SWITCH_INFO_port_state_change(l.s1->sw->info, 0);
	fab_port_bounce(p);
	CHECK(fab_port_state(p) == FAB_INIT && fab_port_state(q) == FAB_INIT);
	CHECK(p->count.c[FAB_C_LINK_DOWNED] == 1 && q->count.c[FAB_C_LINK_DOWNED] == 1);
	CHECK(wire_get_SWITCH_INFO_port_state_change(l.s1->sw->info));
	/* The state machine has no other edges. */
	CHECK(!fab_port_advance(p, FAB_ACTIVE) && fab_port_advance(p, FAB_ARMED) && fab_port_advance(p, FAB_ARMED));
	CHECK(!fab_port_advance(q, FAB_ACTIVE) && fab_port_advance(p, FAB_ACTIVE) && !fab_port_advance(p, FAB_ARMED));
	/* Cut, and in again. */
	fab_port_cut(q, true);
	CHECK(fab_port_state(p) == FAB_DOWN && wire_get_PORT_INFO_phys_state(p->info) == FAB_POLLING);
	CHECK(!fab_port_advance(p, FAB_ARMED) && fab_port_rate(p) == 0);
	fab_port_cut(p, false);
	CHECK(fab_port_state(p) == FAB_INIT && fab_port_state(q) == FAB_INIT);
	/* Disabled by one end: the other one polls. */
	fab_port_set_phys(p, FAB_DISABLED);
	CHECK(fab_port_state(q) == FAB_DOWN && wire_get_PORT_INFO_phys_state(q->info) == FAB_POLLING);
	CHECK(wire_get_PORT_INFO_phys_state(p->info) == FAB_DISABLED);
	fab_port_set_phys(q, FAB_POLLING);
	CHECK(fab_port_state(q) == FAB_DOWN);
	fab_port_set_phys(p, FAB_POLLING);
	CHECK(fab_port_state(q) == FAB_INIT);
	/* Speeds: the best of both. */
	fab_port_enable(p, FAB_1X, FAB_SDR, 0);
	CHECK(fab_port_rate(p) == 25 && fab_port_rate(q) == 25);
	fab_port_set_abilities(p, FAB_1X | FAB_4X | FAB_8X | FAB_12X, 7, 15);
	fab_port_set_abilities(q, FAB_1X | FAB_4X | FAB_12X, 7, 15);
	CHECK(fab_port_rate(p) == 12000 && wire_get_PORT_INFO_speed_active(p->info) == FAB_QDR);
	fab_port_set_abilities(q, FAB_8X, FAB_DDR, 0);
	CHECK(fab_port_rate(p) == 400);
	fab_port_set_abilities(q, FAB_2X, FAB_DDR, 0);		/* no common width */
	CHECK(fab_port_state(p) == FAB_DOWN && fab_port_state(q) == FAB_DOWN);
	fab_node_remove(l.s2);
	CHECK(!p->peer && fab_port_state(&l.b->ports[1]) == FAB_DOWN);
	fab_free(l.w.f);
}

static void test_routes(void)
{
	struct line l;
	struct fab_route r;
	struct fab_port *from;
	uint64_t generation;

	line_init(&l);
	from = &l.a->ports[1];
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PASSES && r.end == &l.b->ports[1] && r.n_ports == 6 && r.mtu == 5 && r.rate == 1000);
	fab_route_count(&r, 3, 10, 720);
	CHECK(from->count.c[FAB_C_XMIT_PKTS] == 10 && l.b->ports[1].count.c[FAB_C_RCV_DATA] == 720);
	CHECK(l.s1->ports[2].count.lanes->xmit_data_sl[3] == 720 && l.s2->ports[2].count.lanes->rcv_data_sl[3] == 720);
	/* A link that damages: the packet counts as far as it comes. */
	l.s2->ports[2].fault.errors_ppm = 1000000;
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PASSES && r.has_fault && !fab_route_cross(&r, 3, 72));
	CHECK(l.s1->ports[2].count.c[FAB_C_XMIT_PKTS] == 11 && l.s2->ports[2].count.c[FAB_C_RCV_PKTS] == 10);
	CHECK(l.s2->ports[2].count.c[FAB_C_SYMBOL_ERROR] == 1 && l.s2->ports[2].count.c[FAB_C_RCV_ERRORS] == 1);
	CHECK(l.b->ports[1].count.c[FAB_C_RCV_PKTS] == 10);
	l.s2->ports[2].fault.errors_ppm = 0;
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(!r.has_fault && fab_route_cross(&r, 3, 72) && l.b->ports[1].count.c[FAB_C_RCV_PKTS] == 11);
	fab_route(from, 1, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PASSES && r.end == from && r.n_ports == 0);
	fab_route(from, 9, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_UNROUTED && !r.end);
	/* A LID that another switch forwards to the wrong place, and a loop. */
	route(l.s1, 9, 2);
	route(l.s2, 9, 1);
	fab_route(from, 9, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_WRONG_LID);
	route(l.s2, 9, 2);
	fab_route(from, 9, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_LOOP && r.n_ports <= FAB_ROUTE_PORTS);
	/* Enforcement of partitions. */
	wire_set_PORT_INFO_enforce_inbound(l.s2->ports[2].info, 1);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PKEY_REFUSED);
	/* What comes from a limited member: its key, but not the full one. What goes to it: the full one alone. */
	set_pkey(&l.s2->ports[2], 0x7fff);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PKEY_REFUSED);
	fab_route(from, 4, 0, 0x7fff, &r);
	CHECK(r.verdict == FAB_PASSES);
	wire_set_PORT_INFO_enforce_inbound(l.s2->ports[2].info, 0);
	wire_set_PORT_INFO_enforce_outbound(l.s2->ports[1].info, 1);
	set_pkey(&l.s2->ports[1], 0x7fff);
	fab_route(from, 4, 0, 0x7fff, &r);
	CHECK(r.verdict == FAB_PKEY_REFUSED);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_PASSES);
	wire_set_PORT_INFO_enforce_outbound(l.s2->ports[1].info, 0);
	/* A link that is not active; the generation moves with it. */
	generation = l.w.f->generation;
	fab_port_bounce(&l.s1->ports[2]);
	CHECK(l.w.f->generation != generation);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_NOT_ACTIVE);
	fab_port_cut(&l.s1->ports[2], true);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_NOT_ACTIVE);
	fab_unlink(&l.s1->ports[2]);
	fab_route(from, 4, 0, 0xffff, &r);
	CHECK(r.verdict == FAB_NO_LINK);
	CHECK(fab_port_by_lid(l.w.f, 4) == &l.b->ports[1] && !fab_port_by_lid(l.w.f, 5));
	fab_free(l.w.f);
}

struct leaves {
	struct fab_port *at[8];
	unsigned n;
};

static void leaf(void *arg, struct fab_port *port)
{
	struct leaves *l = arg;

	CHECK(l->n < 8);
	l->at[l->n++] = port;
}

static void test_multicast(void)
{
	struct line l;
	struct leaves got = { 0 };
	uint8_t block[64] = { 0 };

	line_init(&l);
	wire_put16(block, 1 << 1 | 1 << 2);		/* both switches: MLID 0xc000 by ports 1 and 2 */
	CHECK(fab_switch_mft_set(l.s1->sw, 0, 0, block) == 0 && fab_switch_mft_set(l.s2->sw, 0, 0, block) == 0);
	CHECK(fab_multicast(&l.a->ports[1], 0xc000, 0, 0xffff, 1, 72, leaf, &got) == FAB_PASSES);
	CHECK(got.n == 1 && got.at[0] == &l.b->ports[1] && l.b->ports[1].count.c[FAB_C_MCAST_RCV] == 1);
	got.n = 0;
	CHECK(fab_multicast(&l.a->ports[1], 0xc001, 0, 0xffff, 1, 72, leaf, &got) == FAB_PASSES && got.n == 0);
	/* A ring of links that all tables name ends, though it doubles packets. */
	CHECK(fab_link(&l.s1->ports[3], &l.s2->ports[3]) == 0 && fab_link(&l.s1->ports[4], &l.s2->ports[4]) == 0);
	activate(l.s1);
	activate(l.s2);
	wire_put16(block, 1 << 2 | 1 << 3 | 1 << 4);
	CHECK(fab_switch_mft_set(l.s1->sw, 0, 0, block) == 0 && fab_switch_mft_set(l.s2->sw, 0, 0, block) == 0);
	CHECK(fab_multicast(&l.a->ports[1], 0xc000, 0, 0xffff, 1, 72, leaf, &got) == FAB_PASSES && got.n == 0);
	fab_port_bounce(&l.a->ports[1]);
	CHECK(fab_multicast(&l.a->ports[1], 0xc000, 0, 0xffff, 1, 72, leaf, &got) == FAB_NOT_ACTIVE);
	fab_free(l.w.f);
}

/* GMPs pass active links alone, a data packet makes an ARMED port ACTIVE, and bad keys are dropped and told. */
static void test_gmp(void)
{
	struct line l;
	struct mad m = gmp_perf(WIRE_PMA_ATTR_CLASS_PORT_INFO, 0, 4), r;
	struct fab_port *from, *far;

	line_init(&l);
	from = &l.a->ports[1];
	far = &l.b->ports[1];
	r = ask(&l.w, from, &m);
	CHECK(status_of(&r) == 0 && wire_get_MAD_method(r.bytes) == MAD_GET && wire_get_MAD_r(r.bytes));
	CHECK(r.slid == 4 && r.dlid == 1);
	/* Each passed port has counted the request and the answer. */
	CHECK(from->count.c[FAB_C_XMIT_PKTS] == 1 && from->count.c[FAB_C_RCV_PKTS] == 1);
	CHECK(l.s2->ports[2].count.c[FAB_C_XMIT_DATA] == 72 && l.s2->ports[2].count.c[FAB_C_RCV_DATA] == 72);
	/* A limited member asks a full one: the answer has the full key, which the limited one takes. */
	set_pkey(from, 0x7fff);
	m.pkey = 0x7fff;
	r = ask(&l.w, from, &m);
	CHECK(status_of(&r) == 0 && r.pkey == 0xffff);
	set_pkey(from, 0xffff);
	m.pkey = 0xffff;
	/* Another class is for programs. */
	wire_set_MAD_mgmt_class(m.bytes, 0x32);
	l.w.n = 0;
	fab_send(from, &m);
	CHECK(l.w.n == 1 && l.w.at[0] == far && l.w.got[0].slid == 1);
	/* Bad keys: the SM, which has LID 1, gets a notice instead. */
	m.pkey = 0x8001;
	l.w.n = 0;
	fab_send(from, &m);
	CHECK(wire_get_PORT_INFO_p_key_violations(far->info) == 1);
	CHECK(l.w.n == 1 && wire_get_NOTICE_trap(l.w.got[0].bytes + WIRE_SMP_DATA) == 257);
	m.pkey = 0xffff;
	m.qkey = 5;
	l.w.n = 0;
	fab_send(from, &m);
	CHECK(wire_get_PORT_INFO_q_key_violations(far->info) == 1);
	CHECK(l.w.n == 1 && wire_get_NOTICE_trap(l.w.got[0].bytes + WIRE_SMP_DATA) == 258);
	/* ARMED receives; what it receives makes it ACTIVE. INIT does not. */
	m.qkey = MAD_QKEY_GSI;
	fab_port_bounce(far);
	ask_nobody(&l.w, from, &m);
	CHECK(fab_port_advance(far, FAB_ARMED) && fab_port_advance(far->peer, FAB_ARMED) &&
	      fab_port_advance(far->peer, FAB_ACTIVE));
	l.w.n = 0;
	fab_send(from, &m);
	CHECK(l.w.n >= 1 && l.w.at[0] == far && fab_port_state(far) == FAB_ACTIVE);
	/* An SMP with QP1, or a GMP with QP0, goes nowhere. */
	m.dqpn = 0;
	ask_nobody(&l.w, from, &m);
	fab_free(l.w.f);
}

static void test_trunk(void)
{
	struct line l;
	struct mad m = smp_by_lid(WIRE_SMP_ATTR_NODE_INFO, 0, 9);
	uint8_t far[4] = { FAB_1X | FAB_4X, 7, 3, 4 }, own[4];
	struct fab_port *p;

	line_init(&l);
	p = &l.s2->ports[3];
	fab_port_trunk(p, true);
	CHECK(fab_port_state(p) == FAB_DOWN && fab_port_trunk_own(p, own));
	fab_port_trunk_far(p, true, far);
	CHECK(fab_port_state(p) == FAB_INIT && wire_get_PORT_INFO_neighbor_mtu(p->info) == 4);
	route(l.s1, 9, 2);
	route(l.s2, 9, 3);
	ask_nobody(&l.w, &l.a->ports[1], &m);
	CHECK(l.w.left_by == p && l.w.left.dlid == 9 && l.w.left.slid == 1);
	/* And in: a request from there to node b, which answers over the trunk. */
	l.w.left_by = NULL;
	route(l.s2, 9, 3);
	m = smp_by_lid(WIRE_SMP_ATTR_NODE_INFO, 0, 4);
	m.slid = 9;
	fab_arrive(p, &m);
	CHECK(l.w.left_by == p && l.w.left.dlid == 9 && wire_get_MAD_r(l.w.left.bytes));
	fab_port_trunk_far(p, false, far);
	CHECK(fab_port_state(p) == FAB_DOWN);
	fab_free(l.w.f);
}

/* Errors of a link: about as many packets as asked for are lost, and counted. */
static void test_errors(void)
{
	struct line l;
	struct mad m = smp_by_lid(WIRE_SMP_ATTR_NODE_INFO, 0, 4);
	struct fab_port *at;
	unsigned i, lost = 0;

	line_init(&l);
	at = &l.s2->ports[2];
	at->fault.errors_ppm = 250000;
	for (i = 0; i < 4000; i++) {
		l.w.n = 0;
		fab_send(&l.a->ports[1], &m);
		lost += l.w.n == 0 || l.w.got[0].slid != 4;
	}
	CHECK_MSG(lost > 800 && lost < 1200, "%u of 4000 lost", lost);
	CHECK(at->count.c[FAB_C_RCV_ERRORS] == lost && at->count.c[FAB_C_SYMBOL_ERROR] == lost);
	CHECK(at->count.c[FAB_C_LOCAL_INTEGRITY] == lost / 8);
	fab_free(l.w.f);
}

/* 10.9.6, each membership of a node's key with each key of a packet, in both directions of the switch's port. */
static void test_enforcement(void)
{
	static const struct {
		uint16_t own, packet;
		bool in, out;
	} v[] = {
		{ 0x8001, 0x8001, true, true }, { 0x8001, 0x0001, true, true }, { 0x0001, 0x0001, true, false },
		{ 0x0001, 0x8001, false, true }, { 0x8001, 0x8002, false, false }, { 0x0001, 0x0002, false, false },
		{ 0xffff, 0x7fff, true, true }, { 0x7fff, 0xffff, false, true }, { 0x8000, 0x8000, false, false },
		{ 0x8000, 0x0000, false, false }, { 0x0000, 0x8000, false, false }, { 0x0000, 0x0000, false, false },
	};
	struct line l;
	struct fab_port *p;

	line_init(&l);
	p = &l.s1->ports[1];
	for (unsigned i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		for (int inbound = 0; inbound < 2; inbound++) {
			const struct fab_head h = { .slid = 1, .dlid = 4, .pkey = v[i].packet };
			enum fab_counter c = inbound ? FAB_C_RCV_CONSTRAINT : FAB_C_XMIT_CONSTRAINT;
			bool passes = inbound ? v[i].in : v[i].out;
			uint64_t before = p->count.c[c];

			set_pkey(p, v[i].own);
			wire_set_PORT_INFO_enforce_inbound(p->info, inbound);
			wire_set_PORT_INFO_enforce_outbound(p->info, !inbound);
			CHECK_MSG(fab_enforce(p, inbound, &h) == passes, "own 0x%04x, packet 0x%04x, %s", v[i].own, v[i].packet,
				  inbound ? "in" : "out");
			CHECK(p->count.c[c] == before + !passes);
			/* The port of the node itself receives by the rule of what goes out. */
			if (!inbound)
				CHECK(fab_port_admits(p, v[i].packet) == passes);
			wire_set_PORT_INFO_enforce_outbound(p->info, 0);
			wire_set_PORT_INFO_enforce_inbound(p->info, 0);
			CHECK(fab_enforce(p, inbound, &h));
		}
	fab_free(l.w.f);
}

int main(void)
{
	test_names();
	test_states();
	test_routes();
	test_multicast();
	test_gmp();
	test_trunk();
	test_errors();
	test_enforcement();
	return 0;
}

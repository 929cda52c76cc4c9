/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Directed routes (IBTA 14.2.2) with each of their parts, attributes of the SMA, M_Keys with lease, traps. */
#include "mgmt_util.h"

#include "mgmt/smp.h"
#include "mgmt/switch.h"
#include "mgmt/trap.h"

/* a -- s1 -- s2 -- b; port numbers as drawn: a/1 s1/1, s1/2 s2/3, s2/1 b/1. */
struct line {
	struct world w;
	struct fab_node *a, *b, *s1, *s2;
	struct fab_port *from;
};

static void line_init(struct line *l)
{
	world_init(&l->w);
	l->a = world_node(&l->w, "a", FAB_CA, 1);
	l->s1 = world_node(&l->w, "s1", FAB_SWITCH, 3);
	l->s2 = world_node(&l->w, "s2", FAB_SWITCH, 3);
	l->b = world_node(&l->w, "b", FAB_CA, 2);
	CHECK(fab_link(&l->a->ports[1], &l->s1->ports[1]) == 0);
	CHECK(fab_link(&l->s1->ports[2], &l->s2->ports[3]) == 0);
	CHECK(fab_link(&l->s2->ports[1], &l->b->ports[1]) == 0);
	l->from = &l->a->ports[1];
}

static const uint8_t to_b[] = { 1, 2, 1 };

static uint64_t node_guid(const struct mad *m)
{
	return wire_get_NODE_INFO_node_guid(m->bytes + WIRE_SMP_DATA);
}

/* The links are INIT all the time: a directed route needs no more. */
static void test_directed(void)
{
	struct line l;
	struct mad m, r;
	unsigned hops;

	line_init(&l);
	for (hops = 0; hops <= 3; hops++) {
		const struct fab_node *at = hops == 0 ? l.a : hops == 1 ? l.s1 : hops == 2 ? l.s2 : l.b;

		m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, hops, to_b);
		r = ask(&l.w, l.from, &m);
		CHECK(status_of(&r) == 0 && node_guid(&r) == at->guid && wire_get_SMP_d(r.bytes) &&
		      wire_get_MAD_r(r.bytes) && wire_get_SMP_hop_pointer(r.bytes) == 0 &&
		      wire_get_SMP_hop_count(r.bytes) == hops && wire_get_MAD_tid(r.bytes) == 0x1234);
	}
	/* The answer of the last: the return path is what the way back took. */
	CHECK(memcmp(r.bytes + WIRE_SMP_RETURN_PATH + 1, (uint8_t[]){ 1, 3, 1 }, 3) == 0);
	CHECK(wire_get_NODE_INFO_local_port(r.bytes + WIRE_SMP_DATA) == 1);
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 2, to_b);
	r = ask(&l.w, l.from, &m);
	CHECK(wire_get_NODE_INFO_local_port(r.bytes + WIRE_SMP_DATA) == 3);
	fab_free(l.w.f);
}

static void test_dead_ends(void)
{
	static const struct { uint8_t hops, path[4]; } ways[] = {
		{ 1, { 2 } },			/* a has no port 2 */
		{ 1, { 0 } },
		{ 2, { 1, 3 } },		/* no link */
		{ 2, { 1, 0 } },		/* port 0 is no way out */
		{ 2, { 1, 200 } },
		{ 4, { 1, 2, 1, 1 } },		/* b is no switch */
	};
	struct line l;
	struct mad m;
	unsigned i;

	line_init(&l);
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, ways[i].hops, ways[i].path);
		ask_nobody(&l.w, l.from, &m);
	}
	for (i = 0; i < 256; i++) {	/* hop pointers and counts that contradict each other */
		m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 3, to_b);
		wire_set_SMP_hop_pointer(m.bytes, i);
		if (i == 0)
			continue;
		l.w.n = 0;
		fab_send(l.from, &m);
		/* Pointer 4: a says that it is the end of the route. All else is dropped. */
		CHECK(l.w.n == 0 || (i == 4 && l.w.n == 0));
		m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 0, NULL);
		wire_set_SMP_hop_count(m.bytes, i);
		memset(m.bytes + WIRE_SMP_INITIAL_PATH, 1, 64);
		fab_send(l.from, &m);
	}
	fab_free(l.w.f);
}

static void set_lid(struct fab_port *p, uint16_t lid)
{
	wire_set_PORT_INFO_lid(p->info, lid);
}

static void route(struct fab_node *sw, uint16_t lid, uint8_t port)
{
	uint8_t block[FAB_LFT_BLOCK];

	fab_switch_lft_get(sw->sw, 0, block);
	block[lid] = port;
	CHECK(fab_switch_lft_set(sw->sw, 0, block) == 0);
	wire_set_SWITCH_INFO_linear_top(sw->sw->info, 63);
}

/* By LID to s1, from there along a path to s2 and b; and the other way round; and both. */
static void test_combined(void)
{
	struct line l;
	struct mad m, r;

	line_init(&l);
	set_lid(l.from, 1);
	set_lid(&l.s1->ports[0], 2);
	set_lid(&l.s2->ports[0], 3);
	set_lid(&l.b->ports[1], 4);
	route(l.s1, 1, 1);
	route(l.s1, 3, 2);
	route(l.s2, 1, 3);
	route(l.s2, 2, 3);
	route(l.s2, 4, 1);
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 2, (uint8_t[]){ 2, 1 });
	wire_set_SMP_dr_slid(m.bytes, 1);
	m.dlid = 2;
	r = ask(&l.w, l.from, &m);
	CHECK(node_guid(&r) == l.b->guid && wire_get_SMP_hop_pointer(r.bytes) == 0 && r.dlid == 1);
	/* By LID over s1 to s2. */
	m.dlid = 3;
	memcpy(m.bytes + WIRE_SMP_INITIAL_PATH + 1, (uint8_t[]){ 1 }, 1);
	wire_set_SMP_hop_count(m.bytes, 1);
	r = ask(&l.w, l.from, &m);
	CHECK(node_guid(&r) == l.b->guid);
	/* Path to s2, then by LID to b: the answer goes to s2 by LID first, which knows its own. */
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 2, (uint8_t[]){ 1, 2 });
	wire_set_SMP_dr_dlid(m.bytes, 4);
	r = ask(&l.w, l.from, &m);
	CHECK(node_guid(&r) == l.b->guid && wire_get_SMP_hop_pointer(r.bytes) == 0);
	/* All three parts: s1 by LID, to s2 by its port 2, b by LID. */
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 1, (uint8_t[]){ 2 });
	wire_set_SMP_dr_slid(m.bytes, 1);
	wire_set_SMP_dr_dlid(m.bytes, 4);
	m.dlid = 2;
	r = ask(&l.w, l.from, &m);
	CHECK(node_guid(&r) == l.b->guid);
	/* A CA cannot be where a path begins or ends before a part by LID. */
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 1, (uint8_t[]){ 1 });
	wire_set_SMP_dr_slid(m.bytes, 1);
	m.dlid = 4;
	route(l.s1, 4, 2);
	ask_nobody(&l.w, l.from, &m);
	fab_free(l.w.f);
}

static void test_attributes(void)
{
	struct line l;
	struct mad m, r;
	unsigned i;
	static const struct { uint16_t attr; uint32_t mod; uint16_t status_ca, status_switch; } rows[] = {
		{ WIRE_SMP_ATTR_NODE_DESC, 0, 0, 0 },
		{ WIRE_SMP_ATTR_NODE_INFO, 0, 0, 0 },
		{ WIRE_SMP_ATTR_SWITCH_INFO, 0, 0x0c, 0 },
		{ WIRE_SMP_ATTR_GUID_INFO, 0, 0, 0 },
		{ WIRE_SMP_ATTR_GUID_INFO, 3, 0, 0 },
		{ WIRE_SMP_ATTR_GUID_INFO, 4, 0x1c, 0x1c },
		{ WIRE_SMP_ATTR_PORT_INFO, 0, 0, 0 },
		{ WIRE_SMP_ATTR_PORT_INFO, 1, 0, 0 },
		{ WIRE_SMP_ATTR_PORT_INFO, 0x80000001, 0, 0 },
		{ WIRE_SMP_ATTR_PORT_INFO, 9, 0x1c, 0x1c },
		{ WIRE_SMP_ATTR_PKEY_TABLE, 0, 0, 0 },
		{ WIRE_SMP_ATTR_PKEY_TABLE, 1, 0x1c, 0x1c },
		{ WIRE_SMP_ATTR_PKEY_TABLE, 0x00020000, 0, 0 },
		{ WIRE_SMP_ATTR_PKEY_TABLE, 0x00090000, 0, 0x1c },
		{ WIRE_SMP_ATTR_SL_TO_VL, 0x0102, 0, 0 },
		{ WIRE_SMP_ATTR_SL_TO_VL, 0x0902, 0, 0x1c },
		{ WIRE_SMP_ATTR_VL_ARB, 0x00010001, 0, 0 },
		{ WIRE_SMP_ATTR_VL_ARB, 0x00050001, 0x1c, 0x1c },
		{ WIRE_SMP_ATTR_LINEAR_FDB, 0, 0x0c, 0 },
		{ WIRE_SMP_ATTR_LINEAR_FDB, 767, 0x0c, 0 },
		{ WIRE_SMP_ATTR_LINEAR_FDB, 768, 0x0c, 0x1c },
		{ WIRE_SMP_ATTR_RANDOM_FDB, 0, 0x0c, 0x0c },
		{ WIRE_SMP_ATTR_MCAST_FDB, 0, 0x0c, 0 },
		{ WIRE_SMP_ATTR_MCAST_FDB, 0x10000000, 0x0c, 0x1c },
		{ WIRE_SMP_ATTR_MCAST_FDB, 128, 0x0c, 0x1c },
		{ WIRE_SMP_ATTR_NOTICE, 0, 0x0c, 0x0c },
		{ WIRE_SMP_ATTR_VENDOR_DIAG, 0, 0x0c, 0x0c },
		{ WIRE_SMP_ATTR_LED_INFO, 0, 0x0c, 0x0c },
		{ 0xff90, 0, 0x0c, 0x0c },
	};

	line_init(&l);
	for (i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned want = i & 1 ? rows[i / 2].status_switch : rows[i / 2].status_ca;

		m = smp_directed(rows[i / 2].attr, rows[i / 2].mod, i & 1 ? 1 : 3, to_b);
		r = ask(&l.w, l.from, &m);
		CHECK_MSG(status_of(&r) == want, "attribute 0x%x, modifier 0x%x, %s: status 0x%x", rows[i / 2].attr,
			  rows[i / 2].mod, i & 1 ? "switch" : "CA", status_of(&r));
	}
	/* What may not be set; other versions; other methods. */
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 1, to_b);
	wire_set_MAD_method(m.bytes, MAD_SET);
	r = ask(&l.w, l.from, &m);
	CHECK(status_of(&r) == MAD_BAD_ATTRIBUTE && wire_get_MAD_method(r.bytes) == MAD_GET);
	wire_set_MAD_class_version(m.bytes, 2);
	r = ask(&l.w, l.from, &m);
	CHECK(status_of(&r) == MAD_BAD_VERSION);
	m = smp_directed(WIRE_SMP_ATTR_NODE_INFO, 0, 1, to_b);
	wire_set_MAD_method(m.bytes, MAD_SEND);
	r = ask(&l.w, l.from, &m);
	CHECK(status_of(&r) == MAD_BAD_METHOD);
	/* SMInfo is for the program at that port. */
	m = smp_directed(WIRE_SMP_ATTR_SM_INFO, 0, 3, to_b);
	l.w.n = 0;
	fab_send(l.from, &m);
	CHECK(l.w.n == 1 && l.w.at[0] == &l.b->ports[1]);
	fab_free(l.w.f);
}

static void test_port_info(void)
{
	struct line l;
	struct mad get_b, get_s, r;
	struct fab_port *b;

	line_init(&l);
	b = &l.b->ports[1];
	get_b = smp_directed(WIRE_SMP_ATTR_PORT_INFO, 1, 3, to_b);
	get_s = smp_directed(WIRE_SMP_ATTR_PORT_INFO, 1, 2, to_b);
	l.w.what = 0;
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_lid, 17);
	CHECK(status_of(&r) == 0 && fab_port_lid(b) == 17 && l.w.what & FAB_CHANGED_LID);
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_lid, 0xc000);
	CHECK(status_of(&r) == MAD_BAD_FIELD && fab_port_lid(b) == 17);
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_lmc, 2);	/* 17 is no base of four LIDs */
	CHECK(status_of(&r) == MAD_BAD_FIELD && fab_port_lmc(b) == 0);
	l.w.what = 0;
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_client_reregister, 1);
	CHECK(l.w.what & FAB_CHANGED_REREGISTER && !wire_get_PORT_INFO_client_reregister(b->info));
	CHECK(wire_get_PORT_INFO_client_reregister(r.bytes + WIRE_SMP_DATA));
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_neighbor_mtu, 6);
	CHECK(status_of(&r) == MAD_BAD_FIELD && wire_get_PORT_INFO_neighbor_mtu(b->info) == 5);
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_port_state, FAB_ACTIVE);
	CHECK(status_of(&r) == MAD_BAD_FIELD && fab_port_state(b) == FAB_INIT);
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_port_state, FAB_ARMED);
	CHECK(status_of(&r) == 0 && fab_port_state(b) == FAB_ARMED);
	r = set_port_info(&l.w, l.from, get_b, wire_set_PORT_INFO_port_state, FAB_ACTIVE);
	CHECK(status_of(&r) == 0 && fab_port_state(b) == FAB_ACTIVE);
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_port_state, FAB_DOWN);
	CHECK(status_of(&r) == 0 && fab_port_state(b) == FAB_INIT);
	/* Identity in a Set of an external port of a switch means nothing. */
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_lid, 99);
	CHECK(status_of(&r) == 0 && fab_port_lid(&l.s2->ports[1]) == 0 && fab_port_lid(&l.s2->ports[0]) == 0);
	/* The other port of a CA is read through this one, but not set. */
	r = set_port_info(&l.w, l.from, smp_directed(WIRE_SMP_ATTR_PORT_INFO, 2, 3, to_b), wire_set_PORT_INFO_lid, 5);
	CHECK(status_of(&r) == MAD_BAD_FIELD);
	/* Disabled from afar, and enabled again. */
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_phys_state, FAB_DISABLED);
	CHECK(fab_port_state(b) == FAB_DOWN);
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_phys_state, FAB_POLLING);
	CHECK(fab_port_state(b) == FAB_INIT);
	/* Enabled speeds hold from the next training on. */
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_ext_speed_enabled, 30);
	CHECK(status_of(&r) == 0 && fab_port_rate(b) == 1000);
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_port_state, FAB_DOWN);
	CHECK(fab_port_rate(b) == 400);
	r = set_port_info(&l.w, l.from, get_s, wire_set_PORT_INFO_width_enabled, FAB_12X);
	CHECK(status_of(&r) == MAD_BAD_FIELD);
	fab_free(l.w.f);
}

static void test_m_key(void)
{
	struct line l;
	struct mad get, m, r;
	struct fab_port *b;

	line_init(&l);
	b = &l.b->ports[1];
	get = smp_directed(WIRE_SMP_ATTR_PORT_INFO, 1, 3, to_b);
	wire_set_PORT_INFO_m_key(b->info, 0xabcd);
	wire_set_PORT_INFO_m_key_lease(b->info, 5);
	/* Protection 0: all may read, key included. */
	r = ask(&l.w, l.from, &get);
	CHECK(status_of(&r) == 0 && wire_get_PORT_INFO_m_key(r.bytes + WIRE_SMP_DATA) == 0xabcd);
	m = get;
	wire_set_MAD_method(m.bytes, MAD_SET);
	ask_nobody(&l.w, l.from, &m);
	CHECK(wire_get_PORT_INFO_m_key_violations(b->info) == 1);
	/* 1: the key reads 0. */
	wire_set_PORT_INFO_m_key_protect(b->info, 1);
	r = ask(&l.w, l.from, &get);
	CHECK(status_of(&r) == 0 && wire_get_PORT_INFO_m_key(r.bytes + WIRE_SMP_DATA) == 0);
	/* 2 and 3: nothing, but with the key. */
	wire_set_PORT_INFO_m_key_protect(b->info, 2);
	ask_nobody(&l.w, l.from, &get);
	m = get;
	wire_set_SMP_m_key(m.bytes, 0xabcd);
	r = ask(&l.w, l.from, &m);
	CHECK(wire_get_PORT_INFO_m_key(r.bytes + WIRE_SMP_DATA) == 0xabcd);
	/* That ended the lease timer; a wrong key starts it, and at its end protection falls to 0. */
	CHECK(fab_next(l.w.f) == UT_NEVER);
	ask_nobody(&l.w, l.from, &get);
	CHECK(fab_next(l.w.f) == 5 * UT_S);
	fab_run(l.w.f, 4 * UT_S);
	ask_nobody(&l.w, l.from, &get);
	CHECK(wire_get_PORT_INFO_m_key_violations(b->info) == 4);
	fab_run(l.w.f, 5 * UT_S);
	r = ask(&l.w, l.from, &get);
	CHECK(wire_get_PORT_INFO_m_key(r.bytes + WIRE_SMP_DATA) == 0xabcd);
	/* Without a lease it never falls. */
	wire_set_PORT_INFO_m_key_lease(b->info, 0);
	wire_set_PORT_INFO_m_key_protect(b->info, 3);
	ask_nobody(&l.w, l.from, &get);
	CHECK(fab_next(l.w.f) == UT_NEVER);
	fab_free(l.w.f);
}

static struct mad repress(const struct mad *trap, uint16_t dlid)
{
	struct mad m = *trap;

	m.dlid = dlid;
	wire_set_MAD_method(m.bytes, MAD_TRAP_REPRESS);
	return m;
}

static void test_traps(void)
{
	struct line l;
	struct mad trap, m;
	const uint8_t *d = trap.bytes + WIRE_SMP_DATA;
	struct fab_port *b;
	uint64_t period = 4096ull << 18;

	line_init(&l);
	set_lid(l.from, 1);
	set_lid(&l.s1->ports[0], 2);
	wire_set_PORT_INFO_sm_lid(l.s1->ports[0].info, 1);
	route(l.s1, 1, 1);
	/* Its first notice, of the links that came up, leaves when something asks it to: the SM is known now. */
	b = &l.s1->ports[3];
	l.w.n = 0;
	fab_trap_resume(&l.s1->ports[0]);
	CHECK(l.w.n == 1 && l.w.at[0] == l.from);
	trap = l.w.got[0];
	CHECK(wire_get_NOTICE_trap(d) == 128 && wire_get_NOTICE_issuer_lid(d) == 2 && wire_get_NOTICE_producer(d) == 2);
	CHECK(wire_get_NOTICE_type(d) == 1 && wire_get_NOTICE_is_generic(d) && trap.slid == 2);
	/* Again after each subnet timeout, with the same transaction ID. */
	CHECK(fab_next(l.w.f) == period);
	fab_run(l.w.f, period);
	CHECK(l.w.n == 2 && wire_get_MAD_tid(l.w.got[1].bytes) == wire_get_MAD_tid(trap.bytes));
	/* More events while it waits: one further notice after the repress. */
	fab_port_bounce(&l.s1->ports[2]);
	fab_port_bounce(&l.s1->ports[2]);
	CHECK(l.w.n == 2);
	m = repress(&trap, 2);
	fab_send(l.from, &m);
	CHECK(l.w.n == 3 && wire_get_MAD_tid(l.w.got[2].bytes) != wire_get_MAD_tid(trap.bytes));
	m = repress(&trap, 2);
	fab_send(l.from, &m);		/* an old one changes nothing */
	CHECK(fab_next(l.w.f) != UT_NEVER);
	m = repress(&l.w.got[2], 2);
	fab_send(l.from, &m);
	CHECK(fab_next(l.w.f) == UT_NEVER && l.w.n == 3);
	/* 144: capabilities and description. */
	l.w.n = 0;
	fab_port_set_is_sm(&l.s1->ports[0], true);
	CHECK(l.w.n == 1 && wire_get_NOTICE_trap(l.w.got[0].bytes + WIRE_SMP_DATA) == 144);
	m = repress(&l.w.got[0], 2);
	fab_send(l.from, &m);
	fab_node_describe(l.s1, "another");
	CHECK(l.w.n == 2 && l.w.got[1].bytes[WIRE_SMP_DATA + 10 + 11] == FAB_LOCAL_DESCRIPTION);
	/* 256, of the key's guesser. */
	m = repress(&l.w.got[1], 2);
	fab_send(l.from, &m);
	l.w.n = 0;
	wire_set_PORT_INFO_m_key(l.s1->ports[0].info, 7);
	wire_set_PORT_INFO_m_key_protect(l.s1->ports[0].info, 2);
	m = smp_by_lid(WIRE_SMP_ATTR_NODE_INFO, 0, 2);
	wire_set_SMP_m_key(m.bytes, 99);
	fab_send(l.from, &m);
	CHECK(l.w.n == 1 && wire_get_NOTICE_trap(l.w.got[0].bytes + WIRE_SMP_DATA) == 256);
	CHECK(wire_get64(l.w.got[0].bytes + WIRE_SMP_DATA + 10 + 14) == 99);
	/* A manager that never answers is given up: no wake-up for ever. */
	while (fab_next(l.w.f) != UT_NEVER) {
		l.w.n = 0;
		fab_run(l.w.f, fab_next(l.w.f));
		CHECK(l.w.f->now < 40 * period);
	}
	CHECK(b->num == 3);
	fab_free(l.w.f);
}

/* The one notice that has come is this one, and the SM represses it. */
static const uint8_t *expect_notice(struct line *l, unsigned trap, uint16_t issuer)
{
	const uint8_t *notice = l->w.got[0].bytes + WIRE_SMP_DATA;
	struct mad m;

	CHECK_MSG(l->w.n == 1 && wire_get_NOTICE_trap(notice) == trap, "notice %u of %u, not %u",
		  (unsigned)wire_get_NOTICE_trap(notice), l->w.n, trap);
	CHECK(wire_get_NOTICE_issuer_lid(notice) == issuer && wire_get_NOTICE_is_generic(notice));
	m = repress(&l->w.got[0], issuer);
	l->w.n = 0;
	fab_send(l->from, &m);
	CHECK(l->w.n == 0);
	return notice + WIRE_NOTICE_details_OFFSET;
}

/* Notices of what goes wrong on a link: LID and port stand in the details, and each counts. */
static void test_link_notices(void)
{
	struct line l;
	struct fab_port *p;
	const uint8_t *d;
	unsigned i;

	line_init(&l);
	set_lid(l.from, 1);
	set_lid(&l.s1->ports[0], 2);
	wire_set_PORT_INFO_sm_lid(l.s1->ports[0].info, 1);
	route(l.s1, 1, 1);
	l.w.n = 0;
	fab_trap_resume(&l.s1->ports[0]);
	expect_notice(&l, FAB_TRAP_LINK_STATE, 2);
	p = &l.s1->ports[2];
	fab_port_overrun(p);
	d = expect_notice(&l, FAB_TRAP_OVERRUN, 2);
	CHECK(wire_get16(d + 2) == 2 && d[4] == 2);
	CHECK(p->count.c[FAB_C_OVERRUN] == 1 && p->count.c[FAB_C_BUFFER_OVERRUN] == 8 && p->count.c[FAB_C_RCV_ERRORS] == 8);
	fab_port_stall(p);
	d = expect_notice(&l, FAB_TRAP_WATCHDOG, 2);
	CHECK(d[4] == 2 && p->count.c[FAB_C_LINK_RECOVERY] == 1 && fab_port_is_up(p));
	/* A threshold of 0 reports nothing; a port without a link has no watchdog. */
	wire_set_PORT_INFO_overrun_errors(p->info, 0);
	fab_port_overrun(p);
	fab_port_stall(&l.s1->ports[3]);
	CHECK(l.w.n == 0 && p->count.c[FAB_C_OVERRUN] == 1);
	/* Every eighth packet in a row that is damaged: local link integrity. */
	l.from->peer->fault.errors_ppm = 1000000;
	for (i = 0; i < 8; i++) {
		struct mad m = smp_by_lid(WIRE_SMP_ATTR_NODE_INFO, 0, 2);

		CHECK(l.w.n == 0);
		fab_send(l.from, &m);
	}
	l.from->peer->fault.errors_ppm = 0;
	d = expect_notice(&l, FAB_TRAP_INTEGRITY, 2);
	CHECK(d[4] == 1 && l.from->peer->count.c[FAB_C_LOCAL_INTEGRITY] == 1);
	/* 145, with the new GUID; 144 with the sets that a user has changed. */
	fab_node_set_image(l.s1, l.s1->system_guid);
	CHECK(l.w.n == 0);
	fab_node_set_image(l.s1, 0x1234567);
	d = expect_notice(&l, FAB_TRAP_SYSTEM_GUID, 2);
	CHECK(wire_get16(d + 2) == 2 && wire_get64(d + 6) == 0x1234567);
	fab_port_enable(&l.s1->ports[3], FAB_1X, FAB_SDR, 0);
	d = expect_notice(&l, FAB_TRAP_LOCAL_CHANGES, 2);
	CHECK(d[11] == (FAB_LOCAL_WIDTH | FAB_LOCAL_SPEED) && d[5] == 1);
	fab_free(l.w.f);
}

static void test_tables(void)
{
	struct line l;
	struct mad m, r;
	unsigned i;

	line_init(&l);
	m = smp_directed(WIRE_SMP_ATTR_LINEAR_FDB, 2, 1, to_b);
	r = ask(&l.w, l.from, &m);
	CHECK(r.bytes[WIRE_SMP_DATA] == FAB_PORT_NONE);
	wire_set_MAD_method(m.bytes, MAD_SET);
	for (i = 0; i < 64; i++)
		m.bytes[WIRE_SMP_DATA + i] = (uint8_t)(i % 4);
	r = ask(&l.w, l.from, &m);
	CHECK(status_of(&r) == 0 && memcmp(r.bytes + WIRE_SMP_DATA, m.bytes + WIRE_SMP_DATA, 64) == 0);
	CHECK(fab_switch_port(l.s1->sw, 129) == FAB_PORT_NONE);		/* above LinearFDBTop */
	wire_set_SWITCH_INFO_linear_top(l.s1->sw->info, 191);
	CHECK(fab_switch_port(l.s1->sw, 129) == 1 && fab_switch_port(l.s1->sw, 5) == FAB_PORT_NONE);
	m = smp_directed(WIRE_SMP_ATTR_PKEY_TABLE, 0, 3, to_b);
	wire_set_MAD_method(m.bytes, MAD_SET);
	wire_put16(m.bytes + WIRE_SMP_DATA, 0x7fff);
	wire_put16(m.bytes + WIRE_SMP_DATA + 2, 0x8001);
	l.w.what = 0;
	r = ask(&l.w, l.from, &m);
	CHECK(l.w.what == FAB_CHANGED_PKEYS && fab_port_pkey(&l.b->ports[1], 1) == 0x8001);
	m = smp_directed(WIRE_SMP_ATTR_GUID_INFO, 0, 3, to_b);
	wire_set_MAD_method(m.bytes, MAD_SET);
	wire_put64(m.bytes + WIRE_SMP_DATA, 1);
	wire_put64(m.bytes + WIRE_SMP_DATA + 8, 2);
	r = ask(&l.w, l.from, &m);
	CHECK(fab_port_guid(&l.b->ports[1], 0) == l.b->guid + 1 && fab_port_guid(&l.b->ports[1], 1) == 2);
	/* SwitchInfo: the bit is cleared by writing 1. */
	m = smp_directed(WIRE_SMP_ATTR_SWITCH_INFO, 0, 1, to_b);
	r = ask(&l.w, l.from, &m);
	CHECK(wire_get_SWITCH_INFO_port_state_change(r.bytes + WIRE_SMP_DATA));
	m = r;
	m.slid = m.dlid = 0xffff;
	memset(m.bytes + WIRE_SMP_RETURN_PATH, 0, 64);
	m = smp_directed(WIRE_SMP_ATTR_SWITCH_INFO, 0, 1, to_b);
	memcpy(m.bytes + WIRE_SMP_DATA, r.bytes + WIRE_SMP_DATA, 64);
	wire_set_MAD_method(m.bytes, MAD_SET);
	r = ask(&l.w, l.from, &m);
	CHECK(!wire_get_SWITCH_INFO_port_state_change(r.bytes + WIRE_SMP_DATA));
	fab_free(l.w.f);
}

int main(void)
{
	test_directed();
	test_dead_ends();
	test_combined();
	test_attributes();
	test_port_info();
	test_m_key();
	test_traps();
	test_link_notices();
	test_tables();
	return 0;
}

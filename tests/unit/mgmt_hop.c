/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data packets that travel hop by hop: three switches in a row, whose tables the test writes as a subnet manager would.
 *
 *	a (LID 1) --.                                .-- b (LID 3)
 *	             s1 ======== s2 ======== s3 ----<
 *	c (LID 2) --'   port 3-4     port 3-4        '-- d (LID 4)
 *
 * Which packets arrive, when, in which order, and what each port counts.
 */
#include "mgmt/hop.h"

#include "mgmt/carry.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "mgmt/vlarb.h"
#include "support/cases.h"
#include "support/check.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rng.h"
#include "wire/ib_fields.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire/pma_fields.h"

#include <stdlib.h>
#include <string.h>

#define GOT_MAX 20000
#define MLID 0xc001u
#define START (10 * UT_S)

struct got {
	struct fab_port *at;
	uint32_t psn;
	uint16_t len, slid;
	uint8_t sl;
	bool fecn;
	void *from;
};

struct line {
	struct fab *f;
	struct hop *hop;
	struct fab_node *host[4], *sw[3];	/* a c b d */
	struct got got[GOT_MAX];
	unsigned n, drained;
	uint64_t now;
};

static struct line l;

static void took(void *ctx, struct fab_port *port, const uint8_t *bytes, size_t len, void *from)
{
	struct wire_link_packet p;

	CHECK(l.n < GOT_MAX && wire_link_parse(bytes, len, &p) == WIRE_OK);
	l.got[l.n++] = (struct got){ port, (uint32_t)wire_get_BTH_psn(p.ib), (uint16_t)len, p.lrh.slid, p.lrh.sl,
				     wire_get_BTH_fecn(p.ib), from };
}

static void drained(void *ctx, struct fab_port *port)
{
	l.drained++;
}

static const struct hop_ops ops = { took, drained };

static struct fab_port *port(struct fab_node *n, unsigned num)
{
	return fab_node_port(n, num);
}

static struct fab_node *add(const char *name, enum fab_node_type type, unsigned ports)
{
	struct fab_node_spec spec = { .name = name, .type = type, .n_ports = ports };
	struct fab_node *n;

	CHECK(fab_node_add(l.f, &spec, &n) == 0);
	return n;
}

static void activate(struct fab_port *p)
{
	CHECK(fab_port_advance(p, FAB_ARMED) && fab_port_advance(p, FAB_ACTIVE));
}

static void join_ports(struct fab_port *a, struct fab_port *b)
{
	CHECK(fab_link(a, b) == 0);
	activate(a);
	activate(b);
}

static void put_route(struct fab_node *sw, uint16_t lid, uint8_t out)
{
	uint8_t block[FAB_LFT_BLOCK];

	fab_switch_lft_get(sw->sw, 0, block);
	block[lid] = out;
	CHECK(fab_switch_lft_set(sw->sw, 0, block) == 0);
	wire_set_SWITCH_INFO_linear_top(sw->sw->info, 63);
	fab_touch(l.f);
}

/* LIDs of hosts: 1 to 4. */
static void put_routes(void)
{
	static const uint8_t table[3][4] = { { 1, 2, 4, 4 }, { 3, 3, 4, 4 }, { 3, 3, 1, 2 } };

	for (int s = 0; s < 3; s++)
		for (uint16_t i = 0; i < 4; i++)
			put_route(l.sw[s], i + 1, table[s][i]);
}

static void line_open(void)
{
	static const char *const names[] = { "a", "c", "b", "d", "s1", "s2", "s3" };

	memset(&l, 0, sizeof(l));
	l.now = START;
	l.f = fab_new(NULL, NULL, 1);
	CHECK(l.f);
	for (int i = 0; i < 4; i++)
		l.host[i] = add(names[i], FAB_CA, 1);
	for (int i = 0; i < 3; i++) {
		l.sw[i] = add(names[4 + i], FAB_SWITCH, 4);
		/* As OpenSM writes it: 268 ms. */
		for (unsigned k = 1; k <= 4; k++)
			wire_set_PORT_INFO_hoq_life(port(l.sw[i], k)->info, 16);
	}
	for (int i = 0; i < 4; i++) {
		join_ports(port(l.host[i], 1), port(l.sw[i < 2 ? 0 : 2], (unsigned)i % 2 + 1));
		wire_set_PORT_INFO_lid(port(l.host[i], 1)->info, i + 1);
	}
	join_ports(port(l.sw[0], 4), port(l.sw[1], 3));
	join_ports(port(l.sw[1], 4), port(l.sw[2], 3));
	put_routes();
	l.hop = hop_new(l.f, &ops, NULL);
	CHECK(l.hop);
}

static void line_close(void)
{
	hop_free(l.hop);
	fab_free(l.f);
}

/* --- packets --- */

static size_t make(uint8_t *at, uint16_t slid, uint16_t dlid, uint8_t sl, uint32_t psn, size_t payload)
{
	struct wire_link_packet p = { .lrh = { .slid = slid, .dlid = dlid, .sl = sl, .lnh = WIRE_LNH_LOCAL },
				      .ib_len = WIRE_BTH_LEN + payload + 4 };
	size_t n = wire_link_build(at, WIRE_LINK_PACKET_MAX, &p);

	CHECK(n);
	memset(at + n, 0, p.ib_len);
	wire_set_BTH_pkey(at + n, 0xffff);
	wire_set_BTH_psn(at + n, psn);
	wire_set_BTH_dest_qpn(at + n, 0x10007);
	return n + p.ib_len;
}

static void send_packet(int host, uint16_t dlid, uint8_t sl, uint32_t psn, size_t payload)
{
	uint8_t packet[WIRE_LINK_PACKET_MAX];
	size_t len = make(packet, (uint16_t)(host + 1), dlid, sl, psn, payload);

	hop_send(l.hop, port(l.host[host], 1), packet, len, &l.host[host], l.now);
}

static void run_for(uint64_t ns)
{
	l.now += ns;
	hop_run(l.hop, l.now);
}

/* Until nothing moves any more. */
static void run_out(void)
{
	for (int i = 0; hop_next(l.hop) != UT_NEVER; i++) {
		CHECK(i < 1000000);
		l.now = hop_next(l.hop) > l.now ? hop_next(l.hop) : l.now;
		hop_run(l.hop, l.now);
	}
}

static uint64_t counter(struct fab_node *n, unsigned num, enum fab_counter c)
{
	return port(n, num)->count.c[c];
}

static unsigned arrived_at(int host)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l.n; i++)
		n += l.got[i].at == port(l.host[host], 1);
	return n;
}

/* Both ends of a link, from now on: 2 Gb/s of data. */
static void make_slow(struct fab_port *p)
{
	fab_port_enable(p, FAB_1X, FAB_SDR, 0);
	activate(p);
	activate(p->peer);
}

static void check_credits(void)
{
	struct fab_node *n;
	struct hop_lane_view v;

	ut_list_each(n, &l.f->nodes, link)
		for (unsigned i = 1; i <= n->n_ports; i++)
			for (unsigned vl = 0; vl < HOP_VLS; vl++)
				if (hop_lane(port(n, i), vl, &v))
					CHECK_MSG(v.credits == HOP_CREDITS && !v.packets && !v.bytes, "%s/%u VL %u: %u credits, %u packets",
						  n->name, i, vl, v.credits, v.packets);
}

/* --- cases --- */

static void crosses(void)
{
	static const unsigned ports[] = { 1, 1, 4, 3, 4, 3, 1, 1 };

	line_open();
	struct fab_node *const nodes[] = { l.host[0], l.sw[0], l.sw[0], l.sw[1], l.sw[1], l.sw[2], l.sw[2], l.host[2] };
	for (uint32_t i = 0; i < 10; i++)
		send_packet(0, 3, 2, i, 1024);
	run_for(0);
	CHECK(l.n == 10 && arrived_at(2) == 10);
	for (uint32_t i = 0; i < 10; i++)
		CHECK(l.got[i].psn == i && l.got[i].len == 8 + 12 + 1024 + 4 && l.got[i].from == &l.host[0] && !l.got[i].fecn);
	for (unsigned i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		CHECK(counter(nodes[i], ports[i], i & 1 ? FAB_C_RCV_PKTS : FAB_C_XMIT_PKTS) == 10);
		CHECK(counter(nodes[i], ports[i], i & 1 ? FAB_C_RCV_DATA : FAB_C_XMIT_DATA) == 10 * 1048 / 4);
	}
	CHECK(!counter(l.sw[2], 2, FAB_C_XMIT_PKTS) && !l.f->dropped && hop_next(l.hop) == UT_NEVER);
	CHECK(port(l.sw[1], 3)->count.lanes->vl_pkts[2] == 10);
	check_credits();
	line_close();
}

/* 1X SDR has 2 Gb/s of data: 4,122 bytes in 16.5 us. */
static void takes_time(void)
{
	line_open();
	make_slow(port(l.host[2], 1));
	for (uint32_t i = 0; i < 1000; i++)
		send_packet(0, 3, 0, i, 4096);
	run_for(0);
	CHECK_MSG(l.n >= 5 && l.n <= 7, "%u came at once", l.n);
	run_for(UT_MS);
	CHECK_MSG(l.n >= 64 && l.n <= 68, "%u came within 1.1 ms", l.n);
	run_out();
	CHECK(l.n == 1000 && l.now - START >= 16 * UT_MS && l.now - START < 17 * UT_MS);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK(l.got[i].psn == i);
	check_credits();
	line_close();
}

/* Two senders, one link: buffers fill back to the sources, none is overrun, waits count, and the link marks. */
static void congestion(void)
{
	struct hop_lane_view v;
	unsigned marked = 0;

	line_open();
	make_slow(port(l.host[2], 1));
	for (uint32_t i = 0; i < 500; i++) {
		send_packet(0, 3, 0, i, 2048);
		send_packet(1, 3, 0, i, 2048);
	}
	run_for(0);
	/* The receive buffers of s3 and s2 and both of s1 are full: less than a packet of credits is left. */
	CHECK(hop_lane(port(l.sw[1], 4), 0, &v) && v.credits < 33 && v.bytes <= HOP_CREDITS * HOP_BLOCK);
	CHECK(hop_lane(port(l.sw[0], 4), 0, &v) && v.credits < 33 && v.bytes <= 2 * HOP_CREDITS * HOP_BLOCK);
	CHECK(hop_lane(port(l.host[0], 1), 0, &v) && v.credits < 33);
	run_out();
	CHECK(l.n == 1000 && !l.f->dropped);
	for (int host = 1; host <= 2; host++)
		for (uint32_t i = 0, psn = 0; i < l.n; i++)
			if (l.got[i].slid == host)
				CHECK(l.got[i].psn == psn++);
	for (uint32_t i = 0; i < l.n; i++)
		marked += l.got[i].fecn;
	/* The root of the congestion is s3's port to b; the ports behind it have no credits, hence no marks. */
	CHECK(hop_lane(port(l.sw[2], 1), 0, &v) && v.marked && v.most > HOP_MARK);
	CHECK_MSG(marked > 500, "%u marked", marked);
	CHECK(port(l.sw[2], 1)->count.lanes->vl_congested[0] == v.marked);
	CHECK(port(l.host[2], 1)->count.lanes->rcv_fecn_sl[0] == marked);
	CHECK(counter(l.sw[1], 4, FAB_C_XMIT_WAIT) > 5 && port(l.sw[1], 4)->count.lanes->vl_wait[0] > 5);
	CHECK(hop_lane(port(l.sw[1], 4), 0, &v) && v.waited_ns > 5 * UT_MS);
	check_credits();
	line_close();
}

static uint8_t *arbitration(struct fab_port *p)
{
	p->vl_arb = calloc(1, 2 * VLARB_BYTES);
	CHECK(p->vl_arb);
	return p->vl_arb;
}

/* Counts the first n packets by SL. */
static void by_sl(unsigned n, unsigned ret[16])
{
	memset(ret, 0, 16 * sizeof(*ret));
	for (unsigned i = 0; i < n && i < l.n; i++)
		ret[l.got[i].sl]++;
}

/* All arbitrations of the way have the same table. */
static void set_tables(const uint8_t *low, size_t n_low, const uint8_t *high, size_t n_high, unsigned limit)
{
	struct fab_port *const way[] = { port(l.host[0], 1), port(l.sw[0], 4), port(l.sw[1], 4), port(l.sw[2], 1) };

	for (int i = 0; i < 4; i++) {
		uint8_t *t = arbitration(way[i]);

		memcpy(t, low, n_low);
		if (n_high)
			memcpy(t + VLARB_BYTES, high, n_high);
		wire_set_PORT_INFO_vl_high_limit(way[i]->info, limit);
	}
}

static void send_lanes(unsigned n, unsigned lanes)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint8_t sl = 0; sl < lanes; sl++)
			send_packet(0, 3, sl, i, 1000);
	run_out();
	CHECK(l.n == n * lanes && !l.f->dropped);
}

static void weights(void)
{
	static const uint8_t three_to_one[] = { 0, 3 * 16, 1, 16 };
	unsigned sl[16];

	line_open();
	make_slow(port(l.host[0], 1));
	set_tables(three_to_one, sizeof(three_to_one), NULL, 0, 0);
	send_lanes(200, 2);
	by_sl(160, sl);
	CHECK_MSG(sl[0] >= 116 && sl[0] <= 124, "%u of VL 0, %u of VL 1", sl[0], sl[1]);
	line_close();
}

static void priorities(void)
{
	static const uint8_t low[] = { 0, 64 }, high[] = { 1, 64 };
	unsigned sl[16];

	/* Unbounded: all of VL 1 first, but for what had left before it came. */
	line_open();
	make_slow(port(l.host[0], 1));
	set_tables(low, sizeof(low), high, sizeof(high), VLARB_UNBOUNDED);
	send_lanes(200, 2);
	by_sl(201, sl);
	CHECK_MSG(sl[1] >= 199, "%u of VL 1", sl[1]);
	line_close();
	/* Limit 0: one by one. */
	line_open();
	make_slow(port(l.host[0], 1));
	set_tables(low, sizeof(low), high, sizeof(high), 0);
	send_lanes(200, 2);
	by_sl(200, sl);
	CHECK_MSG(sl[1] >= 99 && sl[1] <= 101, "%u of VL 1", sl[1]);
	line_close();
	/* Limit 1: 4 KiB, four packets of 1,026 bytes, for each packet of low priority. */
	line_open();
	make_slow(port(l.host[0], 1));
	set_tables(low, sizeof(low), high, sizeof(high), 1);
	send_lanes(200, 2);
	by_sl(200, sl);
	CHECK_MSG(sl[1] >= 158 && sl[1] <= 168, "%u of VL 1", sl[1]);
	line_close();
}

static void unnamed_lane(void)
{
	static const uint8_t low[] = { 0, 64 };

	line_open();
	set_tables(low, sizeof(low), NULL, 0, 0);
	send_packet(0, 3, 1, 1, 64);
	send_packet(0, 3, 0, 2, 64);
	run_out();
	CHECK(l.n == 1 && l.got[0].psn == 2);
	line_close();
}

/* The VL is that of the table for the input port; VL 15 and VLs that the link has not drop. */
static void lanes_of_links(void)
{
	struct hop_lane_view v;
	struct fab_port *out;

	line_open();
	out = port(l.sw[0], 4);
	out->sl_to_vl = ut_zalloc(8 * 5);
	out->sl_to_vl[8 * 1 + 0] = 0x35; /* from port 1: SL 0 to VL 3, SL 1 to VL 5 */
	out->sl_to_vl[8 * 1 + 1] = 0xff;
	send_packet(0, 3, 0, 0, 64);
	send_packet(0, 3, 1, 1, 64);
	send_packet(1, 3, 1, 2, 64); /* from port 2: VL 0 */
	send_packet(0, 3, 2, 3, 64);
	run_out();
	CHECK(l.n == 3 && hop_lane(out, 3, &v) && v.sent == 1 && hop_lane(out, 5, &v) && v.sent == 1 && hop_lane(out, 0, &v) && v.sent == 1);
	CHECK(counter(l.sw[0], 1, FAB_C_VL_MAPPING) == 1 && counter(l.sw[0], 1, FAB_C_RCV_SWITCH_RELAY) == 1);
	wire_set_PORT_INFO_oper_vls(out->info, 1);
	send_packet(0, 3, 0, 4, 64);
	run_out();
	CHECK(l.n == 3 && counter(l.sw[0], 1, FAB_C_VL_MAPPING) == 2);
	check_credits();
	line_close();
}

static void refusals(void)
{
	line_open();
	send_packet(0, 9, 0, 0, 64); /* no entry */
	run_out();
	CHECK(!l.n && counter(l.sw[0], 1, FAB_C_DLID_MAPPING) == 1 && counter(l.sw[0], 1, FAB_C_RCV_SWITCH_RELAY) == 1);
	wire_set_PORT_INFO_neighbor_mtu(port(l.sw[1], 4)->info, 3); /* 1024 */
	send_packet(0, 3, 0, 0, 2048);
	run_out();
	CHECK(!l.n && counter(l.sw[1], 4, FAB_C_MTU_DISCARD) == 1 && counter(l.sw[1], 4, FAB_C_XMIT_DISCARDS) == 1);
	send_packet(0, 3, 0, 0, 1024);
	run_out();
	CHECK(l.n == 1);
	put_route(l.sw[2], 3, 2); /* the table of s3 leads to d */
	send_packet(0, 3, 0, 0, 64);
	run_out();
	CHECK(l.n == 1 && counter(l.host[3], 1, FAB_C_RCV_ERRORS) == 1);
	put_route(l.sw[2], 3, 3); /* back again: a loop */
	put_route(l.sw[1], 3, 4);
	send_packet(0, 3, 0, 0, 64);
	run_out();
	CHECK(l.n == 1 && counter(l.sw[2], 3, FAB_C_LOOPING) + counter(l.sw[1], 4, FAB_C_LOOPING) == 1);
	put_routes();
	/* Partition enforcement at the port to b, which is in another partition. */
	port(l.sw[2], 1)->pkeys = ut_zalloc(sizeof(struct fab_partition_table) + 32 * sizeof(uint16_t));
	port(l.sw[2], 1)->pkeys->n = 32;
	port(l.sw[2], 1)->pkeys->key[0] = 0x8001;
	wire_set_PORT_INFO_enforce_outbound(port(l.sw[2], 1)->info, 1);
	send_packet(0, 3, 0, 0, 64);
	run_out();
	CHECK(l.n == 1 && counter(l.sw[2], 1, FAB_C_XMIT_CONSTRAINT) == 1);
	check_credits();
	line_close();
}

static void damage(void)
{
	uint64_t bad;

	line_open();
	port(l.sw[1], 3)->fault.errors_ppm = 250000;
	for (uint32_t i = 0; i < 1000; i++)
		send_packet(0, 3, 0, i, 64);
	run_out();
	bad = counter(l.sw[1], 3, FAB_C_SYMBOL_ERROR);
	CHECK(bad > 150 && bad < 350 && l.n + bad == 1000 && counter(l.sw[1], 3, FAB_C_RCV_PKTS) == 1000 - bad);
	CHECK(counter(l.sw[0], 4, FAB_C_XMIT_PKTS) == 1000);
	check_credits();
	line_close();
}

/* A slow link behind a switch whose Head of Queue Lifetime Limit is 4 us. */
static void lifetimes(void)
{
	struct hop_lane_view v;
	uint64_t late;

	line_open();
	make_slow(port(l.host[2], 1));
	wire_set_PORT_INFO_hoq_life(port(l.sw[1], 4)->info, 0);
	for (uint32_t i = 0; i < 100; i++)
		send_packet(0, 3, 0, i, 4096);
	run_out();
	late = counter(l.sw[1], 4, FAB_C_HOQ_DISCARD);
	CHECK(late > 50 && l.n + late == 100 && counter(l.sw[1], 4, FAB_C_XMIT_DISCARDS) == late);
	CHECK(hop_lane(port(l.sw[1], 4), 0, &v) && v.dropped == late);
	check_credits();
	line_close();
	line_open();
	make_slow(port(l.host[2], 1));
	wire_set_SWITCH_INFO_life_time(l.sw[2]->sw->info, 1); /* 8 us */
	for (uint32_t i = 0; i < 20; i++)
		send_packet(0, 3, 0, i, 4096);
	run_out();
	late = counter(l.sw[2], 1, FAB_C_SW_LIFETIME);
	CHECK(late > 10 && l.n + late == 20);
	check_credits();
	line_close();
}

static void links_that_go(void)
{
	line_open();
	make_slow(port(l.host[2], 1));
	for (uint32_t i = 0; i < 200; i++)
		send_packet(0, 3, 0, i, 4096);
	run_for(0);
	fab_port_cut(port(l.sw[1], 4), true);
	run_out();
	CHECK(l.n > 5 && l.n < 20 && counter(l.sw[1], 4, FAB_C_INACTIVE_DISCARD) > 150);
	CHECK(l.n + l.f->dropped == 200);
	fab_port_cut(port(l.sw[1], 4), false);
	activate(port(l.sw[1], 4));
	activate(port(l.sw[2], 3));
	l.n = 0;
	for (uint32_t i = 0; i < 200; i++)
		send_packet(0, 3, 0, i, 4096);
	run_for(0);
	/* A flap between two looks. */
	fab_port_bounce(port(l.sw[0], 4));
	activate(port(l.sw[0], 4));
	activate(port(l.sw[1], 3));
	run_out();
	CHECK(l.n > 190 && l.n <= 200);
	check_credits();
	/* Nodes go with what waits in them. */
	for (uint32_t i = 0; i < 200; i++)
		send_packet(0, 3, 0, i, 4096);
	run_for(0);
	fab_node_remove(l.sw[1]);
	fab_node_remove(l.host[2]);
	run_out();
	check_credits();
	for (uint32_t i = 0; i < 200; i++)
		send_packet(0, 4, 0, i, 4096);
	run_for(0);
	fab_node_remove(l.host[0]);
	run_out();
	line_close();
}

static void groups(void)
{
	uint8_t mft[3][64] = { { 0 } };

	line_open();
	/* MLID 0xc001: a, c, b and d. */
	mft[0][3] = 0x16;	/* s1: ports 1, 2 and 4 */
	mft[1][3] = 0x18;	/* s2: ports 3 and 4 */
	mft[2][3] = 0x0e;	/* s3: ports 1, 2 and 3 */
	for (int s = 0; s < 3; s++)
		CHECK(fab_switch_mft_set(l.sw[s]->sw, 0, 0, mft[s]) == 0);
	for (uint32_t i = 0; i < 100; i++)
		send_packet(0, MLID, 0, i, 2000);
	run_out();
	CHECK(l.n == 300 && arrived_at(1) == 100 && arrived_at(2) == 100 && arrived_at(3) == 100);
	CHECK(counter(l.sw[1], 4, FAB_C_MCAST_XMIT) == 100 && counter(l.host[3], 1, FAB_C_MCAST_RCV) == 100);
	check_credits();
	/* A ring in the tables ends. */
	join_ports(port(l.sw[1], 1), port(l.sw[0], 3));
	mft[0][3] = 0x1e;
	mft[1][3] = 0x1a;
	for (int s = 0; s < 2; s++)
		CHECK(fab_switch_mft_set(l.sw[s]->sw, 0, 0, mft[s]) == 0);
	l.n = 0;
	send_packet(0, MLID, 0, 0, 64);
	run_out();
	CHECK(l.n >= 3);
	check_credits();
	line_close();
}

static void full_source(void)
{
	uint32_t i;

	line_open();
	make_slow(port(l.host[0], 1));
	for (i = 0; !hop_is_full(port(l.host[0], 1)); i++) {
		CHECK(i < 1000);
		send_packet(0, 3, 0, i, 4096);
	}
	CHECK(i * 4120ul > HOP_FULL && !l.drained);
	hop_forget(l.hop, &l.host[0]);
	run_out();
	CHECK(l.drained == 1 && !hop_is_full(port(l.host[0], 1)) && l.n == i && !l.got[i - 1].from);
	line_close();
}

/* Packets between all hosts while links flap and tables change: each one arrives or is counted, and no credit is lost. */
static void weather(void)
{
	struct ut_rng rng = { 42 };
	uint64_t sent = 0, came = 0;

	line_open();
	for (uint32_t i = 0; i < 20000; i++) {
		uint64_t what = ut_rng_below(&rng, 1000);
		int from = (int)ut_rng_below(&rng, 4);
		unsigned to = (unsigned)ut_rng_below(&rng, 4);
		struct fab_node *sw = l.sw[ut_rng_below(&rng, 3)];
		struct fab_port *p = port(sw, (unsigned)ut_rng_below(&rng, 4) + 1);

		if (what < 3 && p->peer) {
			fab_port_bounce(p);
			activate(p);
			activate(p->peer);
		} else if (what < 6 && p->peer) {
			make_slow(p);
		} else if (what < 9) {
			put_route(sw, (uint16_t)(to + 1), (uint8_t)(ut_rng_below(&rng, 4) + 1));
		} else if (what < 15) {
			put_routes();
		} else if ((unsigned)from != to) {
			send_packet(from, (uint16_t)(to + 1), (uint8_t)ut_rng_below(&rng, 16), i, ut_rng_below(&rng, 256) * 4);
			sent++;
		}
		if (what % 50 == 0)
			run_for(ut_rng_below(&rng, 200000));
		came += l.n;
		l.n = 0;
	}
	run_out();
	came += l.n;
	CHECK_MSG(came + l.f->dropped == sent, "%lu sent, %lu came, %lu dropped", sent, came, l.f->dropped);
	check_credits();
	line_close();
}

static const struct test_case cases[] = {
	{ "-", "crosses three switches", crosses },
	{ "-", "takes its time", takes_time },
	{ "-", "congestion", congestion },
	{ "-", "weights", weights },
	{ "-", "priorities", priorities },
	{ "-", "a lane without an entry", unnamed_lane },
	{ "-", "lanes of links", lanes_of_links },
	{ "-", "refusals", refusals },
	{ "-", "damage", damage },
	{ "-", "lifetimes", lifetimes },
	{ "-", "links that go", links_that_go },
	{ "-", "groups", groups },
	{ "-", "a full source", full_source },
	{ "-", "weather", weather },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

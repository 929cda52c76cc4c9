/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Any SMPs and GMPs from programs at the ports of a small fabric, and data packets hop by hop, in time, with links that
 * change between them: bytes of a MAD with its addressing, 256 and more bytes an operation. The model must answer or drop each, count it, and keep
 * its rules: states of both ends of a link agree, a port ACTIVE has a link, tables keep to their sizes.
 */
#include "input.h"

#include "mgmt/carry.h"
#include "mgmt/fabric.h"
#include "mgmt/hop.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "util/clock.h"
#include "wire/cm_fields.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"

enum { N_ENDS = 3 };

struct world {
	struct fab *f;
	struct fab_port *ends[N_ENDS + 1];
	struct hop *hop;
	unsigned delivered;
	uint64_t arrived;	/* packets */
};

static void deliver(void *ctx, struct fab_port *port, const struct mad *m)
{
	struct world *w = ctx;

	REQUIRE(fab_port_is_end(port));
	w->delivered++;
}

static const struct fab_ops ops = { .deliver = deliver };

static void took(void *ctx, struct fab_port *port, const uint8_t *bytes, size_t len, void *from)
{
	struct world *w = ctx;
	struct wire_link_packet p;

	REQUIRE(fab_port_is_end(port) && from == w && wire_link_parse(bytes, len, &p) == WIRE_OK && p.lrh.vl < HOP_VLS);
	w->arrived++;
}

static void drained(void *ctx, struct fab_port *port)
{
	REQUIRE(!hop_is_full(port));
}

static const struct hop_ops hops = { took, drained };

static struct fab_node *add(struct world *w, const char *name, enum fab_node_type type, unsigned ports)
{
	struct fab_node_spec spec = { .name = name, .type = type, .n_ports = ports };
	struct fab_node *n;

	REQUIRE(fab_node_add(w->f, &spec, &n) == 0);
	return n;
}

/* Tables for the LIDs 1 to 3, and for two groups, of which the second goes round in a ring. */
static void write_tables(struct fab_node *sw, const uint8_t out[4], const uint8_t mft[4])
{
	uint8_t block[FAB_LFT_BLOCK];

	memset(block, FAB_PORT_NONE, sizeof(block));
	memcpy(block, out, 4);
	REQUIRE(fab_switch_lft_set(sw->sw, 0, block) == 0);
	wire_set_SWITCH_INFO_linear_top(sw->sw->info, 63);
	memset(block, 0, sizeof(block));
	memcpy(block, mft, 4);
	REQUIRE(fab_switch_mft_set(sw->sw, 0, 0, block) == 0);
}

static void activate_all(struct fab *f)
{
	struct fab_node *n;
	unsigned i;

	ut_list_each(n, &f->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			if (n->ports[i].peer)
				REQUIRE(fab_port_advance(&n->ports[i], FAB_ARMED) && fab_port_advance(&n->ports[i], FAB_ACTIVE));
}

/* Two switches with two links, three CAs, all active: what an SM would have made. */
static void build(struct world *w)
{
	struct fab_node *s1, *s2, *n;
	static const char *const names[] = { "a", "b", "c" };
	unsigned i;

	w->f = fab_new(&ops, w, 1);
	REQUIRE(w->f);
	w->hop = hop_new(w->f, &hops, w);
	REQUIRE(w->hop);
	s1 = add(w, "s1", FAB_SWITCH, 6);
	s2 = add(w, "s2", FAB_SWITCH, 20);
	fab_link(&s1->ports[5], &s2->ports[5]);
	fab_link(&s1->ports[6], &s2->ports[17]);
	for (i = 0; i < N_ENDS; i++) {
		n = add(w, names[i], i == 2 ? FAB_ROUTER : FAB_CA, 1 + i);
		fab_link(&n->ports[1], &(i ? s2 : s1)->ports[i + 1]);
		w->ends[i] = &n->ports[1];
		wire_set_PORT_INFO_lid(n->ports[1].info, i + 1);
		wire_set_PORT_INFO_sm_lid(n->ports[1].info, 1);
	}
	write_tables(s1, (const uint8_t[4]){ FAB_PORT_NONE, 1, 5, 6 }, (const uint8_t[4]){ 0, 0x22, 0, 0x62 });
	write_tables(s2, (const uint8_t[4]){ FAB_PORT_NONE, 5, 2, 3 }, (const uint8_t[4]){ 0, 0x2c, 0, 0x2c });
	activate_all(w->f);
	w->ends[N_ENDS] = &s2->ports[0];
	wire_set_PORT_INFO_lid(s2->ports[0].info, 5);
	wire_set_PORT_INFO_sm_lid(s2->ports[0].info, 1);
}

static void check_port(const struct fab_port *p)
{
	unsigned state = fab_port_state(p);

	REQUIRE(state >= FAB_DOWN && state <= FAB_ACTIVE);
	REQUIRE(fab_port_lid(p) < MAD_LID_MCAST);
	if (p->num == 0)
		return;
	REQUIRE((state == FAB_DOWN) == (wire_get_PORT_INFO_phys_state(p->info) != FAB_LINK_UP));
	REQUIRE(state == FAB_DOWN || p->peer);
	REQUIRE(!p->peer || (fab_port_state(p->peer) == FAB_DOWN) == (state == FAB_DOWN));
}

static void check(const struct world *w)
{
	const struct fab_node *n;
	unsigned i;

	ut_list_each(n, &w->f->nodes, link)
		for (i = n->type != FAB_SWITCH; i <= n->n_ports; i++)
			check_port(&n->ports[i]);
}

/* The first bytes make a MAD that is nearly right, so that what is behind the checks is reached. */
static void send_mad(struct world *w, struct input *in)
{
	static const uint8_t classes[] = { MAD_CLASS_SMP, MAD_CLASS_SMP_DR, MAD_CLASS_PERF, MAD_CLASS_SA };
	struct mad m = { 0 };
	unsigned kind = in8(in);
	size_t n = MAD_LEN - 24;
	const uint8_t *body;

	wire_set_MAD_base_version(m.bytes, 1);
	wire_set_MAD_class_version(m.bytes, 1);
	wire_set_MAD_mgmt_class(m.bytes, kind & 0x80 ? in8(in) : classes[kind & 3]);
	m.bytes[3] = in8(in);
	wire_set_MAD_attr_id(m.bytes, kind & 0x40 ? in16(in) : in8(in) & 0x3f);
	wire_set_MAD_attr_mod(m.bytes, kind & 0x20 ? in32(in) : in8(in));
	wire_put16(m.bytes + 6, in16(in));
	m.dlid = kind & 0x10 ? in16(in) : kind & 1 ? 0xffff : in8(in);
	m.slid = in8(in);
	m.sl = in8(in) & 15;
	m.dqpn = kind & 2 ? 1 : 0;
	m.sqpn = m.dqpn;
	m.pkey = 0xffff;
	m.qkey = MAD_QKEY_GSI;
	body = in_bytes(in, &n);
	memcpy(m.bytes + 24, body, n);
	if ((kind & 3) == 1 && !(kind & 8))
		memset(m.bytes + 32, 0xff, 4);
	fab_send(w->ends[in8(in) % (N_ENDS + 1)], &m);
}

/* Credits and queues keep to their sizes. */
static void check_lanes(const struct world *w)
{
	const struct fab_node *n;
	struct hop_lane_view v;
	unsigned i, vl;

	ut_list_each(n, &w->f->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			for (vl = 0; vl < HOP_VLS; vl++)
				if (hop_lane(&n->ports[i], vl, &v))
					REQUIRE(v.credits <= HOP_CREDITS && v.bytes <= v.most && !v.packets == !v.bytes);
}

static void send_packet(struct world *w, struct input *in, uint64_t now)
{
	uint8_t bytes[WIRE_LINK_PACKET_MAX];
	unsigned kind = in8(in);
	struct wire_link_packet p = { .lrh = { .slid = in8(in), .sl = in8(in) & 15, .lnh = kind & 1 ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL },
				      .ib_len = WIRE_BTH_LEN + WIRE_ICRC_LEN + 4u * in8(in) * (kind & 2 ? 4 : 1) };
	size_t head, i, repeat = kind & 4 ? in8(in) : 1;

	p.lrh.dlid = kind & 8 ? (uint16_t)(0xc000 | (in8(in) & 3)) : kind & 16 ? in16(in) : in8(in) & 7;
	head = wire_link_build(bytes, sizeof(bytes), &p);
	REQUIRE(head);
	memset(bytes + head, 0, p.ib_len);
	in_fill(in, bytes + head, WIRE_BTH_LEN);
	for (i = 0; i < repeat; i++)
		hop_send(w->hop, w->ends[kind / 64 % N_ENDS], bytes, head + p.ib_len, w, now);
	check_lanes(w);
}

static void change_link(struct world *w, struct input *in)
{
	unsigned op = in8(in);
	struct fab_port *p = w->ends[op % N_ENDS];

	if (op & 0x80)
		fab_port_bounce(p);
	else
		fab_port_cut(p, op & 0x40);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };
	struct world w = { 0 };
	uint64_t now = 0;
	struct fab_route route;

	build(&w);
	while (in.at < in.end) {
		unsigned op = in8(&in);

		if (op < 0xc0) {
			send_mad(&w, &in);
		} else if (op < 0xe0) {
			change_link(&w, &in);
		} else if (op < 0xf0) {
			now += in8(&in) * 100 * UT_MS;
			fab_run(w.f, now);
			hop_run(w.hop, now);
			check_lanes(&w);
		} else if (op < 0xf8) {
			send_packet(&w, &in, now);
		} else {
			fab_route(w.ends[op & 1], in8(&in), 0, 0xffff, &route);
			REQUIRE(route.n_ports <= FAB_ROUTE_PORTS);
			REQUIRE((route.verdict == FAB_PASSES) == (route.end != NULL));
			fab_route_count(&route, 0, 1, 72);
		}
		check(&w);
	}
	hop_run(w.hop, now + UT_S);
	check_lanes(&w);
	hop_free(w.hop);
	fab_free(w.f);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of adapters through the model of a fabric: three hosts at a switch, whose tables the test writes as a subnet
 * manager would. Who gets which packet, what each port counts, and which packets go nowhere.
 */
#include "mgmt/packets.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/fabstar.h"
#include "wire/cm_fields.h"
#include "wire/ib_fields.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOSTS FABSTAR_HOSTS
#define BOX 128
#define LMC 2

static const uint8_t mgid[16] = { 0xff, 0x12, 0x40, 0x1b, [15] = 5 };

struct seat {
	struct pks_process p;
	uint8_t got[BOX][PKT_TRAIN_BYTES + 64];
	size_t len[BOX];
	int n;
	bool full, paused;
	unsigned sent_for;
};

struct world {
	struct fabstar star;
	struct pks pks;
	struct seat *seat[HOSTS];
};

static bool take(void *ctx, struct pks_process *p, const struct iovec *iov, int n)
{
	struct seat *s = ut_container(p, struct seat, p);
	size_t at = 0;

	if (s->full || s->n == BOX)
		return false;
	for (int i = 0; i < n; i++) {
		memcpy(s->got[s->n] + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	CHECK(pkt_parse(s->got[s->n], at, true));
	s->len[s->n++] = at;
	return true;
}

/* What left by a trunk. */
static struct {
	uint8_t packet[WIRE_LINK_PACKET_MAX];
	size_t len;
	const struct fab_port *by;
	int n;
} departed;

static void depart(void *ctx, struct fab_port *trunk, const uint8_t *packet, size_t len)
{
	CHECK(len <= sizeof(departed.packet));
	memcpy(departed.packet, packet, len);
	departed.len = len;
	departed.by = trunk;
	departed.n++;
}

static void pause_sender(void *ctx, struct pks_process *p, bool on)
{
	ut_container(p, struct seat, p)->paused = on;
}

static void sent_for(void *ctx, struct pks_process *p)
{
	ut_container(p, struct seat, p)->sent_for++;
}

static const struct pks_ops ops = { .send = take, .depart = depart, .pause = pause_sender, .sent_for = sent_for };

/* MLID 0xc001: ports 1 to 3 */
static void write_multicast(struct world *w)
{
	uint8_t mft[64] = { 0 };

	mft[3] = 0x0e;
	CHECK(fab_switch_mft_set(w->star.sw->sw, 0, 0, mft) == 0);
	fab_touch(w->star.f);
}

static void slot(struct seat *s, unsigned number)
{
	struct pkt_message m = { .head = pkt_head(PKT_SLOT), .u.slot.slot = number };

	CHECK(pks_receive(&s->p, &m, pkt_length(PKT_SLOT)) == 0);
}

static struct seat *sit(struct world *w, int host, unsigned number)
{
	struct seat *s = calloc(1, sizeof(*s));

	CHECK(s && pks_add(&w->pks, fabstar_port(&w->star, host), &s->p) == 0);
	slot(s, number);
	return s;
}

static void rise(struct seat *s)
{
	pks_remove(&s->p);
	free(s);
}

static void world_open_as(struct world *w, bool is_hopping)
{
	memset(w, 0, sizeof(*w));
	fabstar_make(&w->star, LMC);
	write_multicast(w);
	CHECK(pks_init(&w->pks, w->star.f, &ops, NULL, is_hopping) == 0);
	for (int i = 0; i < HOSTS; i++)
		w->seat[i] = sit(w, i, (unsigned)i); /* slot 0 has QPNs like those of management */
}

static void world_open(struct world *w)
{
	world_open_as(w, false);
}

static void world_close(struct world *w)
{
	for (int i = 0; i < HOSTS; i++)
		rise(w->seat[i]);
	pks_fini(&w->pks);
	fab_free(w->star.f);
}

/* --- packets --- */

struct spec {
	uint16_t slid, dlid, pkey;
	uint8_t sl;
	bool grh;
	uint32_t qpn, payload;
};

static size_t make(uint8_t *at, const struct spec *s)
{
	struct wire_ib_packet p = { .opcode = WIRE_RC_SEND_ONLY, .pkey = s->pkey ? s->pkey : 0xffff, .dest_qpn = s->qpn,
				    .payload_len = s->payload };
	struct wire_link_packet l = { .lrh = { .slid = s->slid, .dlid = s->dlid, .sl = s->sl,
					       .lnh = s->grh ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL },
				      .ib_len = WIRE_BTH_LEN + s->payload + WIRE_ICRC_LEN };
	size_t n;

	memcpy(l.grh.dgid, mgid, 16);
	n = wire_link_build(at, WIRE_LINK_PACKET_MAX, &l);
	CHECK(n);
	n += wire_ib_build(at + n, &p);
	memset(at + n, 0x5a, s->payload);
	wire_icrc_link_fill(at, n + s->payload);
	return n + s->payload + WIRE_ICRC_LEN;
}

static uint8_t message[sizeof(struct pkt_head) + PKT_TRAIN_BYTES];

static int send_n(struct seat *from, const struct spec *s, int n)
{
	struct pkt_head h = pkt_head(PKT_TRAIN);
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		size_t part = make(message + sizeof(h) + len, &s[i]);

		h.seg = i ? h.seg : (uint16_t)part;
		len += part;
	}
	memcpy(message, &h, sizeof(h));
	return pks_receive(&from->p, message, sizeof(h) + len);
}

static int send_one(struct seat *from, struct spec s)
{
	return send_n(from, &s, 1);
}

static uint64_t counter(struct fab_port *p, enum fab_counter c)
{
	return p->count.c[c];
}

/* --- cases --- */

static void by_lid(void)
{
	struct spec s = { .slid = fabstar_lid(0), .dlid = fabstar_lid(1) + 3, .qpn = 1u << 16 | 7, .payload = 256 };
	struct world w;

	world_open(&w);
	CHECK(send_one(w.seat[0], s) == 0);
	CHECK(w.seat[1]->n == 1 && !w.seat[2]->n && !w.seat[0]->n);
	CHECK(w.seat[1]->len[0] == sizeof(struct pkt_head) + 8 + 12 + 256 + 4);
	CHECK(!memcmp(w.seat[1]->got[0], message, w.seat[1]->len[0]));
	CHECK(counter(fabstar_port(&w.star, 0), FAB_C_XMIT_PKTS) == 1 && counter(fabstar_port(&w.star, 1), FAB_C_RCV_PKTS) == 1);
	CHECK(counter(fab_node_port(w.star.sw, 1), FAB_C_RCV_PKTS) == 1 && counter(fab_node_port(w.star.sw, 2), FAB_C_XMIT_PKTS) == 1);
	/* the other host's adapter does not read */
	w.seat[1]->full = true;
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.lost == 1);
	/* its own LIDs */
	s.dlid = fabstar_lid(0) + 1;
	s.qpn = 5;
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->n == 1);
	/* none has that slot */
	s.qpn = 9u << 16;
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.no_process == 1);
	world_close(&w);
}

static void refused(void)
{
	struct spec good = { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16, .payload = 64 }, s = good;
	struct world w;

	world_open(&w);
	s.slid = fabstar_lid(2); /* another port's */
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.forged == 1);
	s = good;
	s.dlid = 60; /* not in the table */
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.unrouted == 1);
	s = good;
	s.payload = 4096; /* over links of MTU 2048 */
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.too_long == 1);
	fab_unlink(fabstar_port(&w.star, 1));
	CHECK(send_one(w.seat[0], good) == 0 && w.seat[0]->p.counts.unrouted == 2);
	CHECK(w.seat[1]->n == 0);
	world_close(&w);
}

/* A kept route ends with the generation in which it was found. */
static void rerouted(void)
{
	struct spec s = { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16, .payload = 64 };
	uint8_t block[FAB_LFT_BLOCK];
	struct world w;

	world_open(&w);
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[1]->n == 1);
	fab_switch_lft_get(w.star.sw->sw, 0, block);
	block[fabstar_lid(1)] = FAB_PORT_NONE;
	CHECK(fab_switch_lft_set(w.star.sw->sw, 0, block) == 0);
	fab_touch(w.star.f);
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[1]->n == 1 && w.seat[0]->p.counts.unrouted == 1);
	fabstar_route(&w.star, LMC);
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[1]->n == 2);
	world_close(&w);
}

static void trains(void)
{
	struct spec s[4] = { { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16 | 9, .payload = 512 } };
	struct world w;

	world_open(&w);
	s[1] = s[2] = s[3] = s[0];
	s[3].payload = 128;
	CHECK(send_n(w.seat[0], s, 4) == 0);
	CHECK(w.seat[1]->n == 1 && w.seat[0]->p.counts.packets == 4);
	CHECK(counter(fabstar_port(&w.star, 1), FAB_C_RCV_PKTS) == 4);
	/* packets for two processes part */
	s[2].qpn = 2u << 16;
	s[2].dlid = fabstar_lid(2);
	s[3] = s[2];
	CHECK(send_n(w.seat[0], s, 4) == 0);
	CHECK(w.seat[1]->n == 2 && w.seat[2]->n == 1);
	world_close(&w);
}

static void groups(void)
{
	struct spec s = { .slid = fabstar_lid(0), .dlid = 0xc001, .qpn = 0xffffff, .payload = 64, .grh = true };
	struct pkt_message m = { .head = pkt_head(PKT_JOIN) };
	struct world w;

	world_open(&w);
	memcpy(m.u.group.mgid, mgid, 16);
	CHECK(send_one(w.seat[0], s) == 0 && !w.seat[1]->n && !w.seat[2]->n);
	for (int i = 0; i < 2; i++)
		CHECK(pks_receive(&w.seat[i]->p, &m, pkt_length(PKT_JOIN)) == 0);
	CHECK(send_one(w.seat[0], s) == 0);
	CHECK(w.seat[1]->n == 1 && !w.seat[2]->n && w.seat[0]->n == 1);
	m.head.type = PKT_LEAVE;
	CHECK(pks_receive(&w.seat[1]->p, &m, pkt_length(PKT_LEAVE)) == 0);
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[1]->n == 1);
	s.grh = false;
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[0]->p.counts.malformed == 1);
	world_close(&w);
}

static size_t make_mad(uint8_t *at, uint16_t attr, uint32_t id)
{
	struct wire_ib_packet p = { .opcode = WIRE_UD_SEND_ONLY, .pkey = 0xffff, .dest_qpn = 1, .src_qpn = 1,
				    .qkey = MAD_QKEY_GSI, .payload_len = MAD_LEN };
	struct wire_link_packet l = { .lrh = { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .lnh = WIRE_LNH_LOCAL },
				      .ib_len = WIRE_BTH_LEN + WIRE_DETH_LEN + MAD_LEN + WIRE_ICRC_LEN };
	size_t n = wire_link_build(at, WIRE_LINK_PACKET_MAX, &l);
	uint8_t *mad;

	n += wire_ib_build(at + n, &p);
	mad = at + n;
	memset(mad, 0, MAD_LEN);
	wire_set_MAD_mgmt_class(mad, WIRE_MAD_CLASS_CM);
	wire_set_MAD_attr_id(mad, attr);
	if (attr == WIRE_CM_ATTR_SIDR_REP)
		wire_set_CM_SIDR_REP_request_id(mad + WIRE_MAD_LEN, id);
	else
		wire_set_CM_REP_remote_comm_id(mad + WIRE_MAD_LEN, id);
	wire_icrc_link_fill(at, n + MAD_LEN);
	return n + MAD_LEN + WIRE_ICRC_LEN;
}

static void send_mad(struct world *w, uint16_t attr, uint32_t id)
{
	struct pkt_head h = pkt_head(PKT_TRAIN);

	h.seg = (uint16_t)make_mad(message + sizeof(h), attr, id);
	memcpy(message, &h, sizeof(h));
	CHECK(pks_receive(&w->seat[0]->p, message, sizeof(h) + h.seg) == 0);
}

/* Requests go to each process of the port in turn, all else by the slot in the ID. */
static void management(void)
{
	struct seat *other;
	struct world w;

	world_open(&w);
	other = sit(&w, 1, 77);
	w.seat[1]->n = 0; /* it was told of the other one */
	send_mad(&w, WIRE_CM_ATTR_REP, 1u << 24 | 5);
	CHECK(w.seat[1]->n == 1 && !other->n);
	send_mad(&w, WIRE_CM_ATTR_DREQ, 77u << 24 | 5);
	CHECK(w.seat[1]->n == 1 && other->n == 1);
	send_mad(&w, WIRE_CM_ATTR_SIDR_REP, 77u << 24);
	CHECK(other->n == 2);
	for (int i = 0; i < 4; i++)
		send_mad(&w, WIRE_CM_ATTR_REQ, 0);
	CHECK(w.seat[1]->n == 3 && other->n == 4);
	/* a slot that no process has: any of them responds */
	send_mad(&w, WIRE_CM_ATTR_DREQ, 200u << 24);
	CHECK(w.seat[1]->n + other->n == 8);
	rise(other);
	CHECK(w.seat[1]->len[w.seat[1]->n - 1] == pkt_length(PKT_MEMBERS));
	world_close(&w);
}

static void routes(void)
{
	struct pkt_message m = { .head = pkt_head(PKT_ROUTE), .u.route = { .number = 41, .slid = fabstar_lid(0), .dlid = fabstar_lid(1),
									   .pkey = 0xffff } };
	struct pkt_message r;
	struct world w;

	world_open(&w);
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_ROUTE)) == 0 && w.seat[0]->n == 1);
	memcpy(&r, w.seat[0]->got[0], sizeof(r));
	CHECK(r.head.type == PKT_ROUTED && r.u.routed.number == 41 && !r.u.routed.verdict && r.u.routed.mtu == 2048);
	CHECK(r.u.routed.guid == fabstar_port(&w.star, 1)->guid && r.u.routed.generation == w.star.f->generation);
	m.u.route.slid = fabstar_lid(1);
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_ROUTE)) == 0 && w.seat[0]->n == 2);
	memcpy(&r, w.seat[0]->got[1], sizeof(r));
	CHECK(r.u.routed.verdict);
	/* The port at the end is in no such partition. */
	m.u.route.slid = fabstar_lid(0);
	m.u.route.pkey = 0x8002;
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_ROUTE)) == 0 && w.seat[0]->n == 3);
	memcpy(&r, w.seat[0]->got[2], sizeof(r));
	CHECK(r.u.routed.verdict == FAB_PKEY_REFUSED && !r.u.routed.guid && !r.u.routed.mtu);
	world_close(&w);
}

/* The processes of a port that are in a group, but for the one that asks. */
static void members(void)
{
	struct pkt_message m = { .head = pkt_head(PKT_JOIN) }, c = { .head = pkt_head(PKT_COUNT) }, r;
	struct seat *other;
	struct world w;

	world_open(&w);
	memcpy(m.u.group.mgid, mgid, 16);
	memcpy(c.u.count.mgid, mgid, 16);
	other = sit(&w, 0, 9);
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_JOIN)) == 0);
	for (unsigned i = 0; i < 2; i++) {
		struct seat *s = w.seat[0];

		s->n = 0;
		c.u.count.slot = i ? 9 : 0; /* as the member asks, and as the other one does */
		CHECK(pks_receive(&s->p, &c, pkt_length(PKT_COUNT)) == 0 && s->n == 1);
		memcpy(&r, s->got[0], pkt_length(PKT_COUNTED));
		CHECK(r.head.type == PKT_COUNTED && r.u.counted.n == i);
	}
	rise(other);
	world_close(&w);
}

/* What goes by memory counts where it would pass, each packet once, whatever numbers a process has written. */
static void by_memory(void)
{
	struct pkt_tally *t = calloc(1, sizeof(*t));
	struct world w;
	struct fab_port *from, *to;

	world_open(&w);
	from = fabstar_port(&w.star, 0);
	to = fabstar_port(&w.star, 1);
	CHECK(t);
	w.seat[0]->p.tallied.seg = t;
	t->v[0].flow = pkt_flow(fabstar_lid(0), fabstar_lid(1), 3);
	t->v[0].sum.packets = 5;
	t->v[0].sum.words = 70;
	pks_tally(&w.pks);
	CHECK(counter(to, FAB_C_RCV_PKTS) == 0); /* n is 0 */
	t->n = 1;
	pks_tally(&w.pks);
	pks_tally(&w.pks);
	CHECK(counter(from, FAB_C_XMIT_PKTS) == 5 && counter(to, FAB_C_RCV_PKTS) == 5 && counter(to, FAB_C_RCV_DATA) == 70);
	/* What comes back, and flows of nowhere. */
	t->v[1].flow = pkt_flow(fabstar_lid(1), fabstar_lid(0), 0);
	t->v[1].sum.packets = t->v[1].sum.words = 2;
	t->v[2].flow = pkt_flow(fabstar_lid(0), 0xbfff, 0);
	t->v[2].sum.packets = t->v[2].sum.words = 9;
	t->v[3].flow = UINT64_MAX;
	t->v[3].sum.packets = t->v[3].sum.words = 9;
	t->n = 4;
	pks_tally(&w.pks);
	CHECK(counter(to, FAB_C_XMIT_PKTS) == 2 && counter(from, FAB_C_RCV_PKTS) == 2 && counter(from, FAB_C_XMIT_PKTS) == 5);
	t->n = UINT32_MAX;
	t->v[0].sum.packets = 6;
	pks_tally(&w.pks);
	CHECK(counter(from, FAB_C_XMIT_PKTS) == 5);
	/* The last of a process that leaves. */
	t->n = 1;
	rise(w.seat[0]);
	CHECK(counter(from, FAB_C_XMIT_PKTS) == 6);
	w.seat[0] = sit(&w, 0, 3);
	world_close(&w);
	free(t);
}

#define FAR_LID 40

/* Port 8 of the switch leads to another fabric process, where FAR_LID is; MLID 0xc001: it and ports 1 to 3. */
static struct fab_port *make_trunk(struct world *w)
{
	const uint8_t far[4] = { FAB_4X, FAB_QDR, FAB_EDR, 4 };
	struct fab_port *t = fab_node_port(w->star.sw, 8);
	uint8_t block[FAB_LFT_BLOCK], mft[64] = { [2] = 0x01, [3] = 0x0e };

	t->trunk = 1;
	fab_port_trunk(t, true);
	fab_port_trunk_far(t, true, far);
	fabstar_activate(t);
	fab_switch_lft_get(w->star.sw->sw, 0, block);
	block[FAR_LID] = 8;
	CHECK(fab_switch_lft_set(w->star.sw->sw, 0, block) == 0 && fab_switch_mft_set(w->star.sw->sw, 0, 0, mft) == 0);
	fab_touch(w->star.f);
	memset(&departed, 0, sizeof(departed));
	return t;
}

static void arrive(struct world *w, struct fab_port *t, struct spec s)
{
	uint8_t packet[WIRE_LINK_PACKET_MAX];

	pks_arrive(&w->pks, t, packet, make(packet, &s));
}

static void over_trunks(void)
{
	struct spec out = { .slid = fabstar_lid(0), .dlid = FAR_LID, .qpn = 1u << 16, .payload = 256 },
		    in = { .slid = FAR_LID, .dlid = fabstar_lid(1), .qpn = 1u << 16 | 3, .payload = 256 },
		    all = { .slid = fabstar_lid(0), .dlid = 0xc001, .qpn = 0xffffff, .payload = 64, .grh = true };
	struct pkt_message m = { .head = pkt_head(PKT_JOIN) };
	struct fab_port *t;
	struct world w;

	world_open(&w);
	t = make_trunk(&w);
	CHECK(send_one(w.seat[0], out) == 0 && departed.n == 1 && departed.by == t);
	CHECK(!memcmp(departed.packet, message + sizeof(struct pkt_head), departed.len) && departed.len == 8 + 12 + 256 + 4);
	CHECK(counter(t, FAB_C_XMIT_PKTS) == 1);
	out.payload = 4096;
	CHECK(send_one(w.seat[0], out) == 0 && departed.n == 1 && w.seat[0]->p.counts.too_long == 1);
	arrive(&w, t, in);
	CHECK(w.seat[1]->n == 1 && counter(t, FAB_C_RCV_PKTS) == 1 && counter(fabstar_port(&w.star, 1), FAB_C_RCV_PKTS) == 1);
	in.dlid = 60; /* not in the table */
	arrive(&w, t, in);
	CHECK(w.seat[1]->n == 1 && w.pks.stranger.counts.unrouted == 1);
	/* Groups: both ways, and not back. */
	memcpy(m.u.group.mgid, mgid, 16);
	CHECK(pks_receive(&w.seat[1]->p, &m, pkt_length(PKT_JOIN)) == 0);
	CHECK(send_one(w.seat[0], all) == 0 && departed.n == 2 && w.seat[1]->n == 2);
	all.slid = FAR_LID;
	arrive(&w, t, all);
	CHECK(departed.n == 2 && w.seat[1]->n == 3 && !w.seat[2]->n);
	/* Garbage, cut anywhere. */
	for (size_t cut = 0; cut < departed.len; cut++)
		pks_arrive(&w.pks, t, departed.packet, cut);
	CHECK(w.pks.stranger.counts.malformed == departed.len);
	/* Without the link nothing comes or goes. */
	fab_port_trunk_far(t, false, (const uint8_t[4]){ 0 });
	in.dlid = fabstar_lid(1);
	arrive(&w, t, in);
	arrive(&w, t, all);
	out.payload = 64;
	CHECK(send_one(w.seat[0], out) == 0 && departed.n == 2 && w.seat[1]->n == 3);
	world_close(&w);
}

/* Addresses of hosts behind a trunk; those of the own hosts come from a region of their own. */
static void far_hosts(void)
{
	const struct pkt_peer far = { .ip = PKT_IP_FIRST + 7 * ADDR_REGION + 3, .lid = FAR_LID, .guid = 0x77, .prefix = 0xfe80ull << 48 };
	struct pkt_message q = { .head = pkt_head(PKT_FIND), .u.find.ip = far.ip }, a;
	struct world w;

	world_open(&w);
	w.star.f->region = 5;
	CHECK(addr_of(w.star.host[0]) > PKT_IP_FIRST + 5 * ADDR_REGION && addr_of(w.star.host[0]) < PKT_IP_FIRST + 6 * ADDR_REGION);
	for (int known = 0; known < 2; known++) {
		struct seat *s = w.seat[0];

		s->n = 0;
		CHECK(pks_receive(&s->p, &q, pkt_length(PKT_FIND)) == 0 && s->n == 1);
		memcpy(&a, s->got[0], pkt_length(PKT_FOUND));
		CHECK(a.head.type == PKT_FOUND && a.u.found.v[0].guid == (known ? far.guid : 0) && a.u.found.v[0].lid == (known ? FAR_LID : 0));
		CHECK(addr_far_add(&w.pks.far, &far) == 0);
	}
	CHECK(w.pks.far.n == 1);
	addr_far_clear(&w.pks.far);
	CHECK(w.pks.far.n == 0);
	world_close(&w);
}

/* The answer, then the hosts that were made next, each with what a question for it alone would bring. */
static void next_hosts(void)
{
	struct pkt_message q = { .head = pkt_head(PKT_FIND) }, all, one;
	unsigned n = 0;
	struct world w;

	world_open(&w);
	for (; n < FABSTAR_HOSTS; n++) {
		struct seat *s = w.seat[0];

		s->n = 0;
		q.u.find = (struct pkt_find){ .ip = n % 2 ? 0 : addr_of(w.star.host[n]),
					      .guid = n % 2 ? fabstar_port(&w.star, n)->guid : 0 };
		CHECK(pks_receive(&s->p, &q, pkt_length(PKT_FIND)) == 0 && s->n == 1);
		memcpy(&one, s->got[0], pkt_length(PKT_FOUND));
		if (n == 0)
			all = one;
		CHECK(one.u.found.v[0].guid == fabstar_port(&w.star, n)->guid && one.u.found.v[0].lid == fabstar_lid(n));
		CHECK(!memcmp(&all.u.found.v[n], &one.u.found.v[0], sizeof(one.u.found.v[0])));
		CHECK(one.u.found.v[FABSTAR_HOSTS - n].guid == 0);
	}
	world_close(&w);
}

static void gone(void *ctx, struct pks_process *p)
{
	pks_remove(p);
}

/* Each of these ends the connection, and harms no other. */
static void hostile(void)
{
	struct pkt_message m = { .head = pkt_head(PKT_SLOT) };
	struct spec s = { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16, .payload = 64 };
	struct seat *late;
	struct world w;

	world_open(&w);
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_SLOT)) == -EPROTO); /* a second slot */
	CHECK(pks_receive(&w.seat[0]->p, &m, 3) == -EPROTO);
	m.head.magic++;
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_SLOT)) == -EPROTO);
	m = (struct pkt_message){ .head = pkt_head(PKT_WELCOME) }; /* of the other direction */
	CHECK(pks_receive(&w.seat[0]->p, &m, pkt_length(PKT_WELCOME)) == -EPROTO);
	m = (struct pkt_message){ .head = pkt_head(PKT_SLOT), .u.slot.slot = 1 };
	late = calloc(1, sizeof(*late));
	CHECK(late && pks_add(&w.pks, fabstar_port(&w.star, 1), &late->p) == 0);
	CHECK(send_one(late, s) == -EPROTO); /* before its slot */
	CHECK(pks_receive(&late->p, &m, pkt_length(PKT_SLOT)) == -EPROTO); /* another process's */
	rise(late);
	/* a train whose packets say other lengths than it has */
	CHECK(send_one(w.seat[0], s) == 0 && w.seat[1]->n == 1);
	message[sizeof(struct pkt_head) + 5] ^= 4;
	CHECK(pks_receive(&w.seat[0]->p, message, sizeof(struct pkt_head) + 88) == 0);
	CHECK(w.seat[1]->n == 1 && w.seat[0]->p.counts.malformed == 1);
	/* its node is removed under it */
	pks_port_gone(&w.pks, fabstar_port(&w.star, 0), gone);
	CHECK(send_one(w.seat[0], s) == -EPROTO);
	world_close(&w);
}

/* The answer about a route: 0, or the verdict. */
static uint32_t ask_route(struct world *w, uint16_t dlid)
{
	struct pkt_message m = { .head = pkt_head(PKT_ROUTE),
				 .u.route = { .number = 7, .slid = fabstar_lid(0), .dlid = dlid, .pkey = 0xffff } };
	struct seat *s = w->seat[0];

	CHECK(pks_receive(&s->p, &m, pkt_length(PKT_ROUTE)) == 0 && s->n);
	memcpy(&m, s->got[--s->n], sizeof(m));
	CHECK(m.head.type == PKT_ROUTED);
	return m.u.routed.verdict;
}

/* Each packet by itself through the switch, later, as one train again; no other way is offered. */
static void hop_by_hop(void)
{
	struct spec s[5] = { { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16 | 9, .payload = 512 } };
	struct spec to_self = { .slid = fabstar_lid(0), .dlid = fabstar_lid(0) + 1, .qpn = 5, .payload = 64 };
	struct spec group = { .slid = fabstar_lid(0), .dlid = 0xc001, .qpn = 0xffffff, .payload = 64, .grh = true };
	struct pkt_message m = { .head = pkt_head(PKT_JOIN) };
	uint64_t now = 1000000000;
	struct pkt_head h;
	struct world w;

	world_open_as(&w, true);
	CHECK(ask_route(&w, fabstar_lid(1)) == FAB_HOPS && ask_route(&w, fabstar_lid(0) + 1) == 0);
	for (int i = 1; i < 5; i++)
		s[i] = s[0];
	s[3].payload = 128; /* ends a train */
	pks_run(&w.pks, now);
	CHECK(send_n(w.seat[0], s, 4) == 0 && !w.seat[1]->n);
	CHECK(send_one(w.seat[0], s[4]) == 0);
	CHECK(pks_next(&w.pks) != UINT64_MAX);
	pks_run(&w.pks, now + 1000);
	CHECK(w.seat[1]->n == 2 && w.seat[0]->sent_for == 2 && pks_next(&w.pks) == UINT64_MAX);
	memcpy(&h, w.seat[1]->got[0], sizeof(h));
	CHECK(h.seg == 8 + 12 + 512 + 4 && w.seat[1]->len[0] == sizeof(h) + 3 * h.seg + 8 + 12 + 128 + 4);
	CHECK(counter(fab_node_port(w.star.sw, 2), FAB_C_XMIT_PKTS) == 5 && counter(fabstar_port(&w.star, 1), FAB_C_RCV_PKTS) == 5);
	/* loopback crosses no link */
	CHECK(send_one(w.seat[0], to_self) == 0 && w.seat[0]->n == 1);
	/* members of a group, at the sender's port at once */
	memcpy(m.u.group.mgid, mgid, 16);
	for (int i = 0; i < 3; i++)
		CHECK(pks_receive(&w.seat[i]->p, &m, pkt_length(PKT_JOIN)) == 0);
	CHECK(send_one(w.seat[0], group) == 0 && w.seat[0]->n == 2);
	pks_run(&w.pks, now + 2000);
	CHECK(w.seat[0]->n == 2 && w.seat[1]->n == 3 && w.seat[2]->n == 1);
	/* a receiver that does not read, and one that is not there */
	w.seat[1]->full = true;
	CHECK(send_one(w.seat[0], s[0]) == 0);
	s[1].qpn = 9u << 16;
	CHECK(send_one(w.seat[0], s[1]) == 0);
	pks_run(&w.pks, now + 3000);
	CHECK(w.seat[0]->p.counts.lost == 1 && w.seat[0]->p.counts.no_process == 1);
	world_close(&w);
}

/* A port whose queue is long makes its processes wait, until it has room; packets outlive their sender. */
static void full_port(void)
{
	struct spec s[32] = { { .slid = fabstar_lid(0), .dlid = fabstar_lid(1), .qpn = 1u << 16, .payload = 2000 } };
	uint64_t now = 1000000000;
	struct world w;
	int n = 0;

	world_open_as(&w, true);
	for (int i = 1; i < 32; i++)
		s[i] = s[0];
	pks_run(&w.pks, now);
	for (; !w.seat[0]->paused; n += 32) {
		CHECK(n < 1000);
		CHECK(send_n(w.seat[0], s, 32) == 0);
	}
	CHECK(n * 2024u > HOP_FULL && !w.seat[2]->paused);
	w.seat[1]->n = 0;
	for (int i = 0; w.seat[0]->paused; i++) {
		CHECK(i < 1000);
		pks_run(&w.pks, now += 10000);
	}
	rise(w.seat[0]);
	w.seat[0] = sit(&w, 0, 3);
	pks_run(&w.pks, now += 1000000000);
	CHECK(counter(fabstar_port(&w.star, 1), FAB_C_RCV_PKTS) == (uint64_t)n);
	world_close(&w);
}

static const struct test_case cases[] = {
	{ "-", "packets find their process, and each port counts them", by_lid },
	{ "-", "forged, unrouted and long packets go nowhere", refused },
	{ "-", "a table that changes is obeyed at once", rerouted },
	{ "-", "trains part where their ways part", trains },
	{ "-", "multicast", groups },
	{ "-", "connection management finds its process", management },
	{ "-", "routes for senders", routes },
	{ "-", "members of a group at a port", members },
	{ "-", "what goes by memory", by_memory },
	{ "-", "packets over trunks", over_trunks },
	{ "-", "hosts behind trunks", far_hosts },
	{ "-", "a question brings the hosts that were made next", next_hosts },
	{ "-", "messages that are none", hostile },
	{ "-", "hop by hop", hop_by_hop },
	{ "-", "a full port", full_port },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

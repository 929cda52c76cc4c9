/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/hop.h"

#include "mgmt/carry.h"
#include "mgmt/pma.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "mgmt/vlarb.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/ib_fields.h"
#include "wire/ib_link.h"

#define HEADERS_MAX 126u	/* of a packet, beside payload of the link's MTU (IBTA 7.7.5) */
#define VCRC_LEN 2u
#define LIFETIME_UNIT 4096u	/* ns: HOQLife and LifeTimeValue count powers of two of 4.096 us */
#define LIFETIME_MAX 19u	/* greater values: for ever (14.2.5.4, 14.2.5.6) */

struct packet {
	struct ut_list all;		/* hop.packets */
	struct packet *next;		/* in the queue of its VL */
	void *from;
	struct fab_port *in;		/* by which it came to this node; NULL at its source */
	struct fab_port *feeder;	/* NULL: it holds no receive buffer. Else the other end, to which credits go back, */
	uint64_t life;			/* if the link has not been down since */
	uint64_t arrived;		/* at this node, ns */
	uint64_t head_at;		/* at the head of its queue, ns */
	struct fab_head head;
	uint16_t len, blocks;
	uint8_t vl, in_vl, hops;
	uint8_t bytes[];
};

struct lane {
	struct packet *first, **last;
	struct hop_lane_view view;	/* its credits are those of the link that is up now */
	uint64_t blocked_at;		/* ns; 0: it does not wait for credits */
};

struct hop_port {
	struct hop *hop;
	struct fab_port *port;
	struct ut_list link;		/* hop.ports */
	struct ut_timer timer;		/* end of a transmission, or of a lifetime; or now: look again */
	struct packet *sending;
	uint64_t sent_at;		/* its transmission ends, ns */
	uint64_t life;			/* of the link for which the credits are */
	uint64_t idle_at;		/* it has packets and sends none since, ns; 0: it has none, or sends */
	uint64_t idle_ns;		/* sum of these times */
	uint32_t backlog;		/* bytes of all queues */
	bool is_full;
	struct vlarb arb;
	struct lane lane[HOP_VLS];
};

struct hop {
	struct fab *fabric;
	const struct hop_ops *ops;
	void *ctx;
	uint64_t now;			/* of the event that is processed, ns; never goes back */
	uint64_t generation;		/* of the fabric at the last hop_run() */
	struct ut_list ports, packets;
	uint32_t n_packets;
	struct ut_heap timers;
};

/* --- packets --- */

static void free_packet(struct hop *h, struct packet *p)
{
	ut_list_del(&p->all);
	h->n_packets--;
	free(p);
}

static struct packet *make_packet(struct hop *h, const uint8_t *bytes, size_t len)
{
	struct packet *p = h->n_packets < HOP_PACKETS_MAX ? ut_malloc(sizeof(*p) + len) : NULL;

	if (!p)
		return NULL;
	*p = (struct packet){ .len = (uint16_t)len, .blocks = (uint16_t)((len + HOP_BLOCK - 1) / HOP_BLOCK) };
	memcpy(p->bytes, bytes, len);
	ut_list_init(&p->all);
	ut_list_add_tail(&h->packets, &p->all);
	h->n_packets++;
	return p;
}

static uint8_t *bth_of(struct packet *p)
{
	return p->bytes + WIRE_LRH_LEN + (wire_get_LRH_lnh(p->bytes) == WIRE_LNH_GLOBAL ? WIRE_GRH_LEN : 0);
}

static void read_head(struct packet *p)
{
	p->head = (struct fab_head){ .slid = (uint16_t)wire_get_LRH_slid(p->bytes), .dlid = (uint16_t)wire_get_LRH_dlid(p->bytes),
				     .sl = (uint8_t)wire_get_LRH_sl(p->bytes), .pkey = (uint16_t)wire_get_BTH_pkey(bth_of(p)) };
}

static bool is_mcast(const struct packet *p)
{
	return p->head.dlid >= MAD_LID_MCAST && p->head.dlid != MAD_LID_PERMISSIVE;
}

static struct fab_load load_of(const struct packet *p)
{
	return (struct fab_load){ .packets = 1, .words = p->len / 4, .sl = p->head.sl, .vl = p->vl, .is_mcast = is_mcast(p) };
}

/* --- ports --- */

static uint64_t life_of(const struct fab_port *p)
{
	return p->count.c[FAB_C_LINK_DOWNED];
}

static void fill_credits(struct hop_port *hp)
{
	unsigned vl;

	hp->life = life_of(hp->port);
	for (vl = 0; vl < HOP_VLS; vl++)
		hp->lane[vl].view.credits = HOP_CREDITS;
}

static struct hop_port *port_of(struct hop *h, struct fab_port *port)
{
	struct hop_port *hp = port->hop;
	unsigned vl;

	if (hp)
		return hp;
	hp = ut_heap_reserve(&h->timers) == 0 ? ut_zalloc(sizeof(*hp)) : NULL;
	if (!hp)
		return NULL;
	hp->hop = h;
	hp->port = port;
	for (vl = 0; vl < HOP_VLS; vl++)
		hp->lane[vl].last = &hp->lane[vl].first;
	ut_list_init(&hp->link);
	ut_list_add_tail(&h->ports, &hp->link);
	fill_credits(hp);
	port->hop = hp;
	return hp;
}

/* The port looks at its queues when the events before have been processed. */
static void look_soon(struct hop_port *hp)
{
	if (!hp->sending)
		ut_timer_set(&hp->hop->timers, &hp->timer, hp->hop->now);
}

static void free_queues(struct hop_port *hp)
{
	struct packet *p;
	unsigned vl;

	for (vl = 0; vl < HOP_VLS; vl++)
		while ((p = hp->lane[vl].first)) {
			hp->lane[vl].first = p->next;
			free_packet(hp->hop, p);
		}
	if (hp->sending)
		free_packet(hp->hop, hp->sending);
}

void hop_port_free(struct hop_port *hp)
{
	struct hop *h = hp->hop;

	free_queues(hp);
	ut_timer_clear(&h->timers, &hp->timer);
	ut_heap_unreserve(&h->timers);
	ut_list_del(&hp->link);
	hp->port->hop = NULL;
	free(hp);
}

/* --- credits --- */

/* The packet leaves the receive buffer that it was in. */
static void give_back(struct packet *p)
{
	struct fab_port *feeder = p->feeder;
	uint32_t *credits;

	p->feeder = NULL;
	if (!feeder || p->in->peer != feeder || !feeder->hop || feeder->hop->life != p->life)
		return;
	credits = &feeder->hop->lane[p->in_vl].view.credits;
	*credits = *credits + p->blocks < HOP_CREDITS ? *credits + p->blocks : HOP_CREDITS;
	look_soon(feeder->hop);
}

static void end_packet(struct hop *h, struct packet *p)
{
	give_back(p);
	free_packet(h, p);
}

/* A port drops it: a counter, and a detail of it or FAB_NR_COUNTERS. */
static void drop(struct hop *h, struct fab_port *at, enum fab_counter c, enum fab_counter detail, struct packet *p)
{
	at->count.c[c]++;
	if (detail != FAB_NR_COUNTERS)
		at->count.c[detail]++;
	h->fabric->dropped++;
	end_packet(h, p);
}

static void discard(struct hop *h, struct fab_port *at, enum fab_counter detail, struct packet *p)
{
	drop(h, at, FAB_C_XMIT_DISCARDS, detail, p);
}

/* --- the queues of a port --- */

static void settle_full(struct hop_port *hp)
{
	if (!hp->is_full || hp->backlog > HOP_ROOM)
		return;
	hp->is_full = false;
	hp->hop->ops->drained(hp->hop->ctx, hp->port);
}

static struct packet *pop(struct hop_port *hp, struct lane *l)
{
	struct packet *p = l->first;

	l->first = p->next;
	if (l->first)
		l->first->head_at = hp->hop->now;
	else
		l->last = &l->first;
	p->next = NULL;
	l->view.packets--;
	l->view.bytes -= p->len;
	hp->backlog -= p->len;
	settle_full(hp);
	return p;
}

static void mark(struct hop_port *hp, struct lane *l, struct packet *p)
{
	uint8_t *bth = bth_of(p);

	if (!p->in || l->view.bytes <= HOP_MARK || l->view.credits < p->blocks || wire_get_BTH_fecn(bth))
		return;
	wire_set_BTH_fecn(bth, 1);
	l->view.marked++;
	fab_count_congestion(hp->port, p->vl);
}

static bool is_too_long(const struct fab_port *out, const struct packet *p)
{
	return p->len > (128u << wire_get_PORT_INFO_neighbor_mtu(out->info)) + HEADERS_MAX;
}

/* By the port's SL to VL mapping; a VL that the link does not have means that the packet goes no further (7.6.6). */
static bool choose_vl(const struct fab_port *out, struct packet *p)
{
	unsigned vl = fab_port_vl(out, p->in ? p->in->num : 0, p->head.sl);

	p->vl = (uint8_t)vl;
	return vl < fab_port_data_vls(out);
}

static void enqueue(struct hop *h, struct fab_port *out, struct packet *p)
{
	struct hop_port *hp = port_of(h, out);
	struct lane *l;

	if (!hp || !fab_link_passes(out)) {
		discard(h, out, FAB_C_INACTIVE_DISCARD, p);
		return;
	}
	if (is_too_long(out, p)) {
		discard(h, out, FAB_C_MTU_DISCARD, p);
		return;
	}
	if (!choose_vl(out, p)) {
		drop(h, p->in ? p->in : out, p->in ? FAB_C_RCV_SWITCH_RELAY : FAB_C_XMIT_DISCARDS, FAB_C_VL_MAPPING, p);
		return;
	}
	l = &hp->lane[p->vl];
	p->head_at = h->now;
	*l->last = p;
	l->last = &p->next;
	l->view.packets++;
	l->view.bytes += p->len;
	hp->backlog += p->len;
	if (l->view.bytes > l->view.most)
		l->view.most = l->view.bytes;
	mark(hp, l, p);
	look_soon(hp);
}

/* --- lifetimes in a switch --- */

static uint64_t lifetime(uint64_t value)
{
	return value > LIFETIME_MAX ? UT_NEVER : (uint64_t)LIFETIME_UNIT << value;
}

static uint64_t after(uint64_t at, uint64_t wait)
{
	return wait == UT_NEVER ? UT_NEVER : at + wait;
}

/* When the packet at the head has to be gone; packets at their source wait as long as they must. */
static uint64_t head_ends(const struct fab_port *out, const struct packet *p, enum fab_counter *ret_why)
{
	uint64_t hoq, life;

	if (!p->in)
		return UT_NEVER;
	hoq = after(p->head_at, lifetime(wire_get_PORT_INFO_hoq_life(out->info)));
	life = after(p->arrived, lifetime(wire_get_SWITCH_INFO_life_time(out->node->sw->info)));
	*ret_why = hoq <= life ? FAB_C_HOQ_DISCARD : FAB_C_SW_LIFETIME;
	return hoq < life ? hoq : life;
}

/* Drops what has waited too long. Returns when the next one has. */
static uint64_t drop_late(struct hop_port *hp)
{
	enum fab_counter why = FAB_C_HOQ_DISCARD;
	uint64_t next = UT_NEVER, ends = UT_NEVER;
	unsigned vl;

	for (vl = 0; vl < HOP_VLS; vl++) {
		struct lane *l = &hp->lane[vl];

		while (l->first && (ends = head_ends(hp->port, l->first, &why)) <= hp->hop->now) {
			l->view.dropped++;
			discard(hp->hop, hp->port, why, pop(hp, l));
		}
		if (l->first && ends < next)
			next = ends;
	}
	return next;
}

static void drop_all(struct hop_port *hp)
{
	unsigned vl;

	for (vl = 0; vl < HOP_VLS; vl++)
		while (hp->lane[vl].first)
			discard(hp->hop, hp->port, FAB_C_INACTIVE_DISCARD, pop(hp, &hp->lane[vl]));
}

/* --- transmission --- */

/* SDR to QDR code 8 bits as 10, the extended speeds 64 as 66 (volume 2, 5). */
static uint64_t duration(const struct fab_port *out, uint32_t bytes)
{
	uint64_t rate = fab_port_rate(out), bits = 8ull * (bytes + VCRC_LEN);
	bool is_ext = wire_get_PORT_INFO_ext_speed_active(out->info) != 0;

	bits = is_ext ? bits * 66 / 64 : bits * 10 / 8;
	return rate ? bits * 10 / rate : 0;
}

/* VLs that have a packet and credits for it. */
static unsigned ready_lanes(struct hop_port *hp)
{
	uint64_t now = hp->hop->now;
	unsigned vl, ready = 0;

	for (vl = 0; vl < HOP_VLS; vl++) {
		struct lane *l = &hp->lane[vl];

		if (l->first && l->view.credits < l->first->blocks) {
			l->blocked_at = l->blocked_at ? l->blocked_at : now;
			continue;
		}
		if (l->blocked_at) {
			fab_count_lane_wait(hp->port, vl, l->view.waited_ns, l->view.waited_ns + now - l->blocked_at);
			l->view.waited_ns += now - l->blocked_at;
			l->blocked_at = 0;
		}
		ready |= (unsigned)(l->first != NULL) << vl;
	}
	return ready;
}

static void transmit(struct hop_port *hp, unsigned vl, enum vlarb_table table)
{
	struct hop *h = hp->hop;
	struct lane *l = &hp->lane[vl];
	struct packet *p = pop(hp, l);

	l->view.credits -= p->blocks;
	l->view.sent++;
	vlarb_sent(&hp->arb, table, p->len + VCRC_LEN);
	wire_set_LRH_vl(p->bytes, vl);
	hp->sending = p;
	hp->sent_at = h->now + duration(hp->port, p->len);
	ut_timer_set(&h->timers, &hp->timer, hp->sent_at);
	if (h->fabric->ops->passed)
		h->fabric->ops->passed(h->fabric->ctx, hp->port, p->bytes, p->len);
}

/* Times without a transmission while packets wait are PortXmitWait. */
static void settle_idle(struct hop_port *hp, bool sends)
{
	uint64_t now = hp->hop->now;

	if (hp->idle_at && (sends || !hp->backlog)) {
		fab_count_wait(hp->port, hp->idle_ns, hp->idle_ns + now - hp->idle_at);
		hp->idle_ns += now - hp->idle_at;
		hp->idle_at = 0;
	} else if (!hp->idle_at && !sends && hp->backlog) {
		hp->idle_at = now;
	}
}

/* The link is free: the next packet, if there is one that may go. */
static void start(struct hop_port *hp)
{
	const uint8_t *info = hp->port->info;
	enum vlarb_table table;
	unsigned ready;
	uint64_t late;
	int vl;

	if (!fab_link_passes(hp->port)) {
		drop_all(hp);
		settle_idle(hp, false);
		return;
	}
	if (hp->life != life_of(hp->port))
		fill_credits(hp);
	late = drop_late(hp);
	ready = ready_lanes(hp);
	vl = ready ? vlarb_next(&hp->arb, hp->port->vl_arb, (unsigned)wire_get_PORT_INFO_vl_high_limit(info), ready, &table) : -1;
	settle_idle(hp, vl >= 0);
	if (vl >= 0)
		transmit(hp, (unsigned)vl, table);
	else if (late != UT_NEVER)
		ut_timer_set(&hp->hop->timers, &hp->timer, late);
}

/* --- arrival --- */

static void at_end(struct hop *h, struct fab_port *base, struct packet *p)
{
	const uint8_t *bth = bth_of(p);

	if (!is_mcast(p) && !fab_port_has_lid(base, p->head.dlid)) {
		drop(h, base, FAB_C_RCV_ERRORS, FAB_NR_COUNTERS, p);
		return;
	}
	fab_count_notified(base, p->head.sl, wire_get_BTH_fecn(bth), wire_get_BTH_becn(bth));
	give_back(p);
	h->ops->deliver(h->ctx, base, p->bytes, p->len, p->from);
	free_packet(h, p);
}

/* A copy by each port of the group. The receive buffer is free when the last one has left. */
static void spread(struct hop *h, struct fab_port *in, struct packet *p)
{
	struct fab_node *n = in->node;
	struct fab_port *last = NULL;
	struct packet *copy;
	unsigned i;

	for (i = 1; p->hops < FAB_HOPS_MAX && i <= n->n_ports; i++) {
		struct fab_port *out = &n->ports[i];

		if (out == in || !fab_switch_spreads(n->sw, p->head.dlid, i) || !fab_enforce(out, false, &p->head))
			continue;
		copy = last ? make_packet(h, p->bytes, p->len) : NULL;
		if (copy) {
			copy->from = p->from;
			copy->in = in;
			copy->head = p->head;
			copy->hops = p->hops;
			copy->arrived = p->arrived;
			enqueue(h, last, copy);
		}
		last = out;
	}
	if (last)
		enqueue(h, last, p);
	else
		end_packet(h, p);
}

static void at_switch(struct hop *h, struct fab_port *in, struct packet *p)
{
	struct fab_port *out;

	p->arrived = h->now;
	p->hops++;
	if (is_mcast(p)) {
		if (fab_enforce(in, true, &p->head))
			spread(h, in, p);
		else
			end_packet(h, p);
		return;
	}
	out = fab_relay(in->node, in, &p->head, p->hops);
	if (out && out->num)
		enqueue(h, out, p);
	else if (out)	/* port 0 has management alone */
		drop(h, in, FAB_C_RCV_ERRORS, FAB_NR_COUNTERS, p);
	else
		end_packet(h, p);
}

static void arrive(struct hop *h, struct fab_port *in, struct packet *p)
{
	struct fab_load l = load_of(p);

	if (fab_link_damages(in)) {
		end_packet(h, p);
		return;
	}
	if (!fab_link_takes(in)) {
		drop(h, in, FAB_C_RCV_ERRORS, FAB_NR_COUNTERS, p);
		return;
	}
	fab_count_rcv(in, &l);
	if (in->node->type == FAB_SWITCH)
		at_switch(h, in, p);
	else
		at_end(h, in, p);
}

/* The last byte has left: the buffer it was in is free, and it fills the next one. */
static void transmitted(struct hop_port *hp)
{
	struct fab_port *out = hp->port, *in = out->peer;
	struct packet *p = hp->sending;
	struct fab_load l = load_of(p);

	hp->sending = NULL;
	fab_count_xmit(out, &l);
	give_back(p);
	if (!in || hp->life != life_of(out)) {
		/* The link went down under it; over a trunk there is no data. */
		hp->hop->fabric->dropped++;
		free_packet(hp->hop, p);
		return;
	}
	p->in = in;
	p->feeder = out;
	p->life = hp->life;
	p->in_vl = p->vl;
	arrive(hp->hop, in, p);
}

static void due(struct hop_port *hp)
{
	if (hp->sending)
		transmitted(hp);
	start(hp);
}

/* --- the whole --- */

struct hop *hop_new(struct fab *f, const struct hop_ops *ops, void *ctx)
{
	struct hop *h = ut_zalloc(sizeof(*h));

	if (!h)
		return NULL;
	h->fabric = f;
	h->ops = ops;
	h->ctx = ctx;
	h->generation = f->generation;
	ut_list_init(&h->ports);
	ut_list_init(&h->packets);
	return h;
}

void hop_free(struct hop *h)
{
	struct hop_port *hp;

	if (!h)
		return;
	while ((hp = ut_list_first(&h->ports, struct hop_port, link)))
		hop_port_free(hp);
	ut_heap_fini(&h->timers);
	free(h);
}

void hop_send(struct hop *h, struct fab_port *port, const uint8_t *bytes, size_t len, void *from, uint64_t now)
{
	struct packet *p = make_packet(h, bytes, len);

	if (h->now < now)
		h->now = now;
	if (!p) {
		port->count.c[FAB_C_XMIT_DISCARDS]++;
		h->fabric->dropped++;
		return;
	}
	p->from = from;
	read_head(p);
	enqueue(h, port, p);
	if (port->hop && port->hop->backlog > HOP_FULL)
		port->hop->is_full = true;
}

bool hop_is_full(const struct fab_port *port)
{
	return port->hop && port->hop->is_full;
}

void hop_forget(struct hop *h, const void *from)
{
	struct packet *p;

	ut_list_each(p, &h->packets, all)
		if (p->from == from)
			p->from = NULL;
}

/* Links have gone or come, or tables have changed: ports that wait look again. */
static void look_at_all(struct hop *h)
{
	struct hop_port *hp;

	h->generation = h->fabric->generation;
	ut_list_each(hp, &h->ports, link)
		if (hp->backlog)
			look_soon(hp);
}

void hop_run(struct hop *h, uint64_t now)
{
	struct ut_timer *t;

	if (h->generation != h->fabric->generation)
		look_at_all(h);
	while ((t = ut_heap_expired(&h->timers, now + HOP_AHEAD))) {
		if (h->now < t->at)
			h->now = t->at;
		due(ut_container(t, struct hop_port, timer));
	}
}

uint64_t hop_next(const struct hop *h)
{
	return ut_heap_next(&h->timers);
}

bool hop_lane(const struct fab_port *port, unsigned vl, struct hop_lane_view *ret)
{
	const struct lane *l = port->hop && vl < HOP_VLS ? &port->hop->lane[vl] : NULL;

	if (!l || !l->view.most)
		return false;
	*ret = l->view;
	if (port->hop->life != life_of(port))
		ret->credits = HOP_CREDITS;
	return true;
}

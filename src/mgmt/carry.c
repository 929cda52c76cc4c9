/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/carry.h"

#include "mgmt/pma.h"
#include "mgmt/port.h"
#include "mgmt/sma.h"
#include "mgmt/smp.h"
#include "mgmt/switch.h"
#include "mgmt/trap.h"
#include "wire/cm_fields.h"

/* Where a packet goes at a node. */
enum way {
	WAY_DROP,
	WAY_HERE,	/* to the agents and programs of the end port */
	WAY_OUT,	/* by a port */
	WAY_SPREAD,	/* by several ports: multicast */
};

static bool is_mcast_lid(uint16_t lid)
{
	return lid >= MAD_LID_MCAST && lid != MAD_LID_PERMISSIVE;
}

bool fab_port_has_lid(const struct fab_port *p, uint16_t lid)
{
	uint16_t base = fab_port_lid(p);

	return base && lid >= base && lid - base < 1 << fab_port_lmc(p);
}

static bool pkey_matches(uint16_t a, uint16_t b)
{
	return !((a ^ b) & 0x7fff) && (a | b) & 0x8000 && a & 0x7fff;
}

/* The port's own key that matches, 0: none. */
static uint16_t own_pkey(const struct fab_port *p, uint16_t pkey)
{
	unsigned i, n = p->pkeys ? p->pkeys->n : 1;

	for (i = 0; i < n; i++)
		if (pkey_matches(fab_port_pkey(p, i), pkey))
			return fab_port_pkey(p, i);
	return 0;
}

bool fab_port_admits(const struct fab_port *p, uint16_t pkey)
{
	return own_pkey(p, pkey) != 0;
}

/* Partition enforcement at a switch's port, whose table is that of the node behind it (10.9.6). A packet that comes in has a
 * key of that node, of no more than its membership; one that goes out must match a key, as at the node. Linux' hfi1 has the
 * same two rules for what a port sends and receives (egress_pkey_matches_entry(), ingress_pkey_matches_entry(), after OPA
 * 9.11.7 and 9.10.14), where 0 and 0x8000 are no keys either. */
static bool enforcement_passes(const struct fab_port *p, bool inbound, uint16_t pkey)
{
	unsigned i, n = p->pkeys ? p->pkeys->n : 1;
	uint16_t own;

	if (!inbound)
		return fab_port_admits(p, pkey);
	for (i = 0; i < n; i++) {
		own = fab_port_pkey(p, i);
		if (!((own ^ pkey) & 0x7fff) && pkey & 0x7fff && (own & 0x8000 || !(pkey & 0x8000)))
			return true;
	}
	return false;
}

static void drop(struct fab_port *p, enum fab_counter c)
{
	p->count.c[c]++;
	p->node->fabric->dropped++;
}

static void discard(struct fab_port *p, enum fab_counter detail)
{
	p->count.c[detail]++;
	drop(p, FAB_C_XMIT_DISCARDS);
}

/* --- one link --- */

static struct fab_load load_of(const struct mad *m)
{
	return (struct fab_load){ .packets = 1, .words = mad_words(m), .sl = m->sl,
				  .vl = m->dqpn == 0 ? 15 : 0, .is_mcast = is_mcast_lid(m->dlid) };
}

/* A packet is damaged on the link with the probability that the user set. Errors raise notice 129 at the threshold. */
bool fab_link_damages(struct fab_port *at)
{
	struct fab *f = at->node->fabric;
	uint64_t limit = wire_get_PORT_INFO_local_phy_errors(at->info);

	if (!at->fault.errors_ppm || ut_rng_below(&f->rng, 1000000) >= at->fault.errors_ppm)
		return false;
	at->count.c[FAB_C_SYMBOL_ERROR]++;
	at->count.c[FAB_C_LOCAL_PHYSICAL]++;
	drop(at, FAB_C_RCV_ERRORS);
	if (limit && at->count.c[FAB_C_LOCAL_PHYSICAL] % limit == 0) {
		at->count.c[FAB_C_LOCAL_INTEGRITY]++;
		fab_trap_threshold(at, FAB_TRAP_INTEGRITY);
	}
	return true;
}

/* Data, and MADs to QP1, need ARMED or ACTIVE to arrive and ACTIVE to leave; QP0 needs the link (7.2). */
static bool may_leave(const struct fab_port *out, const struct mad *m)
{
	return fab_port_is_up(out) && (m->dqpn == 0 || fab_port_state(out) == FAB_ACTIVE);
}

static bool may_enter(struct fab_port *at, const struct mad *m)
{
	return m->dqpn == 0 || fab_link_takes(at);
}

static struct fab_port *arrive(struct fab_port *at, const struct mad *m)
{
	struct fab_load l = load_of(m);

	if (fab_link_damages(at))
		return NULL;
	if (!may_enter(at, m)) {
		drop(at, FAB_C_RCV_ERRORS);
		return NULL;
	}
	fab_count_rcv(at, &l);
	return at;
}

/* Crosses the link. Returns the port of arrival, NULL if the packet is gone (dropped, or over a trunk). */
static struct fab_port *cross(struct fab_port *out, struct mad *m)
{
	struct fab *f = out->node->fabric;
	struct fab_load l = load_of(m);

	if (!may_leave(out, m)) {
		discard(out, FAB_C_INACTIVE_DISCARD);
		return NULL;
	}
	fab_count_xmit(out, &l);
	if (f->ops->crossed)
		f->ops->crossed(f->ctx, out, m);
	if (out->peer)
		return arrive(out->peer, m);
	if (f->ops->depart)
		f->ops->depart(f->ctx, out, m);
	return NULL;
}

/* --- one node --- */

/* Partition enforcement of an external switch port (10.9.6); QP0 is exempt. */
bool fab_enforce(struct fab_port *p, bool inbound, const struct fab_head *h)
{
	bool on = inbound ? wire_get_PORT_INFO_enforce_inbound(p->info) : wire_get_PORT_INFO_enforce_outbound(p->info);

	if (!on || enforcement_passes(p, inbound, h->pkey))
		return true;
	drop(p, inbound ? FAB_C_RCV_CONSTRAINT : FAB_C_XMIT_CONSTRAINT);
	fab_trap_switch_p_key(p, h->slid, h->dlid, h->sl, h->pkey);
	return false;
}

/* The port of the linear table, or NULL. */
static struct fab_port *look_up(struct fab_node *n, struct fab_port *in, uint16_t dlid, unsigned hops)
{
	unsigned num = fab_switch_port(n->sw, dlid);
	struct fab_port *at = in ? in : &n->ports[0];

	if (num <= n->n_ports && hops <= FAB_HOPS_MAX)
		return &n->ports[num];
	at->count.c[num > n->n_ports ? FAB_C_DLID_MAPPING : FAB_C_LOOPING]++;
	drop(at, FAB_C_RCV_SWITCH_RELAY);
	return NULL;
}

struct fab_port *fab_relay(struct fab_node *n, struct fab_port *in, const struct fab_head *h, unsigned hops)
{
	struct fab_port *out = fab_port_has_lid(&n->ports[0], h->dlid) ? &n->ports[0] : look_up(n, in, h->dlid, hops);

	if (!out || !out->num)
		return out;
	return (!in || fab_enforce(in, true, h)) && fab_enforce(out, false, h) ? out : NULL;
}

static struct fab_head head_of(const struct mad *m)
{
	return (struct fab_head){ .slid = m->slid, .dlid = m->dlid, .pkey = m->pkey, .sl = m->sl };
}

/* By LID at a switch. `in` is NULL if the switch itself sends. */
static enum way lid_way_switch(struct fab_node *n, struct fab_port *in, struct mad *m, struct fab_port **ret_out)
{
	struct fab_head h = head_of(m);
	struct fab_port *out;

	if (m->dlid == MAD_LID_PERMISSIVE && in)
		return WAY_HERE;
	if (is_mcast_lid(m->dlid))
		return WAY_SPREAD;
	out = m->dqpn || fab_port_has_lid(&n->ports[0], m->dlid) ? fab_relay(n, in, &h, m->hops + 1u)
								    : look_up(n, in, m->dlid, m->hops + 1u);
	if (!out)
		return WAY_DROP;
	if (!out->num)
		return WAY_HERE;
	m->hops++;
	*ret_out = out;
	return WAY_OUT;
}

static enum way lid_way(struct fab_node *n, struct fab_port *in, struct mad *m, struct fab_port **ret_out)
{
	if (n->type == FAB_SWITCH)
		return lid_way_switch(n, in, m, ret_out);
	if (fab_port_has_lid(in, m->dlid) || m->dlid == MAD_LID_PERMISSIVE || is_mcast_lid(m->dlid))
		return WAY_HERE;
	drop(in, FAB_C_RCV_ERRORS);
	return WAY_DROP;
}

/* The directed part of a route, or its beginning after a part by LID. */
static enum way directed_way(struct fab_node *n, struct fab_port *in, struct mad *m, struct fab_port **ret_out)
{
	unsigned out = 0;

	switch (smp_dr_step(n, in ? in->num : 0, m, &out)) {
	case SMP_DELIVER:
		return WAY_HERE;
	case SMP_LEAVE:
		*ret_out = &n->ports[out];
		return WAY_OUT;
	case SMP_BY_LID:
		return lid_way(n, NULL, m, ret_out);
	case SMP_DISCARD:
		break;
	}
	n->fabric->dropped++;
	return WAY_DROP;
}

static bool is_directed(const struct mad *m)
{
	return m->dqpn == 0 && wire_get_MAD_mgmt_class(m->bytes) == MAD_CLASS_SMP_DR;
}

/* A packet that has arrived by `in`. */
static enum way way_at(struct fab_port *in, struct mad *m, struct fab_port **ret_out)
{
	struct fab_node *n = in->node;
	enum way w;

	if (is_directed(m) && m->dlid == MAD_LID_PERMISSIVE)
		return directed_way(n, in, m, ret_out);
	w = lid_way(n, in, m, ret_out);
	if (w == WAY_HERE && is_directed(m))
		return directed_way(n, in, m, ret_out);
	return w;
}

/* --- the end of the way --- */

static void travel(struct fab_port *from, struct mad *m);
static void go_on(struct fab_port *in, struct mad *m);

static void to_programs(struct fab_port *base, const struct mad *m)
{
	struct fab *f = base->node->fabric;

	f->mads++;
	if (f->ops->deliver)
		f->ops->deliver(f->ctx, base, m);
	else
		f->dropped++;
}

static void smp_arrived(struct fab_port *base, unsigned in, struct mad *m)
{
	switch (sma_process(base, in, m)) {
	case SMA_ANSWERED:
		base->node->fabric->mads++;
		travel(base, m);
		break;
	case SMA_CONSUMED:
		base->node->fabric->mads++;
		break;
	case SMA_FOREIGN:
		to_programs(base, m);
		break;
	}
}

static void violate_key(struct fab_port *base, unsigned trap, const struct mad *m)
{
	bool is_pkey = trap == FAB_TRAP_P_KEY;
	uint64_t n = is_pkey ? wire_get_PORT_INFO_p_key_violations(base->info)
			     : wire_get_PORT_INFO_q_key_violations(base->info);

	base->node->fabric->dropped++;
	if (n < 0xffff && is_pkey)
		wire_set_PORT_INFO_p_key_violations(base->info, n + 1);
	else if (n < 0xffff)
		wire_set_PORT_INFO_q_key_violations(base->info, n + 1);
	fab_trap_key(base, trap, m);
}

static bool pma_answers(struct fab_port *base, struct mad *m)
{
	const struct fab *f = base->node->fabric;

	if (m->dqpn != 1 || wire_get_MAD_mgmt_class(m->bytes) != MAD_CLASS_PERF || is_mcast_lid(m->dlid))
		return false;
	if (f->ops->tally)
		f->ops->tally(f->ctx);
	return fab_pma_answer(base, m);
}

static void gmp_arrived(struct fab_port *base, struct mad *m)
{
	if (!fab_port_admits(base, m->pkey)) {
		violate_key(base, FAB_TRAP_P_KEY, m);
		return;
	}
	if (m->dqpn == 1 && m->qkey != MAD_QKEY_GSI) {
		violate_key(base, FAB_TRAP_Q_KEY, m);
		return;
	}
	if (pma_answers(base, m)) {
		/* An answer has the responder's key: a full member answers a limited one with the bit set. */
		m->pkey = own_pkey(base, m->pkey);
		base->node->fabric->mads++;
		travel(base, m);
		return;
	}
	to_programs(base, m);
}

/* in: the port of arrival, NULL if the packet never left its node. A CA's agents stand behind each of its ports. */
static void here(struct fab_port *base, struct fab_port *in, struct mad *m)
{
	if (m->dqpn == 0)
		smp_arrived(base, in ? in->num : base->num, m);
	else
		gmp_arrived(base, m);
}

/* A table with a ring in it doubles a multicast packet at each turn: one packet crosses so many links at most. */
#define SPREAD_MAX (2u * FAB_NODES_MAX)

/* Multicast to QP1: each port that the table names, but not back. */
static void spread(struct fab_node *n, struct fab_port *in, const struct mad *m)
{
	struct fab *f = n->fabric;
	unsigned i;

	if (m->hops >= FAB_HOPS_MAX)
		return;
	if (m->hops == 0)
		f->spread_left = SPREAD_MAX;
	for (i = 0; i <= n->n_ports; i++) {
		struct mad copy = *m;

		if (!fab_switch_spreads(n->sw, m->dlid, i) || &n->ports[i] == in || !f->spread_left)
			continue;
		f->spread_left--;
		copy.hops++;
		if (i == 0)
			here(&n->ports[0], in, &copy);
		else
			go_on(cross(&n->ports[i], &copy), &copy);
	}
}

/* in: where the packet has arrived and was counted; NULL: it is gone. */
static void go_on(struct fab_port *in, struct mad *m)
{
	struct fab_port *out = NULL;

	while (in) {
		switch (way_at(in, m, &out)) {
		case WAY_DROP:
			return;
		case WAY_HERE:
			here(fab_port_base(in), in, m);
			return;
		case WAY_SPREAD:
			spread(in->node, in, m);
			return;
		case WAY_OUT:
			in = cross(out, m);
			break;
		}
	}
}

/* From an agent or program at an end port. */
static void travel(struct fab_port *from, struct mad *m)
{
	struct fab_node *n = from->node;
	struct fab_port *out = from;
	enum way w;

	if (is_directed(m) && m->dlid == MAD_LID_PERMISSIVE)
		w = directed_way(n, NULL, m, &out);
	else if (fab_port_has_lid(from, m->dlid))
		w = is_directed(m) ? directed_way(n, NULL, m, &out) : WAY_HERE;
	else
		w = n->type == FAB_SWITCH ? lid_way_switch(n, NULL, m, &out) : WAY_OUT;
	if (w == WAY_HERE)
		here(from, NULL, m);
	else if (w == WAY_SPREAD)
		spread(n, NULL, m);
	else if (w == WAY_OUT && (n->type == FAB_SWITCH || out == from))
		go_on(cross(out, m), m);
}

void fab_send(struct fab_port *from, const struct mad *m)
{
	struct mad copy = *m;
	uint16_t lid = fab_port_lid(from);

	if (mad_is_smp(m) != (m->dqpn == 0)) {
		from->node->fabric->dropped++;
		return;
	}
	copy.hops = 0;
	copy.slid = (uint16_t)(lid | (m->slid & ((1u << fab_port_lmc(from)) - 1)));
	/* A directed route that begins here has permissive LIDs, one that begins elsewhere gets there by LID. */
	if (is_directed(&copy) && copy.dlid == MAD_LID_PERMISSIVE)
		copy.slid = MAD_LID_PERMISSIVE;
	travel(from, &copy);
}

void fab_arrive(struct fab_port *at, const struct mad *m)
{
	struct mad copy = *m;

	go_on(arrive(at, m), &copy);
}

/* --- routes of data --- */

bool fab_link_passes(const struct fab_port *out)
{
	return fab_port_is_up(out) && fab_port_state(out) == FAB_ACTIVE;
}

bool fab_link_takes(struct fab_port *in)
{
	if (fab_port_state(in) < FAB_ARMED)
		return false;
	fab_port_advance(in, FAB_ACTIVE);
	return true;
}

static enum fab_verdict add_link(struct fab_port *out, struct fab_route *r)
{
	unsigned rate = fab_port_rate(out), mtu = (unsigned)wire_get_PORT_INFO_neighbor_mtu(out->info);

	if (!out->peer && !out->is_trunk)
		return FAB_NO_LINK;
	if (!fab_link_passes(out))
		return FAB_NOT_ACTIVE;
	if (r->n_ports + 2 > FAB_ROUTE_PORTS)
		return FAB_LOOP;
	if (!r->n_ports || rate < r->rate)
		r->rate = (uint16_t)rate;
	if (!r->n_ports || mtu < r->mtu)
		r->mtu = (uint8_t)mtu;
	r->ports[r->n_ports++] = out;
	if (!out->peer)
		return FAB_TRUNK;
	if (!fab_link_takes(out->peer))
		return FAB_NOT_ACTIVE;
	r->ports[r->n_ports++] = out->peer;
	r->has_fault |= out->peer->fault.errors_ppm != 0;
	return FAB_PASSES;
}

static bool enforces(const struct fab_port *p, bool inbound, uint16_t pkey)
{
	bool on = inbound ? wire_get_PORT_INFO_enforce_inbound(p->info) : wire_get_PORT_INFO_enforce_outbound(p->info);

	return on && !enforcement_passes(p, inbound, pkey);
}

/* Out of a switch towards the LID; in: NULL at its port 0. */
static enum fab_verdict next_port(struct fab_node *n, struct fab_port *in, uint16_t dlid, uint16_t pkey,
				  struct fab_port **ret)
{
	unsigned num = fab_switch_port(n->sw, dlid);

	if (num == 0)
		return FAB_WRONG_LID;
	if (num > n->n_ports)
		return FAB_UNROUTED;
	*ret = &n->ports[num];
	if ((in && enforces(in, true, pkey)) || enforces(*ret, false, pkey))
		return FAB_PKEY_REFUSED;
	return FAB_PASSES;
}

/* out: the port by which the packet leaves its first node, if v is FAB_PASSES. */
static enum fab_verdict follow(struct fab_port *out, enum fab_verdict v, uint16_t dlid, uint16_t pkey, struct fab_route *r)
{
	struct fab_port *in;

	while (v == FAB_PASSES) {
		v = add_link(out, r);
		if (v != FAB_PASSES)
			break;
		in = out->peer;
		if (fab_port_has_lid(fab_port_base(in), dlid)) {
			r->end = fab_port_base(in);
			return FAB_PASSES;
		}
		if (in->node->type != FAB_SWITCH)
			return FAB_WRONG_LID;
		v = next_port(in->node, in, dlid, pkey, &out);
	}
	return v;
}

static void begin_route(const struct fab_port *at, struct fab_route *ret)
{
	ret->end = NULL;
	ret->n_ports = 0;
	ret->has_fault = false;
	ret->mtu = (uint8_t)wire_get_PORT_INFO_neighbor_mtu(at->info);
	ret->rate = (uint16_t)fab_port_rate(at);
}

void fab_route(struct fab_port *from, uint16_t dlid, unsigned sl, uint16_t pkey, struct fab_route *ret)
{
	enum fab_verdict v = FAB_PASSES;
	struct fab_port *out = from;

	begin_route(from, ret);
	if (fab_port_has_lid(from, dlid)) {
		ret->end = from;
		ret->verdict = FAB_PASSES;
		return;
	}
	if (from->node->type == FAB_SWITCH)
		v = next_port(from->node, NULL, dlid, pkey, &out);
	ret->verdict = follow(out, v, dlid, pkey, ret);
}

void fab_route_from(struct fab_port *in, uint16_t dlid, uint16_t pkey, struct fab_route *ret)
{
	enum fab_verdict v = FAB_WRONG_LID;
	struct fab_port *out = NULL;

	begin_route(in, ret);
	ret->verdict = FAB_NOT_ACTIVE;
	if (!fab_link_takes(in))
		return;
	if (fab_port_has_lid(fab_port_base(in), dlid)) {
		ret->end = fab_port_base(in);
		ret->verdict = FAB_PASSES;
		return;
	}
	if (in->node->type == FAB_SWITCH)
		v = next_port(in->node, in, dlid, pkey, &out);
	ret->verdict = follow(out, v, dlid, pkey, ret);
}

void fab_route_enter(struct fab_port *in, unsigned sl, uint64_t packets, uint64_t words)
{
	struct fab_load l = { .packets = packets, .words = words, .sl = (uint8_t)sl };

	fab_count_rcv(in, &l);
}

void fab_route_count(const struct fab_route *r, unsigned sl, uint64_t packets, uint64_t words)
{
	struct fab_load l = { .packets = packets, .words = words, .sl = (uint8_t)sl };
	unsigned i;

	for (i = 0; i + 1 < r->n_ports; i += 2) {
		l.vl = (uint8_t)fab_port_vl(r->ports[i], i ? r->ports[i - 1]->num : 0, sl);
		fab_count_xmit(r->ports[i], &l);
		fab_count_rcv(r->ports[i + 1], &l);
	}
	if (i < r->n_ports)
		fab_count_xmit(r->ports[i], &l);
}

bool fab_route_cross(const struct fab_route *r, unsigned sl, uint64_t words)
{
	struct fab_load l = { .packets = 1, .words = words, .sl = (uint8_t)sl };
	unsigned i;

	for (i = 0; i + 1 < r->n_ports; i += 2) {
		l.vl = (uint8_t)fab_port_vl(r->ports[i], i ? r->ports[i - 1]->num : 0, sl);
		fab_count_xmit(r->ports[i], &l);
		if (fab_link_damages(r->ports[i + 1]))
			return false;
		fab_count_rcv(r->ports[i + 1], &l);
	}
	return true;
}

/* --- multicast of data --- */

struct spreading {
	uint16_t mlid, pkey;
	struct fab_load load;
	struct fab_port *from;
	void (*leaf)(void *arg, struct fab_port *port);
	void *arg;
};

static void spread_at(struct fab_port *at, const struct spreading *s, unsigned hops);

static void leave_by_trunk(struct fab_port *out, const struct spreading *s)
{
	if (!out->is_trunk)
		return;
	if (s->load.packets)
		fab_count_xmit(out, &s->load);
	s->leaf(s->arg, out);
}

static bool spread_over(struct fab_port *out, const struct spreading *s, unsigned hops)
{
	struct fab *f = out->node->fabric;

	if (!fab_link_passes(out) || !f->spread_left || (out->peer && !fab_link_takes(out->peer)))
		return false;
	f->spread_left--;
	if (!out->peer) {
		leave_by_trunk(out, s);
		return out->is_trunk;
	}
	if (s->load.packets) {
		fab_count_xmit(out, &s->load);
		fab_count_rcv(out->peer, &s->load);
	}
	spread_at(out->peer, s, hops + 1);
	return true;
}

static void spread_at(struct fab_port *at, const struct spreading *s, unsigned hops)
{
	struct fab_node *n = at->node;
	unsigned i;

	if (n->type != FAB_SWITCH) {
		if (at != s->from)
			s->leaf(s->arg, at);
		return;
	}
	if (hops > FAB_HOPS_MAX || enforces(at, true, s->pkey))
		return;
	for (i = 0; i <= n->n_ports; i++) {
		struct fab_port *out = &n->ports[i];

		if (!fab_switch_spreads(n->sw, s->mlid, i) || out == at || enforces(out, false, s->pkey))
			continue;
		if (i == 0)
			s->leaf(s->arg, out);
		else
			spread_over(out, s, hops);
	}
}

enum fab_verdict fab_multicast(struct fab_port *from, uint16_t mlid, unsigned sl, uint16_t pkey, uint64_t packets,
			       uint64_t words, void (*leaf)(void *arg, struct fab_port *port), void *arg)
{
	struct spreading s = { .mlid = mlid, .pkey = pkey, .from = from, .leaf = leaf, .arg = arg,
			       .load = { .packets = packets, .words = words, .sl = (uint8_t)sl, .is_mcast = true } };

	from->node->fabric->spread_left = SPREAD_MAX;
	if (from->node->type == FAB_SWITCH) {
		spread_at(from, &s, 0);
		return FAB_PASSES;
	}
	if (!from->peer && !from->is_trunk)
		return FAB_NO_LINK;
	return spread_over(from, &s, 0) ? FAB_PASSES : FAB_NOT_ACTIVE;
}

void fab_multicast_from(struct fab_port *in, uint16_t mlid, unsigned sl, uint16_t pkey, uint64_t packets, uint64_t words,
			void (*leaf)(void *arg, struct fab_port *port), void *arg)
{
	struct spreading s = { .mlid = mlid, .pkey = pkey, .leaf = leaf, .arg = arg,
			       .load = { .packets = packets, .words = words, .sl = (uint8_t)sl, .is_mcast = true } };

	if (!fab_link_takes(in))
		return;
	in->node->fabric->spread_left = SPREAD_MAX;
	fab_count_rcv(in, &s.load);
	spread_at(in, &s, 0);
}

struct fab_port *fab_port_by_lid(const struct fab *f, uint16_t lid)
{
	struct fab_node *n;
	unsigned i, last;

	ut_list_each(n, &f->nodes, link) {
		last = n->type == FAB_SWITCH ? 0 : n->n_ports;
		for (i = n->type == FAB_SWITCH ? 0 : 1; i <= last; i++)
			if (fab_port_has_lid(&n->ports[i], lid))
				return &n->ports[i];
	}
	return NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/packets.h"

#include "util/alloc.h"
#include "wire/cm_fields.h"
#include "wire/ib_fields.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEADERS_MAX 126u /* of a packet, beside payload of the path's MTU (IBTA 7.7.5) */
#define MULTICAST_QPN 0xffffffu

/* --- ports and processes --- */

/* Numbers of nodes are never used again. */
static uint32_t port_id(const struct fab_port *port)
{
	return port->node->index << 8 | port->num;
}

static struct pks_port *find_port(const struct pks *s, const struct fab_port *port)
{
	return ut_idtab_get(&s->ports, port_id(port));
}

static struct pks_port *make_port(struct pks *s, struct fab_port *port)
{
	struct pks_port *at = ut_zalloc(sizeof(*at));

	if (!at)
		return NULL;
	at->port = port;
	ut_list_init(&at->processes);
	if (ut_idtab_add(&s->ports, port_id(port), at) == 0)
		return at;
	free(at);
	return NULL;
}

static void tell_members(struct pks_port *at, const struct pks_process *but)
{
	struct pkt_head h = pkt_head(PKT_MEMBERS);
	const struct iovec iov = { &h, sizeof(h) };
	struct pks_process *p;

	ut_list_each(p, &at->processes, node)
		if (p != but && p->slot != PKS_NO_SLOT)
			p->pks->ops->send(p->pks->ctx, p, &iov, 1);
}

void pks_fini(struct pks *s)
{
	hop_free(s->hop);
	s->hop = NULL;
	addr_far_free(&s->far);
	ut_idtab_fini(&s->ports);
}

int pks_add(struct pks *s, struct fab_port *port, struct pks_process *p)
{
	struct pks_port *at = find_port(s, port);

	*p = (struct pks_process){ .pks = s, .slot = PKS_NO_SLOT };
	ut_list_init(&p->node);
	ut_list_init(&p->waiting);
	if (!at)
		at = make_port(s, port);
	if (!at)
		return -ENOMEM;
	p->at = at;
	ut_list_add_tail(&at->processes, &p->node);
	return 0;
}

void pks_tally(struct pks *s)
{
	struct pks_process *p;
	struct pks_port *at;
	uint32_t pos = 0;

	while ((at = ut_idtab_next(&s->ports, &pos)))
		ut_list_each(p, &at->processes, node)
			tallied_count(&p->tallied, at->port);
}

void pks_remove(struct pks_process *p)
{
	struct pks_port *at = p->at;

	if (at)
		tallied_count(&p->tallied, at->port);
	tallied_free(&p->tallied);
	free(p->groups);
	p->groups = NULL;
	p->n_groups = p->cap = 0;
	if (p->pks->hop)
		hop_forget(p->pks->hop, p);
	ut_list_del(&p->waiting);
	free(p->train);
	p->train = NULL;
	if (!at)
		return;
	p->at = NULL;
	ut_list_del(&p->node);
	if (p->slot != PKS_NO_SLOT && at->slots[p->slot] == p)
		at->slots[p->slot] = NULL;
	if (at->turn == p)
		at->turn = NULL;
	if (p->slot != PKS_NO_SLOT)
		tell_members(at, p);
	if (!ut_list_empty(&at->processes))
		return;
	ut_idtab_del(&p->pks->ports, port_id(at->port));
	free(at);
}

void pks_port_gone(struct pks *s, struct fab_port *port, void (*gone)(void *ctx, struct pks_process *p))
{
	struct pks_port *at = find_port(s, port);
	struct pks_process *p, *next;

	if (!at)
		return;
	/* The port's record goes with its last process, so the list is not looked at behind that one. */
	for (p = ut_list_first(&at->processes, struct pks_process, node); p; p = next) {
		next = p->node.next == &at->processes ? NULL : ut_container(p->node.next, struct pks_process, node);
		gone(s->ctx, p);
	}
}

static int take_slot(struct pks_process *p, unsigned slot)
{
	struct pks_port *at = p->at;

	if (p->slot != PKS_NO_SLOT || at->slots[slot])
		return -EPROTO; /* two processes in different network namespaces, or one that does not know itself */
	at->slots[slot] = p;
	p->slot = slot;
	tell_members(at, p);
	return 0;
}

/* --- groups --- */

static int find_group(const struct pks_process *p, const uint8_t mgid[16])
{
	for (uint32_t i = 0; i < p->n_groups; i++)
		if (!memcmp(p->groups[i], mgid, 16))
			return (int)i;
	return -1;
}

static int join(struct pks_process *p, const uint8_t mgid[16])
{
	if (find_group(p, mgid) >= 0)
		return 0;
	if (p->n_groups == PKS_GROUPS_MAX)
		return -EPROTO;
	if (p->n_groups == p->cap) {
		uint32_t cap = p->cap ? p->cap * 2 : 4;
		void *v = ut_realloc(p->groups, cap * sizeof(*p->groups));

		if (!v)
			return -EPROTO;
		p->groups = v;
		p->cap = cap;
	}
	memcpy(p->groups[p->n_groups++], mgid, 16);
	return 0;
}

static void leave(struct pks_process *p, const uint8_t mgid[16])
{
	int i = find_group(p, mgid);

	if (i >= 0)
		memmove(p->groups[i], p->groups[--p->n_groups], 16);
}

/* --- packets --- */

/* QPNs that no slot has. */
enum special { NOT_SPECIAL, TO_QP0, TO_QP1, TO_GROUP };

/* What decides where a packet goes. Packets of a train that have the same go together. */
struct way {
	uint16_t slid, dlid, pkey;
	uint8_t sl;
	bool grh;
	uint8_t slot;        /* of the QPN */
	uint8_t special;     /* enum special */
	uint8_t mgid[16];    /* of a multicast packet */
};

/* Packets of a train with one way. */
struct run {
	const uint8_t *at;
	size_t len;
	uint16_t seg;
	uint32_t packets, longest;
};

static enum special special_of(uint32_t qpn)
{
	return qpn == MULTICAST_QPN ? TO_GROUP : qpn == WIRE_QPN_GSI ? TO_QP1 : qpn == 0 ? TO_QP0 : NOT_SPECIAL;
}

static bool read_way(const uint8_t *at, size_t len, struct way *ret, struct wire_link_packet *p)
{
	uint32_t qpn;

	if (wire_link_parse(at, len, p) != WIRE_OK || p->ib_len < WIRE_BTH_LEN + WIRE_ICRC_LEN)
		return false;
	qpn = (uint32_t)wire_get_BTH_dest_qpn(p->ib);
	*ret = (struct way){ .slid = p->lrh.slid, .dlid = p->lrh.dlid, .sl = p->lrh.sl,
			     .pkey = (uint16_t)wire_get_BTH_pkey(p->ib), .grh = p->lrh.lnh == WIRE_LNH_GLOBAL,
			     .slot = (uint8_t)(qpn >> PKT_SLOT_SHIFT), .special = (uint8_t)special_of(qpn) };
	if (ret->dlid >= MAD_LID_MCAST && ret->grh)
		memcpy(ret->mgid, p->grh.dgid, 16);
	return true;
}

static bool is_same(const struct way *a, const struct way *b)
{
	return a->slid == b->slid && a->dlid == b->dlid && a->pkey == b->pkey && a->sl == b->sl && a->grh == b->grh &&
	       a->slot == b->slot && a->special == b->special && !memcmp(a->mgid, b->mgid, 16);
}

static bool give(struct pks_process *to, const struct run *r)
{
	struct pkt_head h = pkt_head(PKT_TRAIN);
	const struct iovec iov[2] = { { &h, sizeof(h) }, { (void *)r->at, r->len } };

	h.seg = r->seg;
	return to->pks->ops->send(to->pks->ctx, to, iov, 2);
}

/* The newest routes: a process has few at a time. */
static const struct fab_route *route(struct pks_process *p, const struct way *w)
{
	uint64_t generation = p->pks->fabric->generation;
	struct pks_kept *k = &p->kept[(w->dlid ^ w->sl << 3 ^ w->pkey) % PKS_ROUTES];

	/* The model counts from 0. */
	if (k->generation == generation + 1 && k->dlid == w->dlid && k->pkey == w->pkey && k->sl == w->sl)
		return &k->route;
	*k = (struct pks_kept){ .generation = generation + 1, .dlid = w->dlid, .pkey = w->pkey, .sl = w->sl };
	fab_route(p->at->port, w->dlid, w->sl, w->pkey, &k->route);
	return &k->route;
}

/* --- QP1 --- */

static struct pks_process *any_process(struct pks_port *at)
{
	struct pks_process *p = at->turn, *first = NULL;

	/* The next one behind the last that had a turn. */
	ut_list_each(p, &at->processes, node) {
		if (p->slot == PKS_NO_SLOT)
			continue;
		if (!first)
			first = p;
		if (at->turn && p == at->turn)
			at->turn = NULL;
		else if (!at->turn)
			return at->turn = p;
	}
	return at->turn = first;
}

/* Every message of connection management but the two requests names the process in an ID that this has drawn. */
static struct pks_process *by_communication(struct pks_port *at, const uint8_t *mad)
{
	unsigned attr = (unsigned)wire_get_MAD_attr_id(mad);
	const uint8_t *cm = mad + WIRE_MAD_LEN;
	uint32_t id;
	unsigned slot;

	if (attr == WIRE_CM_ATTR_REQ || attr == WIRE_CM_ATTR_SIDR_REQ)
		return any_process(at);
	id = (uint32_t)(attr == WIRE_CM_ATTR_SIDR_REP ? wire_get_CM_SIDR_REP_request_id(cm)
						      : wire_get_CM_REP_remote_comm_id(cm));
	slot = id >> PKT_CM_SLOT_SHIFT;
	/* Any process can respond that the connection is unknown. */
	return slot < PKT_SLOTS && at->slots[slot] ? at->slots[slot] : any_process(at);
}

static bool read_mad(const struct run *r, struct mad *m)
{
	struct wire_link_packet l;
	struct wire_ib_packet p;

	if (wire_link_parse(r->at, r->seg, &l) != WIRE_OK || wire_icrc_link_check(r->at, r->seg) != WIRE_OK ||
	    wire_ib_parse(l.ib, l.ib_len, &p) != WIRE_OK || p.opcode != WIRE_UD_SEND_ONLY || p.payload_len != MAD_LEN)
		return false;
	*m = (struct mad){ .slid = l.lrh.slid, .dlid = l.lrh.dlid, .sl = l.lrh.sl, .pkey = p.pkey, .sqpn = p.src_qpn,
			   .dqpn = p.dest_qpn, .qkey = p.qkey, .has_grh = l.lrh.lnh == WIRE_LNH_GLOBAL };
	memcpy(m->bytes, p.payload, MAD_LEN);
	if (m->has_grh)
		memcpy(m->grh, r->at + WIRE_LRH_LEN, WIRE_GRH_LEN);
	return true;
}

/* Datagrams come one by one. The model carries them hop by hop, to its own agents and those of programs. */
static void send_mad(struct pks_process *from, const struct run *r)
{
	struct mad m;

	if (r->packets != 1 || !read_mad(r, &m)) {
		from->counts.malformed += r->packets;
		return;
	}
	if (m.dqpn == 0) {
		from->counts.forged++; /* QP0 belongs to agents that have it */
		return;
	}
	fab_send(from->at->port, &m);
}

/* --- the ways of a run --- */

static struct pks_process *receiver(struct pks_port *at, const struct run *r, const struct way *w)
{
	struct mad m;

	if (!at)
		return NULL;
	if (w->special == NOT_SPECIAL)
		return w->slot < PKT_SLOTS ? at->slots[w->slot] : NULL;
	return read_mad(r, &m) ? by_communication(at, m.bytes) : NULL;
}

static bool is_connection_management(const struct run *r)
{
	struct mad m;

	return r->packets == 1 && read_mad(r, &m) && wire_get_MAD_mgmt_class(m.bytes) == WIRE_MAD_CLASS_CM;
}

/* Links that damage packets: each packet has its own luck. */
static void over_faults(struct pks_process *from, const struct run *r, const struct way *w, const struct fab_route *way)
{
	struct pks_process *to = receiver(find_port(from->pks, way->end), r, w);
	size_t at;

	for (at = 0; at < r->len; at += r->seg) {
		size_t rest = r->len - at;
		struct run one = { .at = r->at + at, .len = rest < r->seg ? rest : r->seg, .packets = 1 };

		one.seg = (uint16_t)one.len;
		if (!fab_route_cross(way, w->sl, one.len / 4))
			from->counts.lost++;
		else if (!to)
			from->counts.no_process++;
		else if (!give(to, &one))
			from->counts.lost++;
	}
}

/* Each packet is a datagram there. */
static void over_trunk(struct pks_process *from, const struct run *r, const struct way *w, const struct fab_route *way)
{
	struct pks *s = from->pks;
	size_t at;

	if (!way->has_fault)
		fab_route_count(way, w->sl, r->packets, r->len / 4);
	for (at = 0; at < r->len; at += r->seg) {
		size_t len = r->len - at < r->seg ? r->len - at : r->seg;

		if (!s->ops->depart || (way->has_fault && !fab_route_cross(way, w->sl, len / 4)))
			from->counts.lost++;
		else
			s->ops->depart(s->ctx, way->ports[way->n_ports - 1], r->at + at, len);
	}
}

/* Each packet by itself, from the queues of the port on. */
static void by_hops(struct pks_process *from, const struct run *r)
{
	size_t at;

	for (at = 0; at < r->len; at += r->seg)
		hop_send(from->pks->hop, from->at->port, r->at + at, r->len - at < r->seg ? r->len - at : r->seg, from,
			 from->pks->now);
}

/* Along a route that has been found. */
static void forward(struct pks_process *from, const struct run *r, const struct way *w, const struct fab_route *way)
{
	struct pks_process *to;

	if (way->verdict != FAB_PASSES && way->verdict != FAB_TRUNK) {
		from->counts.unrouted += r->packets;
		return;
	}
	if (way->n_ports && r->longest > (128u << way->mtu) + HEADERS_MAX) {
		from->counts.too_long += r->packets;
		return;
	}
	if (way->verdict == FAB_TRUNK) {
		over_trunk(from, r, w, way);
		return;
	}
	if (way->has_fault) {
		over_faults(from, r, w, way);
		return;
	}
	fab_route_count(way, w->sl, r->packets, r->len / 4);
	to = receiver(find_port(from->pks, way->end), r, w);
	if (!to)
		from->counts.no_process += r->packets;
	else if (!give(to, r))
		from->counts.lost += r->packets;
}

static void unicast(struct pks_process *from, const struct run *r, const struct way *w)
{
	if (w->special && !is_connection_management(r))
		send_mad(from, r);
	else if (from->pks->hop && !fab_port_has_lid(from->at->port, w->dlid))
		by_hops(from, r);
	else
		forward(from, r, w, route(from, w));
}

/* Copies of a run for the members at one port. */
struct spread {
	struct pks_process *from;
	const struct run *r;
	const struct way *w;
};

static void give_members(const struct spread *s, struct pks_port *at)
{
	struct pks_process *p;

	if (!at)
		return;
	ut_list_each(p, &at->processes, node)
		if (p->slot != PKS_NO_SLOT && find_group(p, s->w->mgid) >= 0 && !give(p, s->r))
			s->from->counts.lost += s->r->packets;
}

static void leaf(void *arg, struct fab_port *port)
{
	const struct spread *s = arg;
	const struct pks *p = s->from->pks;
	size_t at;

	if (!port->is_trunk || port->peer) {
		give_members(s, find_port(s->from->pks, port));
		return;
	}
	for (at = 0; p->ops->depart && at < s->r->len; at += s->r->seg)
		p->ops->depart(p->ctx, port, s->r->at + at, s->r->len - at < s->r->seg ? s->r->len - at : s->r->seg);
}

/* Members at the sender's own port have their copies from the adapter, not from the switch (IBTA 10.5.2). */
static void multicast(struct pks_process *from, const struct run *r, const struct way *w)
{
	struct spread s = { from, r, w };
	enum fab_verdict v;

	if (!w->grh || w->special != TO_GROUP) {
		from->counts.malformed += r->packets;
		return;
	}
	if (from->pks->hop) {
		by_hops(from, r);
		give_members(&s, from->at);
		return;
	}
	v = fab_multicast(from->at->port, w->dlid, w->sl, w->pkey, r->packets, r->len / 4, leaf, &s);
	if (v == FAB_PASSES)
		give_members(&s, from->at);
	else
		from->counts.unrouted += r->packets;
}

static void carry(struct pks_process *from, const struct run *r, const struct way *w)
{
	from->counts.packets += r->packets;
	from->counts.bytes += r->len;
	if (!fab_port_has_lid(from->at->port, w->slid))
		from->counts.forged += r->packets;
	else if (w->dlid >= MAD_LID_MCAST)
		multicast(from, r, w);
	else
		unicast(from, r, w);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void train(struct pks_process *from, const uint8_t *at, size_t len, uint16_t seg)
{
	struct wire_link_packet p;
	struct way w, next;
	struct run r = { 0 };

	for (size_t part; len; at += part, len -= part) {
		part = least(len, seg);
		if (!read_way(at, part, &next, &p)) {
			from->counts.malformed++;
			continue;
		}
		/* A process ends within a train only if its node is removed by what the train has brought about. */
		if (r.packets && (!is_same(&w, &next) || r.at + r.len != at) && from->at) {
			carry(from, &r, &w);
			r.packets = 0;
		}
		if (!r.packets)
			r = (struct run){ .at = at, .seg = (uint16_t)part };
		w = next;
		r.len += part;
		r.packets++;
		r.longest = r.longest > part ? r.longest : (uint32_t)part;
	}
	if (r.packets && from->at)
		carry(from, &r, &w);
	if (from->at && hop_is_full(from->at->port))
		from->pks->ops->pause(from->pks->ctx, from, true);
}

/* --- packets that travel hop by hop --- */

/* Sends the packets that wait for a process. */
static void flush(struct pks_process *to)
{
	struct run r = { .at = to->train, .len = to->train_len, .seg = to->train_seg, .packets = to->train_packets };
	struct pks_process *from = to->train_from;

	ut_list_del(&to->waiting);
	ut_list_init(&to->waiting);
	to->train_len = to->train_packets = 0;
	to->train_from = NULL;
	if (!give(to, &r) && from)
		from->counts.lost += r.packets;
	if (from)
		to->pks->ops->sent_for(to->pks->ctx, from);
}

/* A train ends with a packet that is shorter than the first. */
static bool is_whole(const struct pks_process *to, size_t len)
{
	return to->train_len + len > PKT_TRAIN_BYTES || to->train_packets == PKT_TRAIN_PACKETS || len > to->train_seg ||
	       to->train_len % to->train_seg;
}

static void put(struct pks_process *to, struct pks_process *from, const uint8_t *bytes, size_t len)
{
	if (to->train_packets && is_whole(to, len))
		flush(to);
	if (!to->train)
		to->train = ut_malloc(PKT_TRAIN_BYTES);
	if (!to->train) {
		if (from)
			from->counts.lost++;
		return;
	}
	if (!to->train_packets) {
		ut_list_add_tail(&to->pks->waiting, &to->waiting);
		to->train_seg = (uint16_t)len;
	}
	memcpy(to->train + to->train_len, bytes, len);
	to->train_len += (uint32_t)len;
	to->train_packets++;
	to->train_from = from;
}

static void put_members(struct pks_port *at, const struct way *w, struct pks_process *from, const uint8_t *bytes, size_t len)
{
	struct pks_process *p;

	if (!at)
		return;
	ut_list_each(p, &at->processes, node)
		if (p->slot != PKS_NO_SLOT && find_group(p, w->mgid) >= 0)
			put(p, from, bytes, len);
}

/* A slot of hop_ops: one packet. */
static void arrived(void *ctx, struct fab_port *port, const uint8_t *bytes, size_t len, void *from)
{
	struct pks *s = ctx;
	struct pks_process *sender = from, *to;
	struct run r = { .at = bytes, .len = len, .seg = (uint16_t)len, .packets = 1 };
	struct wire_link_packet p;
	struct way w;

	if (!read_way(bytes, len, &w, &p))
		return;
	if (w.dlid >= MAD_LID_MCAST) {
		put_members(find_port(s, port), &w, sender, bytes, len);
		return;
	}
	to = receiver(find_port(s, port), &r, &w);
	if (to)
		put(to, sender, bytes, len);
	else if (sender)
		sender->counts.no_process++;
}

static void has_room(void *ctx, struct fab_port *port)
{
	struct pks *s = ctx;
	struct pks_port *at = find_port(s, port);
	struct pks_process *p;

	if (!at)
		return;
	ut_list_each(p, &at->processes, node)
		s->ops->pause(s->ctx, p, false);
}

static const struct hop_ops hops = { .deliver = arrived, .drained = has_room };

int pks_init(struct pks *s, struct fab *f, const struct pks_ops *ops, void *ctx, bool is_hopping)
{
	*s = (struct pks){ .fabric = f, .ops = ops, .ctx = ctx };
	s->stranger = (struct pks_process){ .pks = s, .slot = PKS_NO_SLOT };
	ut_list_init(&s->waiting);
	ut_list_init(&s->stranger.waiting);
	if (is_hopping)
		s->hop = hop_new(f, &hops, s);
	return is_hopping && !s->hop ? -ENOMEM : 0;
}

void pks_run(struct pks *s, uint64_t now)
{
	struct pks_process *to;

	s->now = now;
	if (s->hop)
		hop_run(s->hop, now);
	while ((to = ut_list_first(&s->waiting, struct pks_process, waiting)))
		flush(to);
}

uint64_t pks_next(const struct pks *s)
{
	return s->hop ? hop_next(s->hop) : UT_NEVER;
}

/* --- trunks --- */

void pks_arrive(struct pks *s, struct fab_port *at, const uint8_t *packet, size_t len)
{
	struct run r = { .at = packet, .len = len, .seg = (uint16_t)len, .packets = 1, .longest = (uint32_t)len };
	struct spread spread = { &s->stranger, &r, NULL };
	struct wire_link_packet p;
	struct fab_route way;
	struct way w;

	if (len > UINT16_MAX || !read_way(packet, len, &w, &p)) {
		s->stranger.counts.malformed++;
		return;
	}
	s->stranger.counts.packets++;
	spread.w = &w;
	if (w.dlid < MAD_LID_MCAST) {
		fab_route_from(at, w.dlid, w.pkey, &way);
		fab_route_enter(at, w.sl, 1, len / 4);
		if (!w.special || is_connection_management(&r))
			forward(&s->stranger, &r, &w, &way);
	} else if (w.grh && w.special == TO_GROUP) {
		fab_multicast_from(at, w.dlid, w.sl, w.pkey, 1, len / 4, leaf, &spread);
	}
}

/* --- routes for senders that carry packets by other ways --- */

static void answer_route(struct pks_process *p, const struct pkt_route *q)
{
	const struct way w = { .slid = q->slid, .dlid = q->dlid, .sl = q->sl, .pkey = q->pkey };
	struct pkt_message m = { .head = pkt_head(PKT_ROUTED) };
	const struct iovec iov = { &m, pkt_length(PKT_ROUTED) };
	const struct fab_route *r = route(p, &w);

	m.u.routed = (struct pkt_routed){ .number = q->number, .generation = p->pks->fabric->generation,
					  .verdict = fab_port_has_lid(p->at->port, q->slid) ? (uint32_t)r->verdict : FAB_WRONG_LID };
	if (!m.u.routed.verdict && !fab_port_admits(r->end, q->pkey))
		m.u.routed.verdict = FAB_PKEY_REFUSED;
	/* Each packet has to come here: for its way, or for its luck. */
	if (!m.u.routed.verdict && r->n_ports && (p->pks->hop || r->has_fault))
		m.u.routed.verdict = FAB_HOPS;
	if (!m.u.routed.verdict) {
		m.u.routed.guid = r->end->guid;
		m.u.routed.mtu = r->n_ports ? 128u << r->mtu : 4096u;
	}
	p->pks->ops->send(p->pks->ctx, p, &iov, 1);
}

/* --- questions about ports --- */

static void answer_find(struct pks_process *p, const struct pkt_find *q)
{
	struct pkt_message m = { .head = pkt_head(PKT_FOUND) };
	const struct iovec iov = { &m, pkt_length(PKT_FOUND) };

	addr_find(p->pks->fabric, &p->pks->far, q, &m.u.found);
	p->pks->ops->send(p->pks->ctx, p, &iov, 1);
}

static void answer_count(struct pks_process *p, const struct pkt_count *q)
{
	struct pkt_message m = { .head = pkt_head(PKT_COUNTED) };
	const struct iovec iov = { &m, pkt_length(PKT_COUNTED) };
	struct pks_process *other;

	ut_list_each(other, &p->at->processes, node)
		m.u.counted.n += other->slot != q->slot && find_group(other, q->mgid) >= 0;
	p->pks->ops->send(p->pks->ctx, p, &iov, 1);
}

static int control(struct pks_process *p, const struct pkt_message *m)
{
	switch (m->head.type) {
	case PKT_SLOT:
		return take_slot(p, m->u.slot.slot);
	case PKT_JOIN:
		return join(p, m->u.group.mgid);
	case PKT_LEAVE:
		leave(p, m->u.group.mgid);
		return 0;
	case PKT_ROUTE:
		answer_route(p, &m->u.route);
		return 0;
	case PKT_FIND:
		answer_find(p, &m->u.find);
		return 0;
	case PKT_COUNT:
		answer_count(p, &m->u.count);
		return 0;
	default:
		return -EPROTO;
	}
}

int pks_receive(struct pks_process *p, const void *msg, size_t len)
{
	struct pkt_message m = { .head = { 0 } };

	if (!p->at || !pkt_parse(msg, len, false))
		return -EPROTO;
	memcpy(&m, msg, least(len, sizeof(m)));
	if (m.head.type != PKT_TRAIN)
		return control(p, &m);
	if (p->slot == PKS_NO_SLOT)
		return -EPROTO;
	train(p, (const uint8_t *)msg + sizeof(m.head), len - sizeof(m.head), m.head.seg);
	return 0;
}

/* --- datagrams of the model --- */

bool pks_deliver(struct pks *s, struct fab_port *port, const struct mad *m)
{
	struct pks_port *at = find_port(s, port);
	struct wire_ib_packet p = { .opcode = WIRE_UD_SEND_ONLY, .pkey = m->pkey, .dest_qpn = WIRE_QPN_GSI,
				    .src_qpn = m->sqpn, .qkey = m->qkey, .payload_len = MAD_LEN };
	struct wire_link_packet l = { .lrh = { .sl = m->sl, .slid = m->slid, .dlid = m->dlid,
					       .lnh = m->has_grh ? WIRE_LNH_GLOBAL : WIRE_LNH_LOCAL } };
	uint8_t buf[WIRE_LINK_HDRS_MAX + WIRE_IB_HDRS_MAX + MAD_LEN + WIRE_ICRC_LEN];
	struct pks_process *to = NULL;
	size_t hdr, n;

	if (at && m->dqpn == WIRE_QPN_GSI && wire_get_MAD_mgmt_class(m->bytes) == WIRE_MAD_CLASS_CM)
		to = by_communication(at, m->bytes);
	if (!to || (m->has_grh && wire_grh_get(m->grh, WIRE_GRH_LEN, &l.grh) != WIRE_OK))
		return false;
	l.ib_len = WIRE_BTH_LEN + WIRE_DETH_LEN + MAD_LEN + WIRE_ICRC_LEN;
	hdr = wire_link_build(buf, sizeof(buf), &l);
	n = hdr + wire_ib_build(buf + hdr, &p);
	memcpy(buf + n, m->bytes, MAD_LEN);
	wire_icrc_link_fill(buf, n + MAD_LEN);
	return give(to, &(struct run){ .at = buf, .len = n + MAD_LEN + WIRE_ICRC_LEN, .packets = 1,
				       .seg = (uint16_t)(n + MAD_LEN + WIRE_ICRC_LEN) });
}

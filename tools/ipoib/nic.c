/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "util/clock.h"
#include "util/heap.h"
#include "util/ip.h"
#include "util/sys.h"
#include "wire/ipoib_fields.h"

#define BATCH 64u
#define PATH_MS 5000
#define JOIN_MS 10000
#define JOIN_FULL 1           /* JoinState, IBTA 15.2.5.17 */
#define JOIN_SEND_ONLY 4
#define TICKET_GROUP (1ull << 47)
#define EUI_LOCAL 0x02        /* RFC 4391, 8: interface identifiers are modified EUI-64 */

/* How frames go to a neighbour or group: a neighbour's or group's `way`. */
struct way {
	struct ud_address to;
	uint8_t mgid[16];     /* of a group */
	bool is_full, is_attached;
};

static const uint8_t broadcast_ip[16] = { [10] = 0xff, 0xff, 0xff, 0xff, 0xff, 0xff },
		     all_hosts[16] = { [10] = 0xff, 0xff, 224, 0, 0, 1 },
		     all_nodes[16] = { 0xff, 0x02, [15] = 1 };

/* --- address handles --- */

static struct way *make_way(struct nic *n, struct ibv_ah_attr *attr, uint32_t qpn)
{
	struct way *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	attr->port_num = 1;
	w->to.qpn = qpn;
	w->to.ah = ibv_create_ah(n->ud.pd, attr);
	if (w->to.ah)
		return w;
	free(w);
	return NULL;
}

static void free_way(struct nic *n, struct way *w)
{
	ud_retire(&n->ud, w->to.ah);
	free(w);
}

/* --- neighbours --- */

/* An address of the own host for questions: of the target's family, and for link-local targets a link-local one. */
static const uint8_t *local_addr(const struct nic *n, const uint8_t target[16])
{
	bool v4 = ut_ip_is_v4(target), local = ut_ip_is_linklocal(target);
	const uint8_t *found = NULL;
	unsigned i;

	for (i = 0; i < n->tun.n_addrs; i++) {
		const uint8_t *a = n->tun.addrs[i];

		if (ut_ip_is_v4(a) == v4 && (!found || ut_ip_is_linklocal(a) == local))
			found = a;
	}
	return found;
}

static void set_own_hw(const struct nic *n, uint8_t hw[HW_LEN])
{
	hw_make(hw, n->ud.qp->qp_num, n->c.port->gid, n->c.is_connected && n->connected.listener);
}

static void ask(void *ctx, const uint8_t ip[16])
{
	struct nic *n = ctx;
	struct resolution r = { .has_hw = true };
	const uint8_t *own = local_addr(n, ip);
	uint8_t frame[FRAME_SHORT], group[16];
	size_t len;

	if (!own)
		return;
	memcpy(r.sender, own, 16);
	memcpy(r.target, ip, 16);
	set_own_hw(n, r.hw);
	if (ut_ip_is_v4(ip))
		memcpy(group, broadcast_ip, 16);
	else
		frame_solicited_node(ip, group);
	len = frame_resolution(frame, &r, group, NULL);
	groups_send(&n->groups, group, frame, len, ut_now());
}

static void route(void *ctx, struct neigh *e)
{
	struct nic *n = ctx;
	uint64_t ticket = (uint64_t)n->c.number << NIC_TICKET_SHIFT | e->number;
	struct sac_path p;
	int r = sac_path(&n->c.port->sa, n->c.port->gid, wire_get_IPOIB_ADDR_gid(e->hw), n->c.pkey,
			 fabric_names_generation(n->c.port->names), PATH_MS, ticket, ut_now(), &p);

	if (r != -EINPROGRESS)
		nic_path(n, ticket, r, &p);
}

static void write_packet(struct nic *n, const uint8_t *ip, size_t len)
{
	/* A device without room, or switched off, loses the packet, as an interface does. */
	if (write(n->tun.fd, ip, len) < 0)
		return;
}

/* Of packets in datagrams. */
static unsigned datagram_mtu(const struct nic *n)
{
	return (128u << n->broadcast.mtu) - WIRE_IPOIB_LEN;
}

static void refuse_length(struct nic *n, const uint8_t *frame, size_t len, unsigned mtu)
{
	uint8_t ip[FRAME_SHORT];
	size_t got = frame_too_big(ip, frame, len, mtu);

	if (got)
		write_packet(n, ip, got);
}

/* The connection for a packet; NULL: it goes as a datagram, as messages of ARP do. */
static struct link_to *find_link(struct nic *n, const struct neigh *e, const uint8_t *frame, size_t len)
{
	uint8_t ip[16];

	if (!n->c.is_connected || !hw_has_rc(e->hw) || !frame_destination(frame, len, ip))
		return NULL;
	return connected_to(&n->connected, e->hw, ut_now());
}

static void send_to_neighbour(void *ctx, struct neigh *e, const uint8_t *frame, size_t len)
{
	struct nic *n = ctx;
	const struct way *w = e->way;
	struct link_to *l = find_link(n, e, frame, len);
	unsigned mtu = l && l->state == LINK_UP ? l->mtu : datagram_mtu(n);

	if (l && l->state == LINK_UP && len - WIRE_IPOIB_LEN <= mtu)
		connected_send(&n->connected, l, frame, len);
	else if (len - WIRE_IPOIB_LEN <= datagram_mtu(n))
		ud_send(&n->ud, frame, len, &w->to);
	else if (l && l->state == LINK_ASKED)
		connected_keep(l, frame, len);
	else
		refuse_length(n, frame, len, mtu);
}

static void give_up(void *ctx, const uint8_t *frame, size_t len)
{
	uint8_t ip[FRAME_SHORT];
	size_t got = frame_unreachable(ip, frame, len);

	if (got)
		write_packet(ctx, ip, got);
}

static void drop_neighbour(void *ctx, void *way)
{
	free_way(ctx, way);
}

static const struct neigh_ops neighbour_ops = { ask, route, send_to_neighbour, give_up, drop_neighbour };

void nic_path(struct nic *n, uint64_t ticket, int status, const struct sac_path *p)
{
	uint64_t number = ticket & (TICKET_GROUP - 1);
	struct neigh *e = neigh_by_number(&n->neighbours, number);
	struct way *w = NULL;

	if (!e)
		return;
	if (status == 0) {
		struct ibv_ah_attr a = { .dlid = p->dlid, .sl = p->sl, .static_rate = p->rate,
					 .is_global = p->hop_limit > 1,
					 .grh = { .flow_label = p->flow_label, .hop_limit = p->hop_limit,
						  .traffic_class = p->tclass } };

		memcpy(a.grh.dgid.raw, wire_get_IPOIB_ADDR_gid(e->hw), 16);
		w = make_way(n, &a, (uint32_t)wire_get_IPOIB_ADDR_qpn(e->hw));
	}
	neigh_routed(&n->neighbours, number, w, ut_now());
}

/* --- groups --- */

static struct sac_group wanted(const struct nic *n, const struct group *g, bool full)
{
	struct sac_group want = n->broadcast;

	want.joins_only = false;
	if (ut_ip_same(g->ip, broadcast_ip))
		want = (struct sac_group){ .pkey = n->c.pkey, .joins_only = true };
	want.is_exact = !want.joins_only;
	want.join_state = full ? JOIN_FULL : JOIN_SEND_ONLY;
	frame_mgid(g->ip, n->c.pkey, want.mgid);
	return want;
}

static void join(void *ctx, struct group *g, bool full)
{
	struct nic *n = ctx;
	struct sac_group want = wanted(n, g, full), got;
	uint64_t ticket = (uint64_t)n->c.number << NIC_TICKET_SHIFT | TICKET_GROUP | g->number;
	int r = -ENETDOWN;

	/* Joined once more, for a subnet manager that may know nothing of it. */
	if (g->way && g->is_full == full)
		sac_leave(&n->c.port->sa, want.mgid, want.join_state, false, ut_now());
	if (port_is_active(n->c.port) && (want.joins_only || n->broadcast.mlid))
		r = sac_join(&n->c.port->sa, n->c.port->gid, &want, JOIN_MS, ticket, ut_now(), &got);
	if (r != -EINPROGRESS)
		nic_group(n, ticket, r, &got);
}

static void leave(void *ctx, void *way, bool tell)
{
	struct nic *n = ctx;
	struct way *w = way;

	if (tell && w->is_attached)
		ibv_detach_mcast(n->ud.qp, (const union ibv_gid *)w->mgid, 0);
	if (tell)
		sac_leave(&n->c.port->sa, w->mgid, w->is_full ? JOIN_FULL : JOIN_SEND_ONLY,
			  port_is_last(n->c.port, w->mgid, n->ud.qp->qp_num), ut_now());
	free_way(n, w);
}

static void send_to_group(void *ctx, struct group *g, const uint8_t *frame, size_t len)
{
	struct nic *n = ctx;
	const struct way *w = g->way;

	ud_send(&n->ud, frame, len, &w->to);
}

static const struct group_ops group_ops = { join, leave, send_to_group };

static struct way *group_way(struct nic *n, const struct sac_group *g)
{
	struct ibv_ah_attr a = { .dlid = g->mlid, .sl = g->sl, .static_rate = g->rate, .is_global = 1,
				 .grh = { .flow_label = g->flow_label, .hop_limit = g->hop_limit, .traffic_class = g->tclass } };
	struct way *w;

	memcpy(a.grh.dgid.raw, g->mgid, 16);
	w = make_way(n, &a, QPN_MULTICAST);
	if (!w)
		return NULL;
	memcpy(w->mgid, g->mgid, 16);
	w->is_full = g->join_state == JOIN_FULL;
	return w;
}

/* A member's queue pair is attached once, however often the group is joined anew. */
static void attach(struct nic *n, const struct group *g, struct way *w, uint16_t mlid)
{
	if (!g || !w->is_full)
		return;
	w->is_attached = g->way && g->is_full;
	if (!w->is_attached)
		w->is_attached = ibv_attach_mcast(n->ud.qp, (const union ibv_gid *)w->mgid, mlid) == 0;
}

/* --- the link's own state --- */

/* Tells others where an address is (RFC 5227, 3; RFC 4861, 7.2.6), and is ready to be asked. */
static void announce(struct nic *n, const uint8_t ip[16])
{
	struct resolution r = { .has_hw = true, .is_answer = !ut_ip_is_v4(ip) };
	const uint8_t *to = ut_ip_is_v4(ip) ? broadcast_ip : all_nodes;
	uint8_t frame[FRAME_SHORT], group[16];
	size_t len;

	memcpy(r.sender, ip, 16);
	memcpy(r.target, ip, 16);
	set_own_hw(n, r.hw);
	if (!ut_ip_is_v4(ip)) {
		frame_solicited_node(ip, group);
		groups_want(&n->groups, group, GROUP_LINK, true, ut_now());
	}
	len = frame_resolution(frame, &r, to, NULL);
	groups_send(&n->groups, to, frame, len, ut_now());
}

/* A solicited-node group of an address that is gone. */
static void leave_unused(void *arg, const uint8_t ip[16])
{
	struct nic *n = arg;
	uint8_t group[16];
	unsigned i;

	if (ut_ip_same(ip, broadcast_ip) || ut_ip_same(ip, all_hosts) || ut_ip_same(ip, all_nodes))
		return;
	for (i = 0; i < n->tun.n_addrs; i++) {
		frame_solicited_node(n->tun.addrs[i], group);
		if (!ut_ip_is_v4(n->tun.addrs[i]) && ut_ip_same(group, ip))
			return;
	}
	groups_want(&n->groups, ip, GROUP_LINK, false, ut_now());
}

static void take_addresses(struct nic *n)
{
	unsigned i;

	tun_read_addrs(&n->tun);
	if (!n->is_up)
		return;
	groups_each(&n->groups, GROUP_LINK, leave_unused, n);
	for (i = 0; i < n->tun.n_addrs; i++)
		announce(n, n->tun.addrs[i]);
}

static void come_up(struct nic *n)
{
	bool was_up = n->is_up;

	n->is_up = true;
	/* Without a listener the interface has datagrams alone, and says so in its address. */
	if (n->c.is_connected)
		connected_listen(&n->connected, n->c.port->gid, n->ud.qp->qp_num);
	tun_set_mtu(&n->tun, n->c.is_connected && n->connected.listener ? CONNECTED_MTU : datagram_mtu(n));
	tun_set_carrier(&n->tun, true);
	groups_want(&n->groups, all_hosts, GROUP_LINK, true, ut_now());
	groups_want(&n->groups, all_nodes, GROUP_LINK, true, ut_now());
	if (was_up)
		return;
	/* Groups that were asked for before there was a broadcast group. */
	groups_retry(&n->groups);
	take_addresses(n);
}

static void go_down(struct nic *n)
{
	n->is_up = false;
	tun_set_carrier(&n->tun, false);
}

static bool is_broadcast_group(const struct nic *n, const struct group *g)
{
	return g && ut_ip_same(g->ip, broadcast_ip);
}

/* The queue pair has the group's Q_Key before frames can come. */
static int take_broadcast(struct nic *n, const struct sac_group *g)
{
	int index = port_pkey_index(n->c.port, n->c.pkey), r = 0;

	if (index < 0)
		return -ENOENT;
	if (!n->ud.is_up || n->ud.qkey != g->qkey)
		r = ud_start(&n->ud, (unsigned)index, g->qkey);
	if (r == 0)
		n->broadcast = *g;
	return r;
}

void nic_group(struct nic *n, uint64_t ticket, int status, const struct sac_group *got)
{
	uint64_t number = ticket & (TICKET_GROUP - 1);
	struct group *g = groups_by_number(&n->groups, number);
	bool is_broadcast = is_broadcast_group(n, g);
	struct way *w = NULL;

	if (status == 0 && is_broadcast)
		status = take_broadcast(n, got);
	if (status == 0)
		w = group_way(n, got);
	if (w)
		attach(n, g, w, got->mlid);
	groups_joined(&n->groups, number, w, status == 0 && got->join_state == JOIN_FULL, ut_now());
	if (is_broadcast)
		n->has_failed = !w;
	if (is_broadcast && w)
		come_up(n);
}

void nic_changed(struct nic *n, uint32_t events)
{
	uint32_t anew = ATT_PORT_ACTIVE | ATT_LID_CHANGE | ATT_SM_CHANGE | ATT_CLIENT_REREGISTER;

	if (!port_is_active(n->c.port))
		go_down(n);
	if (events & ATT_PKEY_CHANGE && n->ud.is_up && port_pkey_index(n->c.port, n->c.pkey) >= 0)
		ud_start(&n->ud, (unsigned)port_pkey_index(n->c.port, n->c.pkey), n->ud.qkey);
	if (port_is_active(n->c.port) && events & (anew | ATT_PKEY_CHANGE)) {
		groups_rejoin(&n->groups);
		neigh_reroute(&n->neighbours);
	}
}

/* --- frames from the kernel --- */

static void on_report(void *arg, const uint8_t group[16], bool joins)
{
	struct nic *n = arg;

	groups_want(&n->groups, group, GROUP_HOST, joins, ut_now());
}

/* The subnet's broadcast address ends in ones, and is nobody's. */
static bool is_broadcast(const struct nic *n, const uint8_t ip[16])
{
	return ut_ip_same(ip, broadcast_ip) || ut_ip_same(ip, n->subnet_broadcast);
}

static void send_frame(struct nic *n, uint8_t *frame, size_t len, uint64_t now)
{
	struct neigh *e;
	uint8_t ip[16];

	if (!n->is_up || !frame_wrap(frame, len) || !frame_destination(frame, len, ip))
		return;
	if (is_broadcast(n, ip)) {
		groups_send(&n->groups, broadcast_ip, frame, len, now);
		return;
	}
	if (ut_ip_is_group(ip)) {
		frame_reports(frame, len, on_report, n);
		groups_send(&n->groups, ip, frame, len, now);
		return;
	}
	e = neigh_ready(&n->neighbours, ip, now);
	if (e)
		send_to_neighbour(n, e, frame, len);
	else
		neigh_send(&n->neighbours, ip, frame, len, now);
}

/* Without a free send, the kernel's queue keeps packets until sends have ended. */
static void hold(struct nic *n, bool holds)
{
	if (holds != n->is_held)
		loop_set(n->c.loop, n->tun.fd, holds ? 0 : EPOLLIN);
	n->is_held = holds;
}

static void discard(struct nic *n)
{
	uint8_t rest[UD_FRAME_MAX];

	while (read(n->tun.fd, rest, sizeof(rest)) > 0)
		;
}

/* Where the next packet is read to; NULL: no send is free. */
static uint8_t *next_frame(struct nic *n)
{
	uint8_t *frame = ud_frame(&n->ud);

	if (!n->c.is_connected || !frame)
		return frame;
	return connected_has_room(&n->connected) ? n->frame : NULL;
}

static void from_kernel(struct nic *n)
{
	size_t room = n->c.is_connected ? CONNECTED_FRAME_MAX : UD_FRAME_MAX;
	uint64_t now = ut_now();
	uint8_t *frame = NULL;
	unsigned i;
	ssize_t got;

	for (i = 0; i < BATCH && (frame = next_frame(n)); i++) {
		got = read(n->tun.fd, frame + WIRE_IPOIB_LEN, room - WIRE_IPOIB_LEN);
		if (got <= 0)
			return;
		send_frame(n, frame, WIRE_IPOIB_LEN + (size_t)got, now);
	}
	if (!n->ud.is_up)
		discard(n);
	else if (!next_frame(n))
		hold(n, true);
}

/* --- frames from the fabric --- */

static void answer(struct nic *n, const struct resolution *q)
{
	struct resolution r = { .is_answer = true, .has_hw = true };
	const uint8_t *to = q->is_probe ? all_nodes : q->sender;
	uint8_t frame[FRAME_SHORT];
	size_t len;

	memcpy(r.sender, q->target, 16);
	memcpy(r.target, q->target, 16);
	set_own_hw(n, r.hw);
	len = frame_resolution(frame, &r, to, q->has_hw ? q->hw : NULL);
	if (!q->is_probe)
		neigh_send(&n->neighbours, to, frame, len, ut_now());
	else if (!ut_ip_is_v4(q->target))
		groups_send(&n->groups, to, frame, len, ut_now());
}

static void take_resolution(struct nic *n, const struct resolution *r)
{
	bool is_own = tun_has_addr(&n->tun, r->target);

	if (r->is_answer) {
		if (r->has_hw && !is_own)
			neigh_learn(&n->neighbours, r->target, r->hw, false, ut_now());
		return;
	}
	if (r->has_hw && !r->is_probe && !tun_has_addr(&n->tun, r->sender))
		neigh_learn(&n->neighbours, r->sender, r->hw, is_own, ut_now());
	if (is_own && !tun_has_addr(&n->tun, r->sender))
		answer(n, r);
}

/* The adapter gives a sender its own multicast packets too. */
static bool is_from_here(const struct nic *n, const struct ibv_wc *wc)
{
	return wc->src_qp == n->ud.qp->qp_num && wc->slid == n->c.port->now.lid;
}

static void take_frame(void *ctx, const uint8_t *frame, size_t len)
{
	struct nic *n = ctx;
	struct resolution r;
	uint8_t ip[16];

	if (frame_read_resolution(frame, len, &r))
		take_resolution(n, &r);
	else if (frame_destination(frame, len, ip))
		write_packet(n, frame + WIRE_IPOIB_LEN, len - WIRE_IPOIB_LEN);
}

static void from_fabric(void *ctx, const uint8_t *frame, size_t len, const struct ibv_wc *wc)
{
	if (!is_from_here(ctx, wc))
		take_frame(ctx, frame, len);
}

/* --- the loop --- */

static void on_tun(void *arg, uint32_t events)
{
	struct nic *n = arg;

	from_kernel(n);
	n->is_polling = true;
}

static void on_completions(void *arg, uint32_t events)
{
	struct nic *n = arg;

	n->is_polling = true;
}

static void on_connections(void *arg, uint32_t events)
{
	struct nic *n = arg;

	connected_events(&n->connected, ut_now());
}

/* Polls from round to round while completions come, and asks for an event when none has. */
static unsigned poll_both(struct nic *n)
{
	unsigned got = ud_poll(&n->ud, BATCH, from_fabric, n);

	return n->c.is_connected ? got + connected_poll(&n->connected, BATCH, take_frame, n) : got;
}

static void poll_completions(struct nic *n)
{
	if (!n->is_polling || poll_both(n))
		return;
	ud_arm(&n->ud);
	if (n->c.is_connected)
		connected_arm(&n->connected);
	/* One that came before the queue was armed has no event. */
	if (!poll_both(n))
		n->is_polling = false;
}

static void on_addresses(void *arg, uint32_t events)
{
	take_addresses(arg);
}

static int watch(struct nic *n)
{
	int r = loop_add(n->c.loop, n->tun.fd, EPOLLIN, on_tun, n);

	if (r == 0)
		r = loop_add(n->c.loop, n->tun.changes, EPOLLIN, on_addresses, n);
	if (r == 0)
		r = loop_add(n->c.loop, n->ud.channel->fd, EPOLLIN, on_completions, n);
	if (r == 0 && n->c.is_connected)
		r = loop_add(n->c.loop, n->connected.channel->fd, EPOLLIN, on_completions, n);
	if (r == 0 && n->c.is_connected)
		r = loop_add(n->c.loop, n->connected.events->fd, EPOLLIN, on_connections, n);
	return r;
}

static void link_local(const struct nic *n, char text[INET6_ADDRSTRLEN])
{
	uint8_t ip[16] = { 0xfe, 0x80 };

	memcpy(ip + 8, n->c.port->gid + 8, 8);
	ip[8] ^= EUI_LOCAL;
	inet_ntop(AF_INET6, ip, text, INET6_ADDRSTRLEN);
}

/* No packet goes to ::, which stands for none. */
static void set_subnet(struct nic *n)
{
	uint32_t mask = n->c.prefix ? 0xffffffffu << (32 - n->c.prefix) : 0;
	struct in_addr own;

	if (inet_pton(AF_INET, n->c.ip, &own) != 1)
		return;
	own.s_addr |= htonl(~mask);
	ut_ip_set_v4(n->subnet_broadcast, &own);
}

int nic_open(struct nic *n, const struct nic_config *c, const char **ret_step)
{
	char ip6[INET6_ADDRSTRLEN];
	int r;

	*n = (struct nic){ .c = *c };
	link_local(n, ip6);
	set_subnet(n);
	r = tun_open(&n->tun, c->name, c->ip, c->prefix, ip6, ret_step);
	if (r < 0)
		return r;
	*ret_step = "making a queue pair";
	r = ud_open(&n->ud, c->verbs);
	if (r == 0 && c->is_connected) {
		*ret_step = "making what connections need";
		r = connected_open(&n->connected);
	}
	if (r == 0) {
		neigh_init(&n->neighbours, &neighbour_ops, n);
		groups_init(&n->groups, &group_ops, n);
		n->generation = fabric_names_generation(c->port->names);
		r = watch(n);
	}
	if (r < 0) {
		tun_close(&n->tun);
		return r;
	}
	n->is_polling = true;
	groups_want(&n->groups, broadcast_ip, GROUP_LINK, true, ut_now());
	return 0;
}

void nic_close(struct nic *n)
{
	loop_del(n->c.loop, n->tun.fd);
	loop_del(n->c.loop, n->tun.changes);
	loop_del(n->c.loop, n->ud.channel->fd);
	neigh_fini(&n->neighbours);
	groups_fini(&n->groups);
	if (n->c.is_connected) {
		loop_del(n->c.loop, n->connected.channel->fd);
		loop_del(n->c.loop, n->connected.events->fd);
		connected_close(&n->connected);
	}
	ud_close(&n->ud);
	tun_close(&n->tun);
}

void nic_run(struct nic *n, uint64_t now)
{
	uint64_t generation = fabric_names_generation(n->c.port->names);

	poll_completions(n);
	if (n->is_held && next_frame(n))
		hold(n, false);
	if (n->c.is_connected)
		connected_run(&n->connected, now);
	if (generation != n->generation && port_is_active(n->c.port)) {
		n->generation = generation;
		neigh_reroute(&n->neighbours);
	}
	neigh_run(&n->neighbours, now);
	groups_run(&n->groups, now);
}

uint64_t nic_deadline(const struct nic *n)
{
	uint64_t a = neigh_deadline(&n->neighbours), b = groups_deadline(&n->groups);

	return n->is_polling ? 0 : a < b ? a : b;
}

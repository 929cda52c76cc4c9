/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing a link, and the groups it has joined. Its addresses are in locals.c. */
#include "link/udp/udp.h"

#include "link/sys.h"
#include "link/udp/err.h"
#include "link/udp/locals.h"
#include "link/udp/order.h"
#include "link/udp/poll.h"
#include "link/udp/route.h"
#include "link/udp/rx.h"
#include "link/udp/sock.h"
#include "link/udp/tx.h"
#include "util/alloc.h"
#include "util/faulty.h"
#include "util/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UDP_TRAIN_BYTES 65507 /* the largest payload over IPv4 */
#define UDP_TRAIN_PACKETS 64

static struct udp_group *find_group(struct udp_link *u, const uint8_t group[16],
				    uint32_t ifindex)
{
	struct udp_group *g;

	ut_list_each(g, &u->groups, node)
		if (g->ifindex == ifindex && !memcmp(g->port.addr, group, 16))
			return g;
	return NULL;
}

static void drop_group(struct udp_link *u, struct udp_group *g)
{
	udp_unwatch(u, &g->port);
	ut_list_del(&g->node);
	free(g);
}

static int udp_join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct udp_link *u = udp_of(l);
	struct udp_group *g;
	int r;

	if (!ut_ip_is_group(group))
		return -EINVAL;
	if (find_group(u, group, ifindex))
		return 0;
	g = ut_zalloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	ut_list_init(&g->node);
	g->ifindex = ifindex;
	r = udp_sock_group(group, u->host.port, ifindex);
	udp_port_init(&g->port, UDP_GROUP, r);
	memcpy(g->port.addr, group, 16);
	if (r >= 0)
		r = udp_watch(u, &g->port);
	if (r < 0) {
		drop_group(u, g);
		return r;
	}
	ut_list_add_tail(&u->groups, &g->node);
	return 0;
}

static void udp_leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct udp_group *g = find_group(udp_of(l), group, ifindex);

	if (g)
		drop_group(udp_of(l), g);
}

static int udp_claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	return host_service_claim(&udp_of(l)->host, addr, service);
}

static void udp_unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	host_service_unclaim(&udp_of(l)->host, addr, service);
}

static void udp_entrust(struct link *l, int fd)
{
	host_entrust(&udp_of(l)->host, fd);
}

static const void *udp_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	return host_dead_peer(&udp_of(l)->host, ret_addr, ret_len);
}

/* The descriptor always shows what has come: the set is level-triggered. */
static void udp_sleep(struct link *l, bool on, bool look)
{
	atomic_store_explicit(&udp_of(l)->sleeping, on, memory_order_relaxed);
}

static int udp_fd(struct link *l)
{
	return udp_of(l)->host.epfd;
}

static void udp_close(struct link *l)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo;
	struct udp_group *g;

	while ((lo = ut_list_first(&u->host.addrs, struct udp_local, at.node)))
		udp_local_drop(u, lo);
	while ((g = ut_list_first(&u->groups, struct udp_group, node)))
		drop_group(u, g);
	host_services_drop(&u->host);
	host_peer_watches_drop(&u->host, NULL);
	udp_unwatch(u, &u->timer);
	host_fini(&u->host);
	ut_stage_fini(&u->stage);
	free(u);
}

static const struct link_ops udp_ops = {
	.send = udp_send,
	.source_port = udp_source_port,
	.recv = udp_recv,
	.take = udp_take,
	.error = udp_error,
	.add_addr = udp_add_addr,
	.del_addr = udp_del_addr,
	.join = udp_join,
	.leave = udp_leave,
	.claim = udp_claim,
	.unclaim = udp_unclaim,
	.pass_on = udp_pass_on,
	.entrust = udp_entrust,
	.dead_peer = udp_dead_peer,
	.fd = udp_fd,
	.sleep = udp_sleep,
	.close = udp_close,
};

static void handle_messages(struct udp_link *u)
{
	host_handle(&u->host, HOST_MSG_ANSWER, udp_order_message, u);
	host_handle(&u->host, HOST_MSG_ORDER, udp_order_message, u);
	host_handle(&u->host, HOST_MSG_LEFT, udp_order_message, u);
	host_handle(&u->host, HOST_MSG_RECORDS, host_records_take, &u->host);
}

static int open_timer(struct udp_link *u)
{
	u->timer.at.fd = ut_timerfd();
	return u->timer.at.fd < 0 ? -errno : udp_watch(u, &u->timer);
}

int udp_open(uint16_t port, struct link **ret)
{
	struct udp_link *u = ut_zalloc(sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	ut_list_init(&u->groups);
	ut_list_init(&u->polled);
	ut_list_init(&u->errors);
	u->base.ops = &udp_ops;
	u->base.rx_stage = &u->stage;
	u->base.train_bytes = UDP_TRAIN_BYTES;
	u->base.port = port;
	u->stage = (struct ut_stage)UT_STAGE_INIT;
	udp_port_init(&u->timer, UDP_TIMER, -1);
	u->timer_at = UT_NEVER;
	r = host_init(&u->host, &udp_host_user, port);
	handle_messages(u);
	udp_set_slot(u);
	u->base.spare_off = UDP_RX_SLOTS * UDP_RX_SLOT_BYTES;
	u->base.spare_len = UDP_SPARE_BYTES;
	if (r == 0)
		r = ut_stage_init(&u->stage, u->base.spare_off + u->base.spare_len);
	if (r == 0)
		r = open_timer(u);
	if (r < 0) {
		udp_close(&u->base);
		return r;
	}
	u->gso = udp_sock_gso();
	u->base.train_packets = u->gso ? UDP_TRAIN_PACKETS : 1;
	*ret = &u->base;
	return 0;
}

struct host *udp_host(struct link *l)
{
	return &udp_of(l)->host;
}

void udp_stats(struct link *l, struct udp_stats *ret)
{
	struct udp_link *u = udp_of(l);

	*ret = u->stats;
	ret->dropped += u->host.stats.dropped;
	ret->passed_on += u->host.stats.passed_on;
	ret->forwarded += u->host.stats.forwarded;
}

/* --- groups without a route --- */

/*
 * Groups where the host has no way to send to them: lo has no route for IPv6
 * multicast, and who is no administrator cannot add one. All who could hear are
 * members of the sender's address then, so each gets a message, the sender too. What finds
 * a full mailbox waits in the outbox, for mailboxes are much smaller than sockets.
 */

#define MESSAGE_MAX 9216 /* a datagram of the largest path MTU, and more */

static int post_one(struct udp_link *u, struct udp_local *lo, const struct ut_flow *f,
		    unsigned seg, const uint8_t *data, size_t len)
{
	const struct udp_order *o = &lo->order;
	struct host_message m = { .type = HOST_MSG_GROUP, .tos = f->tos, .ttl = f->ttl,
			      .sport = f->sport ? f->sport : u->host.port, .seg = (uint16_t)seg };
	uint8_t body[16 + MESSAGE_MAX];

	if (len > MESSAGE_MAX)
		return -EMSGSIZE;
	memcpy(m.src, f->src, 16);
	memcpy(body, f->dst, 16);
	memcpy(body + 16, data, len);
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] < HOST_SLOTS)
			u->stats.forwarded += host_outbox_send(&u->host, &lo->at, host_to_slot(o->at[i]), &m,
							      body, 16 + len) == 0;
	return 0;
}

int udp_group_post(struct udp_link *u, const struct ut_flow *f, const uint8_t *data,
		   size_t len, size_t seg)
{
	struct udp_local *lo = udp_local_find(u, f->src);
	unsigned k = 0;
	int r = lo ? 0 : -EADDRNOTAVAIL;

	for (size_t off = 0; off < len && r == 0; off += seg)
		r = post_one(u, lo, f, k++, data + off, len - off < seg ? len - off : seg);
	return r;
}

bool udp_group_joined(struct udp_link *u, const uint8_t group[16])
{
	struct udp_group *g;

	ut_list_each(g, &u->groups, node)
		if (!memcmp(g->port.addr, group, 16))
			return true;
	return false;
}

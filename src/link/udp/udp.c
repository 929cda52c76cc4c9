/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing a link, and the groups it has joined. Its addresses are in locals.c. */
#include "host/shm/peer.h"

#include "link/sys.h"
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
	g->port.kind = UDP_GROUP;
	memcpy(g->port.addr, group, 16);
	ut_list_init(&g->port.polled_node);
	ut_list_init(&g->port.err_node);
	g->port.fd = r = udp_sock_group(group, u->port, ifindex);
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

static int udp_fd(struct link *l)
{
	return udp_of(l)->epfd;
}

static void udp_close(struct link *l)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo;
	struct udp_group *g;

	while ((lo = ut_list_first(&u->locals, struct udp_local, node)))
		udp_local_drop(u, lo);
	while ((g = ut_list_first(&u->groups, struct udp_group, node)))
		drop_group(u, g);
	udp_services_drop(u);
	shm_chan_fini(u);
	udp_peer_watches_drop(u, NULL);
	udp_unwatch(u, &u->timer);
	link_sys_close(&u->epfd);
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
	.claim = udp_service_claim,
	.unclaim = udp_service_unclaim,
	.pass_on = udp_pass_on,
	.entrust = udp_entrust,
	.dead_peer = udp_dead_peer,
	.fd = udp_fd,
	.sleep = shm_chan_sleep,
	.close = udp_close,
};

static int open_fds(struct udp_link *u)
{
	u->epfd = ut_epoll();
	if (u->epfd < 0)
		return -errno;
	u->timer.fd = ut_timerfd();
	if (u->timer.fd < 0)
		return -errno;
	return udp_watch(u, &u->timer);
}

int udp_open(uint16_t port, struct link **ret)
{
	struct udp_link *u = ut_zalloc(sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	ut_list_init(&u->locals);
	ut_list_init(&u->groups);
	ut_list_init(&u->polled);
	ut_list_init(&u->errors);
	ut_list_init(&u->outbox);
	ut_list_init(&u->services);
	ut_list_init(&u->ready);
	ut_list_init(&u->peer_watches);
	ut_list_init(&u->dead);
	u->records = -1;
	for (int i = 0; i < UDP_MAIL_FDS; i++)
		u->fds[i] = -1;
	u->base.ops = &udp_ops;
	u->base.rx_stage = &u->stage;
	u->base.train_bytes = UDP_TRAIN_BYTES;
	u->base.port = u->port = port;
	u->stage = (struct ut_stage)UT_STAGE_INIT;
	u->timer = (struct udp_port){ .kind = UDP_TIMER, .fd = -1 };
	ut_list_init(&u->timer.polled_node);
	ut_list_init(&u->timer.err_node);
	u->timer_at = UT_NEVER;
	u->epfd = -1;
	u->rng.state = ut_rng_seed();
	udp_set_slot(u, UDP_NONE_YET);
	r = udp_self_uid(&u->uid);
	if (r == 0)
		r = ut_stage_init(&u->stage, UDP_RX_SLOTS * UDP_RX_SLOT_BYTES);
	if (r == 0)
		r = open_fds(u);
	if (r < 0) {
		udp_close(&u->base);
		return r;
	}
	u->gso = udp_sock_gso();
	u->base.train_packets = u->gso ? UDP_TRAIN_PACKETS : 1;
	*ret = &u->base;
	return 0;
}

int udp_go_local(struct link *l)
{
	return shm_chan_init(udp_of(l));
}

void udp_go_messages(struct link *l, bool fetch)
{
	struct udp_link *u = udp_of(l);

	shm_chan_messages(u);
	if (u->chan)
		u->chan->no_fetches = !fetch;
}

void udp_go_direct(struct link *l)
{
	shm_chan_direct(udp_of(l));
}

struct shm_channel *udp_channel(struct link *l)
{
	struct udp_link *u = udp_of(l);

	return u->chan ? &u->chan->base : &shm_channel_none;
}

void udp_stats(struct link *l, struct udp_stats *ret)
{
	*ret = udp_of(l)->stats;
}

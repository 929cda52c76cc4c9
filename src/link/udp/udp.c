/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening and closing a link. */
#include "link/udp/udp.h"

#include "link/udp/err.h"
#include "link/udp/group.h"
#include "link/udp/locals.h"
#include "link/udp/order.h"
#include "link/udp/poll.h"
#include "link/udp/route.h"
#include "link/udp/rx.h"
#include "link/udp/sender.h"
#include "link/udp/sock.h"
#include "link/udp/tx.h"
#include "util/alloc.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UDP_TRAIN_BYTES 65507 /* the largest payload over IPv4 */
#define UDP_TRAIN_PACKETS 64

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

static void close_paused(struct udp_port *p)
{
	if (atomic_load_explicit(&p->paused, memory_order_relaxed))
		ut_close_fd(&p->at.fd);
}

static void udp_forked(struct link *l)
{
	struct udp_link *u = udp_of(l);
	struct udp_group *g;
	struct udp_local *lo;

	udp_each_local(lo, u)
		close_paused(&lo->main);
	ut_list_each(g, &u->groups, node)
		close_paused(&g->port);
	for (int i = 0; i < UDP_TX_CACHE; i++)
		close_paused(&u->tx[i].port);
}

static int udp_fd(struct link *l)
{
	return udp_of(l)->host.epfd;
}

static void udp_close(struct link *l)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo;

	while ((lo = ut_list_first(&u->host.addrs, struct udp_local, at.node)))
		udp_local_drop(u, lo);
	udp_groups_drop(u);
	host_services_drop(&u->host);
	host_peer_watches_drop(&u->host, NULL);
	udp_unwatch(u, &u->timer);
	host_fini(&u->host);
	ut_mutex_fini(&u->pausing);
	ut_stage_fini(&u->stage);
	free(u);
}

static const struct link_ops udp_ops = {
	.send = udp_send,
	.send_after = udp_send_after,
	.source_port = udp_source_port,
	.recv = udp_recv,
	.take = udp_take,
	.sender = udp_sender,
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
	.ends = link_default_ends,
	.count = link_default_count,
	.fd = udp_fd,
	.sleep = udp_sleep,
	.attend = udp_attend,
	.forked = udp_forked,
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
	ut_mutex_init(&u->pausing);
	ut_lock(&u->pausing);
	ut_list_init(&u->paused);
	ut_unlock(&u->pausing);
	u->base.ops = &udp_ops;
	u->base.rx_stage = &u->stage;
	u->base.train_bytes = UDP_TRAIN_BYTES;
	u->base.hidden = &u->n_paused;
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

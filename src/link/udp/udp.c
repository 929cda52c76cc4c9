/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening, addresses, closing. All addresses of a link share one slot, since
 * a QPN has room for one. As long as the slot was not used (nothing sent or
 * received, no number with it given out) a further address whose name for it is taken makes the link move
 * to another slot with all its addresses; later that address is refused.
 */
#include "link/udp/near.h"

#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define UDP_TRAIN_BYTES 65507 /* the largest payload over IPv4 */
#define UDP_TRAIN_PACKETS 64
#define UDP_LOCK_WAIT (300 * UT_MS)
#define UDP_LEAVE_TRIES 20
#define UDP_DISCARD 9 /* a port nobody sends RoCE from */
#define UDP_NONE_YET 0xffffu /* u->slot before the first address */

static void set_slot(struct udp_link *u, unsigned slot)
{
	u->slot = slot;
	u->base.qpn_fixed = slot == UDP_NONE_YET ? 0 : slot << UDP_SLOT_SHIFT;
	u->base.qpn_mask = (1u << UDP_SLOT_SHIFT) - 1;
}

static void set_window(struct udp_link *u)
{
	struct udp_local *lo;
	uint32_t least = UINT32_MAX, w;

	ut_list_each(lo, &u->locals, node)
		if (udp_sock_window(lo->main.fd, &w) == 0 && w < least)
			least = w;
	u->base.rx_window = least == UINT32_MAX ? 0 : least;
}

static void local_free(struct udp_link *u, struct udp_local *lo)
{
	if (u->carry.local == lo)
		u->carry.left = 0;
	udp_outbox_forget(u, lo);
	udp_wards_drop(u, lo);
	udp_unwatch(u, &lo->main);
	udp_unwatch(u, &lo->mail);
	link_sys_close(&lo->order.lock);
	ut_list_del(&lo->node);
	free(lo);
}

/*
 * While a socket closes there is an instant in which the kernel has taken it
 * from its group and not yet from its hash: any datagram of the group that
 * looks then lands in it. Connected to somewhere it matches nobody's.
 */
static void hide(struct udp_link *u, struct udp_local *lo)
{
	union udp_sa sa;
	socklen_t n = udp_sa_fill(&sa, lo->addr, UDP_DISCARD, lo->scope);

	if (LINK_SYS(SYS_connect, lo->main.fd, &sa, n) < 0)
		ut_debug("a leaving socket cannot be hidden, one datagram may be lost");
}

/*
 * Out of the group without losing what is for others: what is in our queue is
 * handed on, then the socket is closed, then the others hear of it.
 */
static void local_leave(struct udp_link *u, struct udp_local *lo)
{
	uint8_t *buf = ut_malloc(UDP_RX_SLOT_BYTES);

	if (lo->order.lock < 0)
		lo->order.lock = udp_lock(u, lo->addr, lo->scope, UDP_LOCK_WAIT / 6);
	hide(u, lo);
	if (buf)
		udp_drain(u, lo, buf, UDP_RX_SLOT_BYTES);
	free(buf);
	/* Mailboxes that are full empty soon, or their owner is stopped. */
	for (int i = 0; i < UDP_LEAVE_TRIES && u->outbox_used; i++) {
		struct timespec ms = { 0, (long)UT_MS };

		udp_outbox_flush(u);
		if (u->outbox_used)
			LINK_SYS(SYS_ppoll, NULL, 0, &ms, NULL, 8);
	}
	if (u->carry.local == lo)
		u->carry.left = 0;
	udp_unwatch(u, &lo->main);
	udp_order_left(u, lo);
}

static int claim_mail(struct udp_link *u, struct udp_local *lo, unsigned slot, int *ret)
{
	*ret = udp_claim(u, lo->addr, lo->scope, slot);
	return *ret < 0 ? *ret : 0;
}

/* The names of one slot for the addresses there are and one more. Returns 0
 * with the descriptors in mail[], the new one's first, or -errno. */
static int claim_all(struct udp_link *u, struct udp_local *more, unsigned slot, int *mail)
{
	struct udp_local *lo;
	int n = 0, r = claim_mail(u, more, slot, &mail[n]);

	if (r < 0)
		return r;
	ut_list_each(lo, &u->locals, node) {
		n++;
		r = claim_mail(u, lo, slot, &mail[n]);
		if (r < 0)
			break;
	}
	while (r < 0 && --n >= 0)
		link_sys_close(&mail[n]);
	return r;
}

static void new_mailbox(struct udp_link *u, struct udp_local *lo, int fd)
{
	udp_unwatch(u, &lo->mail);
	lo->mail = (struct udp_port){ .kind = UDP_MAIL, .fd = fd, .local = lo };
	ut_list_init(&lo->mail.hot_node);
	ut_list_init(&lo->mail.err_node);
}

/* The others must learn the new slot: each address joins again. */
static void move_locals(struct udp_link *u, const int *mail)
{
	struct udp_local *lo;
	int n = 1;

	ut_list_each(lo, &u->locals, node) {
		new_mailbox(u, lo, mail[n++]);
		if (udp_watch(u, &lo->mail) < 0)
			ut_warn("a mailbox cannot be watched, it is read more slowly");
	}
	ut_list_each(lo, &u->locals, node) {
		int lock = udp_lock(u, lo->addr, lo->scope, UDP_LOCK_WAIT);

		udp_order_join(u, lo, lock < 0 ? -1 : lock);
	}
}

static int choose_slot(struct udp_link *u, struct udp_local *more)
{
	unsigned count = 1;
	struct udp_local *lo;
	int *mail, r;

	ut_list_each(lo, &u->locals, node)
		count++;
	mail = ut_calloc(count, sizeof(*mail));
	if (!mail)
		return -ENOMEM;
	r = -EADDRINUSE;
	for (unsigned slot = 0; slot < UDP_SLOTS && r == -EADDRINUSE; slot++) {
		r = claim_all(u, more, slot, mail);
		if (r < 0)
			continue;
		new_mailbox(u, more, mail[0]);
		set_slot(u, slot);
		move_locals(u, mail);
	}
	free(mail);
	return r;
}

static int take_slot(struct udp_link *u, struct udp_local *lo)
{
	int fd;

	if (u->slot != UDP_NONE_YET) {
		fd = udp_claim(u, lo->addr, lo->scope, u->slot);
		if (fd >= 0)
			new_mailbox(u, lo, fd);
		if (fd != -EADDRINUSE || u->active || u->base.qpn_given)
			return fd < 0 ? fd : 0;
	}
	return choose_slot(u, lo);
}

static int open_local(struct udp_link *u, struct udp_local *lo)
{
	int fd = udp_sock_main(lo->addr, u->port, lo->scope), r;

	if (fd < 0)
		return fd;
	lo->main = (struct udp_port){ .kind = UDP_MAIN, .fd = fd, .local = lo };
	memcpy(lo->main.addr, lo->addr, 16);
	lo->tos = 0;
	lo->ttl = 64;
	udp_tx_defaults(fd, udp_is_v4(lo->addr), lo->tos, lo->ttl);
	r = udp_watch(u, &lo->main);
	return r < 0 ? r : udp_watch(u, &lo->mail);
}

static struct udp_local *local_new(const uint8_t addr[16], uint32_t scope)
{
	struct udp_local *lo = ut_zalloc(sizeof(*lo));

	if (!lo)
		return NULL;
	memcpy(lo->addr, addr, 16);
	lo->scope = scope;
	ut_list_init(&lo->node);
	lo->main.fd = lo->mail.fd = -1;
	udp_order_init(&lo->order);
	return lo;
}

static int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct udp_link *u = udp_of(l);
	bool first = u->slot == UDP_NONE_YET;
	struct udp_local *lo;
	int lock, r;

	if (udp_is_group(addr))
		return -EINVAL;
	if (udp_local_find(u, addr))
		return 0;
	lo = local_new(addr, scope);
	if (!lo)
		return -ENOMEM;
	r = take_slot(u, lo);
	/* Without the lock (its holder is stopped) the worst is a wrong order,
	 * which repairs itself. */
	lock = r < 0 ? -1 : udp_lock(u, addr, scope, UDP_LOCK_WAIT);
	if (r == 0)
		r = open_local(u, lo);
	if (r < 0) {
		link_sys_close(&lock);
		local_free(u, lo);
		if (first)
			set_slot(u, UDP_NONE_YET);
		return r;
	}
	ut_list_add_tail(&u->locals, &lo->node);
	udp_order_join(u, lo, lock < 0 ? -1 : lock);
	set_window(u);
	return 0;
}

static void drop_local(struct udp_link *u, struct udp_local *lo)
{
	udp_tx_forget(u, lo->addr);
	udp_near_forget_addr(u, lo->addr);
	local_leave(u, lo);
	local_free(u, lo);
	if (ut_list_empty(&u->locals) && !u->active && !u->base.qpn_given)
		set_slot(u, UDP_NONE_YET);
}

static void udp_del_addr(struct link *l, const uint8_t addr[16])
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo = udp_local_find(u, addr);

	if (!lo)
		return;
	drop_local(u, lo);
	set_window(u);
	udp_set_timer(u);
}

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

	if (!udp_is_group(group))
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
	ut_list_init(&g->port.hot_node);
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
		drop_local(u, lo);
	while ((g = ut_list_first(&u->groups, struct udp_group, node)))
		drop_group(u, g);
	udp_services_drop(u);
	udp_near_fini(u);
	udp_wards_drop(u, NULL);
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
	.orphan = udp_orphan,
	.fd = udp_fd,
	.doze = udp_near_doze,
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
	ut_list_init(&u->hot);
	ut_list_init(&u->errors);
	ut_list_init(&u->outbox);
	ut_list_init(&u->services);
	ut_list_init(&u->ready);
	ut_list_init(&u->wards);
	ut_list_init(&u->dead);
	u->will = -1;
	for (int i = 0; i < UDP_GIFTS; i++)
		u->gift[i] = -1;
	u->base.ops = &udp_ops;
	u->base.rx_stage = &u->stage;
	u->base.train_bytes = UDP_TRAIN_BYTES;
	u->base.port = u->port = port;
	u->stage = (struct ut_stage)UT_STAGE_INIT;
	u->timer = (struct udp_port){ .kind = UDP_TIMER, .fd = -1 };
	ut_list_init(&u->timer.hot_node);
	ut_list_init(&u->timer.err_node);
	u->timer_at = UT_NEVER;
	u->epfd = -1;
	u->base.more_fd = -1;
	u->rng.state = ut_rng_seed();
	set_slot(u, UDP_NONE_YET);
	r = udp_own_uid(&u->uid);
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

int udp_go_near(struct link *l)
{
	return udp_near_init(udp_of(l));
}

void udp_go_notes(struct link *l, bool pull)
{
	struct udp_link *u = udp_of(l);

	udp_near_notes(u);
	if (u->near)
		u->near->no_pulls = !pull;
}

void udp_go_visits(struct link *l)
{
	udp_near_visits(udp_of(l));
}

void udp_stats(struct link *l, struct udp_stats *ret)
{
	*ret = udp_of(l)->stats;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/locals.h"

#include "link/udp/order.h"
#include "link/udp/poll.h"
#include "link/udp/rx.h"
#include "link/udp/sock.h"
#include "link/udp/tx.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UDP_LOCK_WAIT (300 * UT_MS)
#define UDP_LEAVE_TRIES 20
#define UDP_DISCARD 9 /* a port that no RoCE packet comes from */

void udp_set_slot(struct udp_link *u)
{
	unsigned slot = u->host.slot;

	u->base.qpn_fixed = slot == HOST_NO_SLOT ? 0 : slot << HOST_SLOT_SHIFT;
	u->base.qpn_mask = (1u << HOST_SLOT_SHIFT) - 1;
}

static void set_window(struct udp_link *u)
{
	struct udp_local *lo;
	uint32_t least = UINT32_MAX, w;

	udp_each_local(lo, u)
		if (udp_sock_window(lo->main.at.fd, &w) == 0 && w < least)
			least = w;
	u->base.rx_window = least == UINT32_MAX ? 0 : least;
}

static void local_free(struct udp_link *u, struct udp_local *lo)
{
	if (u->carry.local == lo)
		u->carry.left = 0;
	host_outbox_forget(&u->host, &lo->at);
	host_peer_watches_drop(&u->host, &lo->at);
	udp_unwatch(u, &lo->main);
	host_unwatch(&u->host, &lo->at.mail);
	ut_close_fd(&lo->order.lock);
	ut_list_del(&lo->at.node);
	free(lo);
}

/*
 * While a socket closes there is an instant in which the kernel has taken it from its group and not yet from its hash:
 * a datagram of the group that is looked up then lands in it. A connected socket does not match.
 */
static void hide(struct udp_link *u, struct udp_local *lo)
{
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(lo->at.addr, UDP_DISCARD, lo->at.scope, &sa);

	if (UT_SYS(SYS_connect, lo->main.at.fd, &sa, n) < 0)
		ut_debug("a leaving socket cannot be hidden, one datagram may be lost");
}

/* Leaves the group without losing datagrams for others: those in this queue are forwarded, then the
 * socket is closed, then the other members are told. */
static void local_leave(struct udp_link *u, struct udp_local *lo)
{
	uint8_t *buf = ut_malloc(UDP_RX_SLOT_BYTES);

	if (lo->order.lock < 0)
		lo->order.lock = host_lock(&u->host, lo->at.addr, lo->at.scope, UDP_LOCK_WAIT / 6);
	hide(u, lo);
	if (buf)
		udp_drain(u, lo, buf, UDP_RX_SLOT_BYTES);
	free(buf);
	/* A full mailbox is empty soon, or its owner is stopped. */
	for (int i = 0; i < UDP_LEAVE_TRIES && u->host.outbox_used; i++) {
		struct timespec ms = { 0, (long)UT_MS };

		host_outbox_flush(&u->host);
		if (u->host.outbox_used)
			UT_SYS(SYS_ppoll, NULL, 0, &ms, NULL, 8);
	}
	if (u->carry.local == lo)
		u->carry.left = 0;
	udp_unwatch(u, &lo->main);
	udp_order_left(u, lo);
}

/* --- host_user --- */

static unsigned members(struct host_addr *a, uint16_t ret[HOST_SLOTS])
{
	const struct udp_order *o = &udp_local_of(a)->order;
	unsigned n = 0;

	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] < HOST_SLOTS)
			ret[n++] = o->at[i];
	return n;
}

static void member_died(struct host_addr *a)
{
	struct udp_local *lo = udp_local_of(a);

	udp_order_astray(lo->u, lo);
}

static void moved(struct host_addr *a)
{
	struct udp_local *lo = udp_local_of(a);
	int lock = host_lock(&lo->u->host, a->addr, a->scope, UDP_LOCK_WAIT);

	udp_set_slot(lo->u);
	udp_order_join(lo->u, lo, lock < 0 ? -1 : lock);
}

static void deadline(struct host *h)
{
	udp_set_timer(ut_container(h, struct udp_link, host));
}

const struct host_user udp_host_user = {
	.members = members, .member_died = member_died, .moved = moved, .deadline = deadline,
	.socket = host_socket_here,
};

static int open_local(struct udp_link *u, struct udp_local *lo)
{
	int fd = udp_sock_main(lo->at.addr, u->host.port, lo->at.scope), r;

	if (fd < 0)
		return fd;
	udp_port_init(&lo->main, UDP_MAIN, fd);
	lo->main.local = lo;
	memcpy(lo->main.addr, lo->at.addr, 16);
	lo->tos = 0;
	lo->ttl = 64;
	udp_tx_defaults(fd, ut_ip_is_v4(lo->at.addr), lo->tos, lo->ttl);
	r = udp_watch(u, &lo->main);
	return r < 0 ? r : host_watch(&u->host, &lo->at.mail);
}

static struct udp_local *local_new(struct udp_link *u, const uint8_t addr[16], uint32_t scope)
{
	struct udp_local *lo = ut_zalloc(sizeof(*lo));

	if (!lo)
		return NULL;
	host_addr_init(&lo->at, addr, scope);
	lo->u = u;
	udp_port_init(&lo->main, UDP_MAIN, -1);
	udp_order_init(&lo->order);
	return lo;
}

int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct udp_link *u = udp_of(l);
	bool first = u->host.slot == HOST_NO_SLOT;
	struct udp_local *lo;
	int lock, r;

	if (ut_ip_is_group(addr))
		return -EINVAL;
	if (udp_local_find(u, addr))
		return 0;
	lo = local_new(u, addr, scope);
	if (!lo)
		return -ENOMEM;
	r = host_slot_take(&u->host, &lo->at, udp_slot_is_fixed(u));
	udp_set_slot(u);
	/* Without the lock (its holder is stopped) the worst result is a wrong order, which repairs
	 * itself. */
	lock = r < 0 ? -1 : host_lock(&u->host, addr, scope, UDP_LOCK_WAIT);
	if (r == 0)
		r = open_local(u, lo);
	if (r < 0) {
		ut_close_fd(&lock);
		local_free(u, lo);
		if (first)
			u->host.slot = HOST_NO_SLOT;
		udp_set_slot(u);
		return r;
	}
	ut_list_add_tail(&u->host.addrs, &lo->at.node);
	udp_order_join(u, lo, lock < 0 ? -1 : lock);
	set_window(u);
	return 0;
}

void udp_local_drop(struct udp_link *u, struct udp_local *lo)
{
	udp_tx_forget(u, lo->at.addr);
	local_leave(u, lo);
	local_free(u, lo);
	if (ut_list_empty(&u->host.addrs) && !udp_slot_is_fixed(u))
		u->host.slot = HOST_NO_SLOT;
	udp_set_slot(u);
}

void udp_del_addr(struct link *l, const uint8_t addr[16])
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo = udp_local_find(u, addr);

	if (!lo)
		return;
	udp_local_drop(u, lo);
	set_window(u);
	udp_set_timer(u);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Local addresses, from claim to leave. All addresses of a link share one slot, since
 * a QPN has room for one. As long as the slot was not used (nothing sent or
 * received, no number with it given out) a further address whose name for it is taken makes the link move
 * to another slot with all its addresses; later that address is refused.
 */
#include "host/shm/peer.h"

#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define UDP_LOCK_WAIT (300 * UT_MS)
#define UDP_LEAVE_TRIES 20
#define UDP_DISCARD 9 /* a port nobody sends RoCE from */

void udp_set_slot(struct udp_link *u, unsigned slot)
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
	udp_peer_watches_drop(u, lo);
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
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(lo->addr, UDP_DISCARD, lo->scope, &sa);

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
	ut_list_init(&lo->mail.polled_node);
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
		udp_set_slot(u, slot);
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
	udp_tx_defaults(fd, ut_ip_is_v4(lo->addr), lo->tos, lo->ttl);
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

int udp_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct udp_link *u = udp_of(l);
	bool first = u->slot == UDP_NONE_YET;
	struct udp_local *lo;
	int lock, r;

	if (ut_ip_is_group(addr))
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
			udp_set_slot(u, UDP_NONE_YET);
		return r;
	}
	ut_list_add_tail(&u->locals, &lo->node);
	udp_order_join(u, lo, lock < 0 ? -1 : lock);
	set_window(u);
	return 0;
}

void udp_local_drop(struct udp_link *u, struct udp_local *lo)
{
	udp_tx_forget(u, lo->addr);
	shm_chan_forget_addr(u, lo->addr);
	local_leave(u, lo);
	local_free(u, lo);
	if (ut_list_empty(&u->locals) && !u->active && !u->base.qpn_given)
		udp_set_slot(u, UDP_NONE_YET);
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

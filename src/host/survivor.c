/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a process wants said to its peers when it dies, kept by others: it gives
 * a sealed memory and its pidfd to two other members of each address, and whoever
 * sees the pidfd die finds the memory in orphan(). Two, because the first may be
 * stopped or die as well; not all, because descriptors are few.
 *
 * Who the two are follows from the order of the group (the next slots after our
 * own), so each piece of news about the order is a reason to tell them again. A
 * keeper replaces what it has of a slot; so telling twice costs nothing but a
 * message.
 */
#include "link/udp/local.h"

#include "host/shm/segment.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PEER_WATCHES_MAX 64u        /* each costs a descriptor and a mapping */
#define RECORD_BYTES (4u << 20)
#define KEEPERS 2
#define TELL_TRIES 20
#define TELL_RETRY (5 * UT_MS)

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/* --- telling --- */

static bool is_member(const struct udp_order *o, unsigned slot)
{
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] == slot)
			return true;
	return false;
}

/* The next members after us, in a ring. Returns how many. */
static int keepers(const struct udp_link *u, const struct udp_local *lo, unsigned *ret)
{
	int n = 0;

	for (unsigned i = 1; i < UDP_SLOTS && n < KEEPERS; i++) {
		unsigned slot = (u->slot + i) % UDP_SLOTS;

		if (is_member(&lo->order, slot))
			ret[n++] = slot;
	}
	return n;
}

/* False: a mailbox is full, another time. */
static bool tell(struct udp_link *u, struct udp_local *lo)
{
	struct udp_mail m = { .type = UDP_MAIL_RECORDS };
	unsigned slot[KEEPERS];
	bool done = true;
	int fds[2] = { -1, u->records };
	int n = keepers(u, lo, slot);

	if (n)
		fds[0] = udp_self_pidfd();
	if (fds[0] < 0)
		return true; /* an old kernel or a strict container: peers find out by themselves */
	for (int i = 0; i < n; i++)
		if (udp_mail_give(u, lo, udp_to_slot(slot[i]), &m, NULL, 0, fds, 2) == -EAGAIN)
			done = false;
	link_sys_close(&fds[0]);
	return done;
}

void udp_peer_watch_news(struct udp_link *u, struct udp_local *lo)
{
	lo->records_tries = u->records >= 0 ? TELL_TRIES : 0;
	lo->records_at = 1; /* a timer set to 0 is none */
}

void udp_peer_watch_settle(struct udp_link *u, struct udp_local *lo, uint64_t now)
{
	if (!lo->records_tries || now < lo->records_at)
		return;
	lo->records_tries = tell(u, lo) ? 0 : lo->records_tries - 1;
	lo->records_at = now + TELL_RETRY;
}

uint64_t udp_peer_watch_deadline(const struct udp_local *lo)
{
	return lo->records_tries ? lo->records_at : UT_NEVER;
}

void udp_entrust(struct link *l, int fd)
{
	struct udp_link *u = udp_of(l);
	struct udp_local *lo;

	u->records = fd;
	ut_list_each(lo, &u->locals, node) {
		udp_peer_watch_news(u, lo);
		udp_peer_watch_settle(u, lo, ut_now());
	}
	udp_set_timer(u);
}

/* --- keeping --- */

static void drop(struct udp_link *u, struct udp_peer_watch *w)
{
	udp_unwatch(u, &w->port);
	shm_seg_unmap(w->map, w->len);
	ut_list_del(&w->node);
	u->n_peer_watches--;
	free(w);
}

static void forget_slot(struct udp_link *u, const struct udp_local *lo, unsigned slot)
{
	struct udp_peer_watch *w, *t;

	ut_list_each_safe(w, t, &u->peer_watches, node)
		if (w->slot == slot && !memcmp(w->addr, lo->addr, 16))
			drop(u, w);
}

static struct udp_peer_watch *peer_watch_new(struct udp_link *u, struct udp_local *lo, unsigned slot,
				 int pidfd, int will)
{
	struct udp_peer_watch *w = u->n_peer_watches < PEER_WATCHES_MAX ? ut_zalloc(sizeof(*w)) : NULL;

	if (!w)
		return NULL;
	w->map = shm_seg_map(will, 1, RECORD_BYTES, &w->len);
	if (!w->map) {
		free(w);
		return NULL;
	}
	w->slot = (uint8_t)slot;
	memcpy(w->addr, lo->addr, 16);
	w->port = (struct udp_port){ .kind = UDP_PEER_WATCH, .fd = pidfd, .watch = w };
	ut_list_init(&w->port.polled_node);
	ut_list_init(&w->port.err_node);
	ut_list_init(&w->node);
	u->n_peer_watches++;
	return w;
}

void udp_peer_watch_take(struct udp_link *u, struct udp_local *lo, unsigned slot)
{
	int pidfd = u->fds[0], will = u->fds[1];
	struct udp_peer_watch *w;

	if (will < 0)
		return;
	forget_slot(u, lo, slot);
	u->fds[0] = -1; /* now the watch's */
	w = LINK_SYS(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == -EBADF
		    ? NULL : peer_watch_new(u, lo, slot, pidfd, will);
	link_sys_close(&u->fds[1]); /* the mapping is enough */
	if (!w) {
		link_sys_close(&pidfd);
		ut_debug("what slot %u gave to keep is refused", slot);
		return;
	}
	ut_list_add_tail(&u->peer_watches, &w->node);
	if (udp_watch(u, &w->port) < 0)
		drop(u, w);
}

void udp_peer_watch_died(struct udp_link *u, struct udp_peer_watch *w)
{
	struct udp_local *lo = udp_local_find(u, w->addr);

	udp_unwatch(u, &w->port); /* it stays readable */
	ut_list_del(&w->node);
	ut_list_add_tail(&u->dead, &w->node);
	/* Its place in the group is another's now. */
	if (lo)
		udp_order_astray(u, lo);
}

const void *udp_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	struct udp_link *u = udp_of(l);
	struct udp_peer_watch *w;

	if (u->shown)
		drop(u, u->shown);
	u->shown = w = ut_list_first(&u->dead, struct udp_peer_watch, node);
	if (!w)
		return NULL;
	memcpy(ret_addr, w->addr, 16);
	*ret_len = w->len;
	return w->map;
}

void udp_peer_watches_drop(struct udp_link *u, const struct udp_local *lo)
{
	struct udp_peer_watch *w, *t;

	u->shown = NULL;
	for (int i = 0; i < 2 && !lo; i++)
		if (u->fds[i] >= 0)
			link_sys_close(&u->fds[i]);
	ut_list_each_safe(w, t, &u->peer_watches, node)
		if (!lo || !memcmp(w->addr, lo->addr, 16))
			drop(u, w);
	ut_list_each_safe(w, t, &u->dead, node)
		if (!lo || !memcmp(w->addr, lo->addr, 16))
			drop(u, w);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams on their way to another member's mailbox. A mailbox holds few
 * messages (net.unix.max_dgram_qlen is 10 on many hosts), fewer than a
 * sender's window, so what does not fit waits here a little, bounded in
 * number and time: a stopped member must not fill our memory. Less waits for
 * a service: its requests are repeated, and many may come for a listener that
 * is stopped, while what goes to a slot has one connection's window.
 */
#include "link/udp/local.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUTBOX_MAX 1024
#define OUTBOX_SERVICE_MAX 256
#define OUTBOX_RETRY (200 * UT_US)
#define OUTBOX_AGE (2 * UT_S)

struct parcel {
	struct ut_list node;
	struct udp_local *local;
	struct udp_dest to;
	uint64_t until;
	struct udp_mail mail;
	size_t len;
	uint8_t bytes[];
};

static void drop(struct udp_link *u, struct parcel *p)
{
	ut_list_del(&p->node);
	u->outbox_used--;
	u->outbox_for[udp_key(p->to)]--;
	free(p);
}

static bool may_wait(const struct udp_link *u, struct udp_dest to)
{
	return u->outbox_used < OUTBOX_MAX &&
	       (to.slot != UDP_NO_SLOT || u->outbox_for[udp_key(to)] < OUTBOX_SERVICE_MAX);
}

static int keep(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		const struct udp_mail *m, const void *body, size_t len)
{
	struct parcel *p = may_wait(u, to) ? ut_zalloc(sizeof(*p) + len) : NULL;

	if (!p)
		return -EAGAIN;
	p->local = lo;
	p->to = to;
	p->until = ut_now() + OUTBOX_AGE;
	p->mail = *m;
	p->len = len;
	memcpy(p->bytes, body, len);
	ut_list_add_tail(&u->outbox, &p->node);
	u->outbox_for[udp_key(to)]++;
	if (u->outbox_used++ == 0)
		udp_set_timer(u);
	return 0;
}

int udp_outbox_send(struct udp_link *u, struct udp_local *lo, struct udp_dest to,
		    struct udp_mail *m, const void *body, size_t len)
{
	int r = -EAGAIN;

	/* Behind what waits: the order is kept. */
	if (!u->outbox_for[udp_key(to)])
		r = udp_mail_send(u, lo, to, m, body, len);
	return r == -EAGAIN ? keep(u, lo, to, m, body, len) : r;
}

void udp_outbox_flush(struct udp_link *u)
{
	uint8_t full[UDP_KEYS] = { 0 };
	uint64_t now = ut_now();
	struct parcel *p, *t;

	ut_list_each_safe(p, t, &u->outbox, node) {
		unsigned key = udp_key(p->to);
		int r = full[key] ? -EAGAIN
				  : udp_mail_send(u, p->local, p->to, &p->mail, p->bytes, p->len);

		if (r == -EAGAIN && now < p->until) {
			full[key] = 1; /* keep the order */
			continue;
		}
		if (r < 0) {
			u->stats.dropped++;
			if (p->to.slot == UDP_NO_SLOT)
				u->stats.passed_on--;
			else
				u->stats.forwarded--;
			ut_debug("a datagram for slot %u waited in vain: %s", p->to.slot,
				 strerror(-r));
		}
		drop(u, p);
	}
}

uint64_t udp_outbox_deadline(const struct udp_link *u)
{
	return u->outbox_used ? ut_now() + OUTBOX_RETRY : UT_NEVER;
}

void udp_outbox_forget(struct udp_link *u, const struct udp_local *lo)
{
	struct parcel *p, *t;

	ut_list_each_safe(p, t, &u->outbox, node)
		if (p->local == lo)
			drop(u, p);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/order.h"

#include "link/udp/poll.h"
#include "link/udp/probe.h"
#include "link/udp/rx.h"
#include "link/udp/steer.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_WAIT (20 * UT_MS)        /* for answers */
#define ORDER_LOCK_RETRY (5 * UT_MS)
#define ORDER_PAUSE (10 * UT_MS)       /* between searches, doubled while ... */
#define ORDER_PAUSE_MAX (1280 * UT_MS) /* ... they find no change */

void udp_order_init(struct udp_order *o)
{
	memset(o, 0, sizeof(*o));
	memset(o->at, 0xff, sizeof(o->at));
	o->lock = -1;
	o->again = UT_NEVER;
	o->pause = ORDER_PAUSE;
}

uint64_t udp_order_deadline(const struct udp_order *o)
{
	return o->searching ? o->until : o->again;
}

static void send_probe(struct udp_link *u, struct udp_local *lo, unsigned index)
{
	uint8_t p[UDP_PROBE_BYTES] = { UDP_PROBE_OPCODE };
	union ut_sockaddr sa;
	socklen_t n = ut_ip_to_sockaddr(lo->at.addr, u->host.port, lo->at.scope, &sa);

	memcpy(p + UDP_PROBE_MAGIC, UDP_PROBE_MAGIC_TEXT, 4);
	p[UDP_PROBE_INDEX] = (uint8_t)index;
	p[UDP_PROBE_SLOT] = (uint8_t)u->host.slot;
	memcpy(p + UDP_PROBE_NONCE, &lo->order.nonce, 8);
	u->stats.probes++;
	UT_SYS(SYS_sendto, lo->main.at.fd, p, sizeof(p), MSG_DONTWAIT | MSG_NOSIGNAL, &sa, n);
}

static void start(struct udp_link *u, struct udp_local *lo, int lock)
{
	struct udp_order *o = &lo->order;

	o->lock = lock;
	o->searching = true;
	o->again = UT_NEVER;
	o->nonce = ut_rng_u64(&u->host.rng);
	o->last = ut_now();
	o->until = o->last + ORDER_WAIT;
	o->heard = 0;
	memset(o->found, 0xff, sizeof(o->found));
	memset(o->answered, 0, sizeof(o->answered));
	o->asked = host_slot_claims(&u->host, &lo->at, o->claimed);
	for (unsigned i = 0; i < o->asked; i++)
		send_probe(u, lo, i);
}

/* One member without answer and one index without answer belong together. */
static void guess_last(struct udp_order *o)
{
	unsigned silent = 0, slot = 0, free_at = 0, gaps = 0;

	for (unsigned s = 0; s < HOST_SLOTS; s++)
		if (o->claimed[s] && o->found[s] == HOST_NO_SLOT) {
			silent++;
			slot = s;
		}
	for (unsigned i = 0; i < o->asked; i++)
		if (o->at[i] == HOST_NO_SLOT && !o->answered[i]) {
			gaps++;
			free_at = i;
		}
	if (silent == 1 && gaps == 1) {
		o->at[free_at] = (uint16_t)slot;
		if (free_at >= o->n)
			o->n = free_at + 1;
	}
}

/* Returns true if the order has changed. */
static bool conclude(struct udp_order *o)
{
	uint16_t before[256];

	memcpy(before, o->at, sizeof(before));
	memset(o->at, 0xff, sizeof(o->at));
	o->n = 0;
	for (unsigned s = 0; s < HOST_SLOTS; s++) {
		if (o->found[s] == HOST_NO_SLOT)
			continue;
		o->at[o->found[s]] = (uint16_t)s;
		if (o->found[s] >= o->n)
			o->n = o->found[s] + 1u;
	}
	guess_last(o);
	return memcmp(before, o->at, sizeof(before)) != 0;
}

static void attach(struct udp_link *u, struct udp_local *lo)
{
	int r = udp_steer(lo->main.at.fd, lo->order.at, lo->order.n);

	lo->order.attach = false;
	u->stats.attaches++;
	if (r < 0)
		ut_warn("cannot attach the reuseport filter (%s): packets are forwarded between processes, "
			"which is slower; permit SO_ATTACH_REUSEPORT_CBPF",
			strerror(-r));
}

static void tell(struct udp_link *u, struct udp_local *lo, enum host_message_type type,
		 unsigned index)
{
	struct host_message m = { .type = (uint8_t)type, .index = (uint8_t)index };
	uint8_t body[256];

	for (unsigned i = 0; i < lo->order.n; i++)
		body[i] = lo->order.at[i] < HOST_SLOTS ? (uint8_t)lo->order.at[i] : 255;
	for (unsigned s = 0; s < HOST_SLOTS; s++)
		if (lo->order.claimed[s] && s != u->host.slot)
			host_send(&u->host, &lo->at, host_to_slot(s), &m, body,
				      type == HOST_MSG_ORDER ? lo->order.n : 0);
}

static void finish(struct udp_link *u, struct udp_local *lo)
{
	struct udp_order *o = &lo->order;

	o->searching = false;
	if (conclude(o))
		o->pause = ORDER_PAUSE;
	else if (o->pause < ORDER_PAUSE_MAX)
		o->pause *= 2;
	attach(u, lo);
	tell(u, lo, HOST_MSG_ORDER, 0);
	ut_close_fd(&o->lock);
	host_records_news(&u->host, &lo->at);
}

static void heard(struct udp_link *u, struct udp_local *lo, unsigned slot, unsigned index,
		  uint64_t nonce)
{
	struct udp_order *o = &lo->order;

	if (nonce != o->nonce || index >= o->asked || slot >= HOST_SLOTS)
		return;
	o->heard += !o->answered[index];
	o->answered[index] = 1;
	if (index >= o->found[slot])
		return;
	o->found[slot] = (uint16_t)index;
	/* A late answer, of a member that was stopped, is still used. */
	if (!o->searching && conclude(o))
		o->attach = o->tell = true;
}

bool udp_order_probe(struct udp_link *u, struct udp_local *lo, const struct link_rx *rx)
{
	struct udp_order *o = &lo->order;
	const uint8_t *p = rx->data;
	struct udp_answer a;

	if (rx->len != UDP_PROBE_BYTES || p[0] != UDP_PROBE_OPCODE ||
	    memcmp(p + UDP_PROBE_MAGIC, UDP_PROBE_MAGIC_TEXT, 4))
		return false;
	/* No process outside this host can send from this address and port. */
	if (memcmp(rx->src, lo->at.addr, 16) || rx->sport != u->host.port)
		return true;
	a.index = p[UDP_PROBE_INDEX];
	a.slot = p[UDP_PROBE_SLOT];
	memcpy(&a.nonce, p + UDP_PROBE_NONCE, 8);
	if (a.slot == u->host.slot)
		heard(u, lo, a.slot, a.index, a.nonce);
	else if (a.slot < HOST_SLOTS && o->n_owed < sizeof(o->owed) / sizeof(o->owed[0]))
		o->owed[o->n_owed++] = a;
	/* Answered when the mailbox is empty: messages in it may be older. */
	lo->at.mail_ready = true;
	return true;
}

static bool ready(const struct udp_order *o)
{
	return o->heard >= o->asked;
}

void udp_order_settle(struct udp_link *u, struct udp_local *lo)
{
	struct udp_order *o = &lo->order;

	if (o->attach)
		attach(u, lo);
	if (o->tell)
		tell(u, lo, HOST_MSG_ORDER, 0);
	o->tell = false;
	for (unsigned i = 0; i < o->n_owed; i++) {
		struct host_message m = { .type = HOST_MSG_ANSWER, .index = o->owed[i].index,
				      .nonce = o->owed[i].nonce };

		host_send(&u->host, &lo->at, host_to_slot(o->owed[i].slot), &m, NULL, 0);
	}
	o->n_owed = 0;
	if (o->searching && ready(o)) {
		finish(u, lo);
		udp_set_timer(u);
	}
	if (lo->at.records_tries) {
		host_records_settle(&u->host, &lo->at, ut_now());
		udp_set_timer(u);
	}
}

/* Another member has searched and attached. */
static void take_order(struct udp_order *o, const uint8_t *body, size_t n)
{
	if (n > HOST_SLOTS || o->searching)
		return;
	memset(o->at, 0xff, sizeof(o->at));
	for (size_t i = 0; i < n; i++)
		if (body[i] < HOST_SLOTS)
			o->at[i] = body[i];
	o->n = (unsigned)n;
	o->nonce = 0; /* answers to our last search are stale now */
	o->again = UT_NEVER;
	o->attach = o->tell = false;
}

static void take_left(struct udp_link *u, struct udp_local *lo, unsigned slot, unsigned index)
{
	struct udp_order *o = &lo->order;

	o->nonce = o->searching ? o->nonce : 0;
	if (index >= o->n || o->at[index] != slot || o->at[o->n - 1] == HOST_NO_SLOT)
		return; /* the leaver's order is newer; datagrams at the wrong member start a search */
	o->n--;
	o->at[index] = o->at[o->n];
	o->at[o->n] = HOST_NO_SLOT;
	if (o->n && o->at[0] == u->host.slot)
		o->attach = true;
}

void udp_order_message(void *link, struct host_addr *a, const struct host_message *m,
		       const uint8_t *body, size_t len)
{
	struct udp_local *lo = udp_local_of(a);
	struct udp_link *u = link;

	switch (m->type) {
	case HOST_MSG_ANSWER:
		heard(u, lo, m->slot, m->index, m->nonce);
		return;
	case HOST_MSG_ORDER:
		take_order(&lo->order, body, len);
		break;
	default:
		take_left(u, lo, m->slot, m->index);
	}
	host_records_news(&u->host, a);
}

/* Not at once: the other members see it as well, and one search is enough. */
void udp_order_astray(struct udp_link *u, struct udp_local *lo)
{
	struct udp_order *o = &lo->order;
	uint64_t now, at;

	if (o->searching || o->again != UT_NEVER)
		return;
	now = ut_now();
	at = o->last + o->pause;
	o->again = (at > now ? at : now) + UT_MS + ut_rng_below(&u->host.rng, 2 * UT_MS);
	udp_set_timer(u);
}

void udp_order_tick(struct udp_link *u, struct udp_local *lo, uint64_t now)
{
	struct udp_order *o = &lo->order;
	int lock;

	if (o->searching && now >= o->until)
		finish(u, lo);
	if (o->searching || now < o->again)
		return;
	lock = host_lock(&u->host, lo->at.addr, lo->at.scope, 0);
	if (lock < 0)
		o->again = now + ORDER_LOCK_RETRY;
	else
		start(u, lo, lock);
}

/* Waits for a datagram or a message, at most until the search ends. */
static bool wait_news(struct udp_local *lo)
{
	struct pollfd p[2] = { { lo->main.at.fd, POLLIN, 0 }, { lo->at.mail.fd, POLLIN, 0 } };
	uint64_t now = ut_now();
	struct timespec t = { 0 };

	if (now >= lo->order.until)
		return false;
	t.tv_nsec = (long)(lo->order.until - now);
	return UT_SYS(SYS_ppoll, p, 2, &t, NULL, 8) > 0;
}

void udp_order_join(struct udp_link *u, struct udp_local *lo, int lock)
{
	struct udp_order *o = &lo->order;
	uint8_t *buf = ut_malloc(UDP_RX_SLOT_BYTES);
	struct host_message m;
	size_t len;

	start(u, lo, lock);
	while (buf && !ready(o) && wait_news(lo)) {
		udp_drain(u, lo, buf, UDP_RX_SLOT_BYTES);
		/* No datagram can have been forwarded to this process: no member knows its slot
		 * yet. */
		while (host_receive(&u->host, lo->at.mail.fd, &m, buf, UDP_RX_SLOT_BYTES, &len))
			host_dispatch(&u->host, &lo->at, &m, buf, len);
	}
	free(buf);
	finish(u, lo);
	udp_order_settle(u, lo);
}

void udp_order_left(struct udp_link *u, struct udp_local *lo)
{
	struct udp_order *o = &lo->order;

	host_slot_claims(&u->host, &lo->at, o->claimed);
	for (unsigned i = 0; i < o->n; i++)
		if (o->at[i] == u->host.slot) {
			tell(u, lo, HOST_MSG_LEFT, i);
			break;
		}
	ut_close_fd(&o->lock);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/routes.h"

#include "host/shm/segment.h"
#include "link/fabric/greet.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define AWAIT_NS (200 * UT_MS)   /* for the first answer about a flow; its owner's lock is held */
#define SILENT_NS (2000 * UT_MS) /* a fabric process that does not answer for so long is stopped: packets are lost */

static void answers_came(struct host *h, struct host_port *p, uint32_t events)
{
	ut_container(p, struct fabric_routes, port)->readable = true;
}

static const struct host_port_kind kind = { .events = EPOLLIN, .ready = answers_came };

static void forget_all(struct fabric_routes *r)
{
	r->n = r->asked = r->unanswered = 0;
	r->epoch++;
	memset(r->lists, 0xff, sizeof(r->lists));
}

int fabric_routes_open(struct fabric_routes *r, struct host *h, const struct fabric_place *where, char why[FABRIC_WHY_MAX])
{
	struct pkt_welcome w;
	int fd = fabric_greet(where, -1, &w, &r->page, why);

	r->host = h;
	r->port = (struct host_port){ &kind, fd };
	forget_all(r);
	if (fd < 0)
		return fd;
	r->generation = atomic_load(&r->page->generation);
	fd = host_watch(h, &r->port);
	return fd < 0 ? fabric_say(why, where, fd) : 0;
}

/* The fabric process has ended: no packet passes any more. */
static void lose(struct fabric_routes *r)
{
	host_unwatch(r->host, &r->port);
	forget_all(r);
	r->moved = true;
}

void fabric_routes_close(struct fabric_routes *r)
{
	if (r->port.kind)
		host_unwatch(r->host, &r->port);
	shm_seg_unmap(r->page, sizeof(*r->page));
	r->page = NULL;
	free(r->v);
	r->v = NULL;
}

/* --- asking --- */

static bool ask(struct fabric_routes *r, uint32_t i)
{
	const struct fabric_route *e = &r->v[i];
	struct pkt_message m = { .head = pkt_head(PKT_ROUTE), .u.route = {
		.number = (uint64_t)r->epoch << 32 | i, .slid = e->slid, .dlid = e->dlid, .pkey = e->pkey, .sl = e->sl } };

	if (UT_SYS(SYS_sendto, r->port.fd, &m, pkt_length(PKT_ROUTE), MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) < 0)
		return false;
	r->unanswered++;
	return true;
}

static void take(struct fabric_routes *r, const struct pkt_routed *a)
{
	uint32_t i = (uint32_t)a->number;
	struct fabric_route *e, before;

	if (a->number >> 32 != r->epoch || i >= r->n || !r->unanswered)
		return;
	r->unanswered--;
	e = &r->v[i];
	before = *e;
	e->known = true;
	e->guid = a->verdict ? 0 : a->guid;
	e->mtu = a->verdict ? 0 : a->mtu;
	r->moved |= !e->awaited && (!before.known || before.guid != e->guid || before.mtu != e->mtu);
}

/* Returns false if there is nothing to read. */
static bool read_answer(struct fabric_routes *r)
{
	struct pkt_message m;
	long n = r->port.fd < 0 ? -EAGAIN : UT_SYS(SYS_recvfrom, r->port.fd, &m, sizeof(m), MSG_DONTWAIT, NULL, NULL);

	if (n == -EAGAIN)
		return false;
	if (n <= 0) {
		lose(r);
		return false;
	}
	if (pkt_parse(&m, (size_t)n, true) && m.head.type == PKT_ROUTED)
		take(r, &m.u.routed);
	return true;
}

static void ask_all(struct fabric_routes *r)
{
	while (r->asked < r->n && ask(r, r->asked))
		r->asked++;
}

void fabric_routes_run(struct fabric_routes *r)
{
	uint64_t now = atomic_load_explicit(&r->page->generation, memory_order_acquire);

	while (read_answer(r))
		;
	r->readable = false;
	if (r->port.fd < 0) {
		r->generation = now;
		return;
	}
	if (!r->unanswered && r->asked == r->n && r->generation != now) {
		r->generation = now;
		r->asked = 0;
	}
	ask_all(r);
}

/* --- finding --- */

static uint32_t *list_of(struct fabric_routes *r, uint16_t dlid, uint16_t pkey)
{
	return &r->lists[(dlid ^ dlid >> 6 ^ pkey * 7u) % FABRIC_ROUTE_LISTS];
}

static struct fabric_route *find(struct fabric_routes *r, const struct ut_flow *f, uint16_t pkey)
{
	for (uint32_t i = *list_of(r, f->dlid, pkey); i != FABRIC_NO_ROUTE; i = r->v[i].next) {
		struct fabric_route *e = &r->v[i];

		if (e->dlid == f->dlid && e->slid == f->slid && e->sl == f->sl && e->pkey == pkey)
			return e;
	}
	return NULL;
}

static bool make_room(struct fabric_routes *r)
{
	uint32_t cap = r->cap ? 2 * r->cap : 16;
	void *v;

	if (r->n == FABRIC_ROUTES_MAX) {
		forget_all(r);
		r->moved = true;
	}
	if (r->n < r->cap)
		return true;
	v = ut_realloc(r->v, cap * sizeof(*r->v));
	if (!v)
		return false;
	r->v = v;
	r->cap = cap;
	return true;
}

static void await_answer(struct fabric_routes *r, uint32_t i)
{
	uint64_t now = ut_now(), until = now + AWAIT_NS;
	uint32_t epoch = r->epoch;

	for (; now < until && r->port.fd >= 0; now = ut_now()) {
		struct pollfd p = { .fd = r->port.fd, .events = POLLIN };
		struct timespec t = { 0, (long)(until - now) };

		UT_SYS(SYS_ppoll, &p, 1, &t, NULL, 8);
		while (read_answer(r))
			;
		if (r->epoch != epoch || r->v[i].known)
			return;
	}
}

/* Adds a route that is not there. Returns it, or NULL. */
static struct fabric_route *add(struct fabric_routes *r, const struct ut_flow *f, uint16_t pkey)
{
	uint32_t i, *list = list_of(r, f->dlid, pkey);

	if (!make_room(r))
		return NULL;
	i = r->n++;
	r->v[i] = (struct fabric_route){ .slid = f->slid, .dlid = f->dlid, .pkey = pkey, .sl = f->sl, .next = *list,
					 .awaited = true, .asked_at = ut_now() };
	*list = i;
	ask_all(r);
	await_answer(r, i);
	if (r->port.fd < 0)
		return NULL;
	r->v[i].awaited = false;
	return &r->v[i];
}

int fabric_routes_find(struct fabric_routes *r, const struct ut_flow *f, uint16_t pkey, const struct fabric_route **ret)
{
	struct fabric_route *e = r->port.fd < 0 ? NULL : find(r, f, pkey);

	if (!e && r->port.fd >= 0)
		e = add(r, f, pkey);
	if (!e)
		return -EHOSTUNREACH;
	if (!e->known)
		return ut_now() - e->asked_at < SILENT_NS ? -EAGAIN : -EHOSTUNREACH;
	*ret = e;
	return e->mtu ? 0 : -EHOSTUNREACH;
}

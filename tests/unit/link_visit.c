/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Visits between two links: not before the owner knows his visitor, not after he closed, and he
 * waits for who is there. The bytes arrive; what is no memory is an error.
 */
#include "link_near_util.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static const struct link_flow THERE = { .src = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					.dst = { [10] = 0xff, 0xff, 127, 0, 0, 2 },
					.sport = 0xd123, .ttl = 64 };

struct pair {
	struct link *a, *b;
	uint32_t qpn;
};

static const struct link_shown *enter(struct pair *p, struct link_visit *v)
{
	return link_near(p->a)->enter(p->a, &THERE, p->qpn, v);
}

/* b lets visitors in, or not; nothing has passed between them yet. */
static void pair_open(struct pair *p, uint16_t port, bool visits)
{
	bool pulls;

	open_pair(port, &p->a, &p->b);
	udp_go_notes(p->a, true);
	udp_go_notes(p->b, true);
	if (visits)
		udp_go_visits(p->b);
	CHECK(!p->a->shown && !p->b->shown == !visits);
	CHECK(way(p->a, p->b, &THERE, &pulls) == LINK_NEAR);
	p->qpn = p->b->qpn_fixed | 0x55;
}

/* A message has passed. */
static void acquaint(struct pair *p)
{
	struct link_rx v[8];

	CHECK(say(p->a, p->b, &THERE, "hello", "", 1) == 0);
	CHECK(p->b->ops->recv(p->b, v, 8) == 1);
	link_near(p->b)->release(p->b);
}

static void bytes(struct pair *p)
{
	static char theirs[64] = "what they have";
	char ours[64] = "what we have", got[64] = "";
	struct iovec whole = { ours, sizeof(ours) }, in = { got, sizeof(got) };
	struct iovec two[2] = { { ours, 60 }, { ours + 60, 4 } };
	const struct link_near_ops *n = link_near(p->a);
	const struct link_shown *s;
	struct link_visit v;

	s = enter(p, &v);
	CHECK(s && s != p->b->shown); /* a mapping of our own */
	atomic_store(&p->b->shown->keys[7].key, 0x700);
	CHECK(atomic_load(&s->keys[7].key) == 0x700);
	CHECK(n->reach_in(&v, (uintptr_t)theirs, &in, 1, false) == sizeof(got));
	CHECK(!strcmp(got, theirs));
	CHECK(n->reach_in(&v, (uintptr_t)theirs, &whole, 1, true) == sizeof(ours));
	CHECK(!strcmp(theirs, ours));
	memset(theirs, 0, sizeof(theirs));
	CHECK(n->reach_in(&v, (uintptr_t)theirs, two, 2, true) == sizeof(ours));
	CHECK(!strcmp(theirs, ours));
	CHECK(n->reach_in(&v, 4096, &whole, 1, true) <= 0);
	whole.iov_base = NULL;
	CHECK(n->reach_in(&v, (uintptr_t)theirs, &whole, 1, true) <= 0);
	CHECK(!strcmp(theirs, ours));
	n->leave(p->a);
}

/* --- the end of a registration --- */

struct owner {
	struct link *l;
	atomic_bool began, done;
};

static void *see_off(void *arg)
{
	struct owner *o = arg;

	atomic_store(&o->began, true);
	link_near(o->l)->see_off(o->l);
	atomic_store(&o->done, true);
	return NULL;
}

static void waits(struct pair *p)
{
	struct owner o = { .l = p->b };
	struct link_visit v;
	pthread_t t;

	link_near(p->b)->see_off(p->b); /* nobody is there */
	CHECK(enter(p, &v));
	CHECK(pthread_create(&t, NULL, see_off, &o) == 0);
	while (!atomic_load(&o.began))
		sched_yield();
	for (int i = 0; i < 2000; i++)
		sched_yield();
	CHECK(!atomic_load(&o.done));
	link_near(p->a)->leave(p->a);
	CHECK(pthread_join(t, NULL) == 0 && atomic_load(&o.done));
	/* Who comes again and again does not hold it up. */
	CHECK(enter(p, &v));
	atomic_store(&o.began, false);
	atomic_store(&o.done, false);
	CHECK(pthread_create(&t, NULL, see_off, &o) == 0);
	while (!atomic_load(&o.done)) {
		link_near(p->a)->leave(p->a);
		CHECK(enter(p, &v));
	}
	CHECK(pthread_join(t, NULL) == 0);
	link_near(p->a)->leave(p->a);
}

int main(void)
{
	uint16_t port = free_port();
	struct link_visit v;
	struct pair p;

	if (access("/proc/self/mem", R_OK | W_OK) < 0) {
		printf("/proc/self/mem cannot be opened here\n");
		return 77;
	}
	pair_open(&p, port, true);
	CHECK(!enter(&p, &v)); /* b has not seen a's page for sure */
	acquaint(&p);
	bytes(&p);
	waits(&p);
	p.qpn ^= 1u << 23; /* of somebody else */
	CHECK(!enter(&p, &v));
	p.qpn ^= 1u << 23;
	CHECK(enter(&p, &v));
	link_near(p.a)->leave(p.a);
	p.b->ops->close(p.b);
	CHECK(!enter(&p, &v));
	link_near(p.a)->forget(p.a);
	p.a->ops->close(p.a);

	pair_open(&p, port, false);
	acquaint(&p);
	CHECK(!enter(&p, &v));
	close_pair(p.a, p.b);
	return 0;
}

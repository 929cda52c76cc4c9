/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access between two links: not before the exporter knows the peer process, not after the
 * exporter closed; quiesce waits for accesses under way, but not for dead peers. The bytes arrive;
 * an address that is no memory, or no longer that process's, is an error. A grant holds until the exporter ends
 * all, attaches another area, or closes.
 */
#include "shm_channel_util.h"

#include "host/shm/access.h"
#include "host/shm/area.h"
#include "host/shm/grant.h"
#include "host/shm/peer.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct ut_flow THERE = { .src = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					.dst = { [10] = 0xff, 0xff, 127, 0, 0, 2 },
					.sport = 0xd123, .ttl = 64 };

struct pair {
	struct link *a, *b;
	uint32_t qpn;
};

static const struct shm_export *enter(struct pair *p, struct shm_access *v)
{
	return channel_of(p->a)->ops->access_begin(channel_of(p->a), &THERE, p->qpn, v);
}

/* b allows direct access, or not; nothing has passed between them yet. */
static void pair_open(struct pair *p, uint16_t port, bool direct)
{

	open_pair(port, &p->a, &p->b);
	shm_channel_messages(channel_of(p->a), false);
	shm_channel_messages(channel_of(p->b), direct);
	CHECK(!channel_of(p->a)->export && !channel_of(p->b)->export == !direct);
	CHECK(way(p->a, p->b, &THERE) == SHM_REACH_LOCAL);
	p->qpn = p->b->qpn_fixed | 0x55;
}

/* A message has passed. */
static void acquaint(struct pair *p)
{
	struct shm_message v[8];

	CHECK(say(p->a, p->b, &THERE, "hello", "", 1) == 0);
	CHECK(take_messages(p->b, v, 8) == 1);
	channel_of(p->b)->ops->release(channel_of(p->b));
}

static void bytes(struct pair *p)
{
	static char theirs[64] = "what they have";
	char ours[64] = "what we have", got[64] = "";
	struct iovec whole = { ours, sizeof(ours) }, in = { got, sizeof(got) };
	struct iovec two[2] = { { ours, 60 }, { ours + 60, 4 } };
	const struct shm_channel_ops *n = channel_of(p->a)->ops;
	const struct shm_export *s;
	struct shm_access v;

	s = enter(p, &v);
	CHECK(s && s != channel_of(p->b)->export); /* a mapping of our own */
	atomic_store(&channel_of(p->b)->export->keys[7].key, 0x700);
	CHECK(atomic_load(&s->keys[7].key) == 0x700);
	CHECK(n->access_copy(&v, (uintptr_t)theirs, &in, 1, false) == sizeof(got));
	CHECK(!strcmp(got, theirs));
	CHECK(n->access_copy(&v, (uintptr_t)theirs, &whole, 1, true) == sizeof(ours));
	CHECK(!strcmp(theirs, ours));
	memset(theirs, 0, sizeof(theirs));
	CHECK(n->access_copy(&v, (uintptr_t)theirs, two, 2, true) == sizeof(ours));
	CHECK(!strcmp(theirs, ours));
	CHECK(n->access_copy(&v, 4096, &whole, 1, true) <= 0);
	whole.iov_base = NULL;
	CHECK(n->access_copy(&v, (uintptr_t)theirs, &whole, 1, true) <= 0);
	CHECK(!strcmp(theirs, ours));
	n->access_end(channel_of(p->a));
}

/* --- by the number of a process --- */

static ssize_t long_one(struct pair *p, bool write)
{
	static char theirs[64 << 10], ours[sizeof(theirs)];
	struct iovec whole = { ours, sizeof(ours) };
	struct shm_access v;
	ssize_t r;

	CHECK(enter(p, &v));
	memset(write ? ours : theirs, 'n', sizeof(ours));
	memset(write ? theirs : ours, 'o', sizeof(ours));
	r = channel_of(p->a)->ops->access_copy(&v, (uintptr_t)theirs, &whole, 1, write);
	CHECK(memcmp(ours, theirs, sizeof(ours)) == 0 || r < 0);
	channel_of(p->a)->ops->access_end(channel_of(p->a));
	return r;
}

static void both_ways(struct pair *p, ssize_t expect)
{
	CHECK(long_one(p, true) == expect);
	CHECK(long_one(p, false) == expect);
}

/* Ends as if the process did. */
static void *promise(void *arg)
{
	host_life_begin();
	both_ways(arg, 64 << 10);
	return NULL;
}

/* Only as long as it is the same process that promised it: a process without a promise is asked. */
static void by_number(struct pair *p)
{
	pthread_t t;

	both_ways(p, 64 << 10);
	CHECK(pthread_create(&t, NULL, promise, p) == 0 && pthread_join(t, NULL) == 0);
	both_ways(p, -ESRCH);
}

/* --- the end of a registration --- */

struct owner {
	struct link *l;
	atomic_bool began, done;
};

static void *quiesce(void *arg)
{
	struct owner *o = arg;

	atomic_store(&o->began, true);
	channel_of(o->l)->ops->quiesce(channel_of(o->l));
	atomic_store(&o->done, true);
	return NULL;
}

static void waits(struct pair *p)
{
	struct owner o = { .l = p->b };
	struct shm_access v;
	pthread_t t;

	channel_of(p->b)->ops->quiesce(channel_of(p->b)); /* no access is under way */
	CHECK(enter(p, &v));
	CHECK(pthread_create(&t, NULL, quiesce, &o) == 0);
	while (!atomic_load(&o.began))
		sched_yield();
	for (int i = 0; i < 2000; i++)
		sched_yield();
	CHECK(!atomic_load(&o.done));
	channel_of(p->a)->ops->access_end(channel_of(p->a));
	CHECK(pthread_join(t, NULL) == 0 && atomic_load(&o.done));
	/* A peer that accesses again and again does not hold it up. */
	CHECK(enter(p, &v));
	atomic_store(&o.began, false);
	atomic_store(&o.done, false);
	CHECK(pthread_create(&t, NULL, quiesce, &o) == 0);
	while (!atomic_load(&o.done)) {
		channel_of(p->a)->ops->access_end(channel_of(p->a));
		CHECK(enter(p, &v));
	}
	CHECK(pthread_join(t, NULL) == 0);
	channel_of(p->a)->ops->access_end(channel_of(p->a));
}

/* --- grants that are kept --- */

static struct shm_grant granted(struct pair *p)
{
	struct shm_access v;

	CHECK(enter(p, &v));
	channel_of(p->a)->ops->access_end(channel_of(p->a));
	CHECK(shm_grant_holds(channel_of(p->a), &v.grant));
	return v.grant;
}

static bool enters_again(struct pair *p, const struct shm_grant *g)
{
	bool yes = shm_grant_begin(channel_of(p->a), g);

	CHECK(atomic_load(g->word) >> 32 == (yes ? chan_of(p->b)->page->id : 0));
	if (yes)
		shm_grant_end(g);
	CHECK(!atomic_load(g->word));
	return yes;
}

static void grants(struct pair *p)
{
	struct shm_grant g = granted(p);
	struct shm_area_view v;
	void *area;
	int fd;

	for (int i = 0; i < 2; i++)
		CHECK(enters_again(p, &g));
	channel_of(p->b)->ops->quiesce(channel_of(p->b));
	CHECK(enters_again(p, &g)); /* the revoked key had no area */
	channel_of(p->b)->ops->end_grants(channel_of(p->b));
	CHECK(!enters_again(p, &g));
	g = granted(p);
	CHECK(enters_again(p, &g));
	CHECK(shm_area_make(4096, &area) == 0 && shm_area_find((uintptr_t)area, 4096, &v));
	fd = shm_area_fd(v.id);
	shm_access_attach(chan_of(p->a)->last, v.id, fd);
	CHECK(close(fd) == 0 && !shm_grant_holds(channel_of(p->a), &g));
	CHECK(shm_area_free(area) == 0);
}

/* --- a peer that is killed in the middle of an access --- */

struct inside {
	_Atomic uint32_t qpn; /* the owner's */
	atomic_bool is;
};

static struct link *link_alone(uint16_t port, const uint8_t *addr)
{
	struct link *l;

	l = open_with_channel(port);
	CHECK(l->ops->add_addr(l, addr, 0) == 0);
	shm_channel_messages(channel_of(l), false);
	return l;
}

static void access_for_ever(uint16_t port, struct inside *s)
{
	struct link *l = link_alone(port, LO4);
	struct shm_channel *c = channel_of(l);
	const struct shm_channel_ops *n = c->ops;
	struct shm_reservation at;
	struct shm_access v;
	struct shm_message rx[8];
	uint32_t qpn;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (!(qpn = atomic_load(&s->qpn)))
		sched_yield();
	while (n->reach(c, &THERE, qpn) == SHM_REACH_ASKED)
		take_messages(l, rx, 8);
	CHECK(n->reserve(c, &THERE, qpn, 0, &at) == 0);
	memset(at.header, 0, SHM_CHANNEL_HEADER_BYTES);
	n->commit(c, &at, 0);
	while (!n->access_begin(c, &THERE, qpn, &v))
		sched_yield();
	atomic_store(&s->is, true);
	for (;;)
		pause();
}

static void look(struct link *l)
{
	struct shm_message v[8];

	take_messages(l, v, 8);
	channel_of(l)->ops->release(channel_of(l));
}

/* The dead peer's ring is released, and no thread waits for the end of its access. */
static void killed_inside(uint16_t port)
{
	struct inside *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct link *l;
	pid_t pid;

	CHECK(s != MAP_FAILED);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		access_for_ever(port, s);
	alarm(120); /* the fault would be to stand still */
	l = link_alone(port, (const uint8_t *)SECOND);
	shm_channel_messages(channel_of(l), true);
	atomic_store(&s->qpn, l->qpn_fixed | 0x55);
	while (!atomic_load(&s->is))
		look(l);
	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	CHECK(chan_of(l)->n_rx == 1);
	while (chan_of(l)->n_rx)
		look(l);
	l->ops->close(l);
	alarm(0);
	munmap(s, 4096);
}

int main(void)
{
	uint16_t port = free_port();
	struct shm_access v;
	struct shm_grant g;
	struct pair p;

	if (access("/proc/self/mem", R_OK | W_OK) < 0) {
		printf("/proc/self/mem cannot be opened here\n");
		return 77;
	}
	killed_inside(port);
	pair_open(&p, port, true);
	CHECK(!enter(&p, &v)); /* b has not seen a's page for sure */
	acquaint(&p);
	bytes(&p);
	waits(&p);
	grants(&p);
	by_number(&p);
	p.qpn ^= 1u << 23; /* of another process */
	CHECK(!enter(&p, &v));
	p.qpn ^= 1u << 23;
	CHECK(enter(&p, &v));
	channel_of(p.a)->ops->access_end(channel_of(p.a));
	g = granted(&p);
	p.b->ops->close(p.b);
	CHECK(!shm_grant_begin(channel_of(p.a), &g));
	CHECK(!enter(&p, &v));
	channel_of(p.a)->ops->forget(channel_of(p.a));
	p.a->ops->close(p.a);

	pair_open(&p, port, false);
	acquaint(&p);
	CHECK(!enter(&p, &v));
	close_pair(p.a, p.b);
	return 0;
}

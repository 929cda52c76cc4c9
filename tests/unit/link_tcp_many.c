/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ports and many streams: what may be bound and when, listeners of both families,
 * a thousand streams, no descriptors left, closing with bytes in both
 * directions, failure of each allocation and system call in turn.
 */
#include "link_tcp_util.h"
#include "util/alloc.h"

#include <sys/resource.h>
#include <sys/wait.h>

#define BATCH 1000

static int bind_at(struct link_streams *p, uint16_t port, bool reuse, struct link_listener **l)
{
	struct link_end e = end_of(LO4, port);

	return p->ops->bind(p, &e, reuse, false, l);
}

static void ports(void)
{
	struct link_streams *p = place_open(), *q = place_open();
	struct link_listener *l, *m;
	struct arrivals arrivals = { .n = 0 };
	struct reader e = { 0 };
	struct link_end to;
	uint16_t port;

	/* Bound is taken, with and without listening, in one place and for others. */
	CHECK(bind_at(p, 0, false, &l) == 0);
	port = l->local.port;
	CHECK(bind_at(p, port, false, &m) == -EADDRINUSE);
	CHECK(bind_at(q, port, false, &m) == -EADDRINUSE);
	CHECK(bind_at(q, port, true, &m) == -EADDRINUSE);
	l->user_ops = &arrivals_ops;
	l->user = &arrivals;
	CHECK(p->ops->listen(l, 5) == 0);
	CHECK(bind_at(q, port, false, &m) == -EADDRINUSE);
	CHECK(bind_at(q, port, true, &m) == -EADDRINUSE);

	/* A connection that lives on, or is not forgotten by TCP yet, does not keep it. */
	to = end_of(LO4, port);
	CHECK(q->ops->connect(q, NULL, NULL, &to, -1, &e.s) == 0);
	reader_on(&e, e.s);
	UNTIL2(p, q, e.connected && arrivals.n == 1);
	p->ops->unbind(l);
	CHECK(bind_at(p, port, false, &l) == 0);
	p->ops->unbind(l);
	p->ops->close(arrivals.v[0], false); /* first FIN: TIME_WAIT at the listener's port */
	q->ops->close(e.s, false);
	for (int i = 0; i < 20; i++)
		places_poll(p, q);
	CHECK(bind_at(p, port, false, &l) == 0);
	l->user_ops = &arrivals_ops;
	l->user = &arrivals;
	CHECK(p->ops->listen(l, 0) == 0);

	/* Two that are both for reuse share a port; one that is not does not join. */
	CHECK(bind_at(p, 0, true, &l) == 0);
	CHECK(bind_at(p, l->local.port, true, &m) == 0);
	p->ops->unbind(m);
	CHECK(bind_at(p, l->local.port, false, &m) == -EADDRINUSE);
	p->ops->fini(p);
	q->ops->fini(q);
}

/* The port of a bound listener becomes the source port. */
static void bound_source(void)
{
	struct link_streams *p = place_open();
	struct link_listener *from, *l;
	struct arrivals arrivals = { .n = 0 };
	struct reader e = { 0 };
	struct link_end to;
	uint16_t port;

	l = listen_on(p, LO4, &arrivals);
	CHECK(bind_at(p, 0, false, &from) == 0);
	port = from->local.port;
	to = end_of(LO4, l->local.port);
	CHECK(p->ops->connect(p, l, NULL, &to, -1, &e.s) == -EINVAL);
	CHECK(p->ops->connect(p, from, NULL, &to, 0x20, &e.s) == 0);
	reader_on(&e, e.s);
	UNTIL(p, e.connected && arrivals.n == 1);
	CHECK(e.s->local.port == port && arrivals.v[0]->remote.port == port);
	p->ops->fini(p);
}

/* :: takes IPv4 too unless it is told not to. */
static void both_families(void)
{
	struct link_streams *p = place_open();
	struct link_end any = { 0 }, to;
	struct link_listener *l;
	struct link_stream *s;
	struct arrivals arrivals = { .n = 0 };
	struct reader e = { 0 };

	if (p->ops->bind(p, &any, false, false, &l) < 0) {
		printf("no IPv6: both_families left out\n");
		p->ops->fini(p);
		return;
	}
	l->user_ops = &arrivals_ops;
	l->user = &arrivals;
	CHECK(p->ops->listen(l, 0) == 0);
	to = end_of(LO4, l->local.port);
	CHECK(p->ops->connect(p, NULL, NULL, &to, -1, &s) == 0);
	reader_on(&e, s);
	UNTIL(p, e.connected && arrivals.n == 1);
	CHECK(!memcmp(arrivals.v[0]->remote.addr, LO4, 16));
	p->ops->unbind(l);
	CHECK(p->ops->bind(p, &any, false, true, &l) == 0);
	CHECK(p->ops->listen(l, 0) == 0);
	to = end_of(LO4, l->local.port);
	CHECK(p->ops->connect(p, NULL, NULL, &to, -1, &s) == 0);
	e = (struct reader){ 0 };
	reader_on(&e, s);
	UNTIL(p, e.closed);
	CHECK(e.error == ECONNREFUSED);
	p->ops->fini(p);
}

static void batch(void)
{
	static struct reader a[BATCH], b[BATCH];
	static struct arrivals arrivals;
	struct link_streams *p = place_open(), *q = place_open();
	struct link_listener *l = listen_on(q, LO4, &arrivals);
	struct link_end to = end_of(LO4, l->local.port);
	unsigned connected = 0, done;

	arrivals.n = 0;
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b));
	for (int i = 0; i < BATCH; i++) {
		CHECK(p->ops->connect(p, NULL, NULL, &to, -1, &a[i].s) == 0);
		reader_on(&a[i], a[i].s);
		if (i % 100 == 99)
			UNTIL2(p, q, arrivals.n == i + 1);
	}
	for (int i = 0; i < BATCH; i++)
		reader_on(&b[i], arrivals.v[i]);
	UNTIL2(p, q, ({ connected = 0;
			for (int i = 0; i < BATCH; i++)
				connected += a[i].connected;
			connected == BATCH; }));
	for (int i = 0; i < BATCH; i++) {
		a[i].frame = b[i].frame = 100;
		CHECK(send_some(a[i].s, 0, 350) == 350);
		CHECK(send_some(b[i].s, 0, 250) == 250);
	}
	for (int i = 0; i < BATCH; i++)
		CHECK(send_some(a[i].s, 350, 50) == 50);
	UNTIL2(p, q, ({ done = 0;
			for (int i = 0; i < BATCH; i++)
				done += b[i].got == 400 && a[i].got == 200;
			done == BATCH; }));
	/* Close every second one here, the others there, while they hear of it. */
	for (int i = 0; i < BATCH; i++)
		(i % 2 ? p : q)->ops->close(i % 2 ? a[i].s : b[i].s, i % 3 == 0);
	UNTIL2(p, q, ({ done = 0;
			for (int i = 0; i < BATCH; i++)
				done += (i % 2 ? b : a)[i].closed;
			done == BATCH; }));
	p->ops->fini(p);
	q->ops->fini(q);
}

/* Without descriptors connections wait; nothing spins, nothing is lost. */
static void no_descriptors(void)
{
	struct link_streams *p = place_open(), *q = place_open();
	struct arrivals arrivals = { .n = 0 };
	struct link_listener *l = listen_on(q, LO4, &arrivals);
	struct link_end to = end_of(LO4, l->local.port);
	int held[64], n_held = 0;
	struct rlimit old, tight;
	struct reader e[8] = { { 0 } };
	unsigned polls = 0;
	uint64_t end;

	for (int i = 0; i < 8; i++) {
		CHECK(p->ops->connect(p, NULL, NULL, &to, -1, &e[i].s) == 0);
		reader_on(&e[i], e[i].s);
	}
	CHECK(getrlimit(RLIMIT_NOFILE, &old) == 0);
	tight = old;
	tight.rlim_cur = (rlim_t)open_fds() + 20;
	CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
	while (n_held < 64 && (held[n_held] = dup(0)) >= 0)
		n_held++;
	end = ut_now() + 350 * UT_MS;
	while (ut_now() < end) {
		places_poll(p, q);
		places_sleep(p, q);
		polls++;
	}
	CHECK_MSG(arrivals.n == 0 && polls < 100, "%d came, %u polls", arrivals.n, polls);
	CHECK(setrlimit(RLIMIT_NOFILE, &old) == 0);
	while (n_held)
		close(held[--n_held]);
	UNTIL2(p, q, arrivals.n == 8);
	p->ops->fini(p);
	q->ops->fini(q);
}

/*
 * The last bytes reach a peer that is still sending and reads late: without
 * draining, its unread bytes would turn our FIN into a reset that takes them.
 */
static void last_words(bool by_fini)
{
	struct link_streams *p = place_open(), *q = place_open();
	struct reader ra = { 0 }, rb = { 0 };
	uint64_t sent = 0;

	pair_make(p, q, LO4, &ra, &rb);
	p->ops->pause(ra.s, true);
	q->ops->pause(rb.s, true);
	CHECK(send_some(rb.s, 0, 5000) == 5000); /* unread when we close */
	CHECK(send_some(ra.s, 0, 3000) == 3000);
	sent = 3000;
	p->ops->close(ra.s, false);
	for (int i = 0; i < 20; i++) {
		CHECK(send_some(rb.s, 5000, 5000) == 5000);
		if (!by_fini)
			places_poll(p, NULL);
	}
	if (by_fini)
		p->ops->fini(p);
	q->ops->pause(rb.s, false);
	UNTIL(q, rb.closed);
	CHECK(rb.got == sent);
	if (!by_fini) {
		CHECK(rb.error == 0 && p->ops->deadline(p) != UT_NEVER);
		/* The peer never ends: the time limit does. */
		UNTIL(p, p->ops->deadline(p) == UT_NEVER);
		p->ops->fini(p);
	}
	q->ops->fini(q);
}

/* The child closes everything and disturbs no other process. */
static void forgotten(void)
{
	struct link_streams *p = place_open();
	struct reader ra = { 0 }, rb = { 0 };
	struct arrivals arrivals = { .n = 0 };
	int before = open_fds();
	int status;
	pid_t pid;

	pair_make(p, p, LO4, &ra, &rb);
	listen_on(p, LO4, &arrivals);
	p->ops->pause(rb.s, true); /* not in the set */
	places_poll(p, NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		int all = open_fds();

		p->ops->forget(p);
		/* two ends, a listener, epoll, the stage; local: the wake fd, the wake fd, and as a peer's the same */
		_exit(open_fds() == all - (ra.s->shm ? 8 : 5) && all >= before ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	p->ops->pause(rb.s, false);
	CHECK(send_some(ra.s, 0, 10) == 10);
	UNTIL(p, rb.got == 10);
	p->ops->fini(p);
}

static bool whole_life(void)
{
	struct link_end at = end_of(LO4, 0), to;
	struct arrivals arrivals = { .n = 0 };
	struct reader ra = { .frame = 7 }, rb = { .frame = 7 };
	struct link_listener *l;
	struct link_streams *p;
	bool good = false;

	if (tcp_open(0, &p) < 0)
		return false;
#ifdef LOCAL
	if (local_streams_open(p, LOCAL_CONNECTED | LOCAL_SELF, &p) < 0)
		goto out;
#endif
	if (p->ops->bind(p, &at, false, false, &l) < 0)
		goto out;
	l->user_ops = &arrivals_ops;
	l->user = &arrivals;
	if (p->ops->listen(l, 0) < 0)
		goto out;
	to = end_of(LO4, l->local.port);
	if (p->ops->connect(p, NULL, NULL, &to, -1, &ra.s) < 0)
		goto out;
	reader_on(&ra, ra.s);
	UNTIL(p, ra.closed || (ra.connected && arrivals.n));
	if (ra.closed)
		goto out;
	reader_on(&rb, arrivals.v[0]);
#ifdef LOCAL
	p->ops->local(rb.s, false);
	p->ops->local(ra.s, true);
	/* Or on the wire, for want of anything. */
	UNTIL(p, ra.closed || rb.closed || p->ops->room(ra.s));
	UNTIL(p, ra.closed || rb.closed || p->ops->room(rb.s));
	if (!ra.closed && !rb.closed)
		CHECK(ra.s->shm == rb.s->shm);
#endif
	for (int i = 0; i < 3 && !ra.closed && !rb.closed; i++) {
		/* An event that a planted fault kept back does not come. */
		if (send_some(ra.s, (uint64_t)i * 10, 10) != 10 ||
		    send_some(rb.s, (uint64_t)i * 10, 10) != 10)
			goto out;
		UNTIL(p, rb.closed || ra.closed ||
			 (rb.got == (i + 1) * 10u / 7 * 7 && ra.got == (i + 1) * 10u / 7 * 7));
		p->ops->pause(rb.s, true);
		p->ops->pause(rb.s, false);
	}
	good = !ra.closed && !rb.closed;
out:
	p->ops->fini(p);
	return good;
}

/* Each in turn fails once; nothing crashes, hangs or stays open. */
static void faults(void)
{
	int before = open_fds();
	unsigned n;
	bool good = false;

	for (n = 1; n < 400; n++) {
		ut_fault_arm(n, 0);
		good = whole_life();
		ut_fault_arm(0, 0);
		CHECK_MSG(open_fds() == before, "after fault %u", n);
		if (good && n > 40)
			break;
	}
	CHECK(good);
}

/* --- an end comes after what was there before it --- */

#define GREETERS 200

static struct reader greeter[2][GREETERS], leaver[2];
static int heard_before_end;

static void leaver_closed(struct link_stream *s, int error, uint64_t now)
{
	for (int i = 0; i < GREETERS; i++)
		heard_before_end += greeter[1][i].got == 1;
	reader_closed(s, error, now);
}

static void leave_and_listen(struct link_streams *p, struct link_streams *q)
{
	heard_before_end = 0;
	for (int i = 0; i < GREETERS; i++)
		CHECK(send_some(greeter[0][i].s, 0, 1) == 1);
	q->ops->close(leaver[0].s, false);
	UNTIL(p, leaver[1].closed);
	CHECK_MSG(heard_before_end == GREETERS, "%d of %d", heard_before_end, GREETERS);
}

/* lately: the one that leaves was read just before, and is looked at before all others. */
static void end_in_turn(bool lately)
{
	static const struct link_stream_user ops = { reader_received, reader_received_shm, reader_writable, reader_connected,
						     leaver_closed };
	struct link_streams *p = place_open(), *q = place_open();

	memset(greeter, 0, sizeof(greeter));
	memset(leaver, 0, sizeof(leaver));
	pair_make(q, p, LO4, &leaver[0], &leaver[1]);
	for (int i = 0; i < GREETERS; i++)
		pair_make(q, p, LO4, &greeter[0][i], &greeter[1][i]);
	leaver[1].s->user_ops = &ops;
	if (lately) {
		CHECK(send_some(leaver[0].s, 0, 1) == 1);
		UNTIL(p, leaver[1].got == 1);
		/* Until it is read without a look at the others. */
		for (int i = 0; i < 20; i++)
			places_poll(p, NULL);
	}
	leave_and_listen(p, q);
	p->ops->fini(p);
	q->ops->fini(q);
}

int main(void)
{
	end_in_turn(false);
	end_in_turn(true);
	struct rlimit r;

	CHECK(getrlimit(RLIMIT_NOFILE, &r) == 0);
	if (r.rlim_cur < 2 * BATCH + 100) {
		r.rlim_cur = r.rlim_max < 4096 ? r.rlim_max : 4096;
		CHECK(setrlimit(RLIMIT_NOFILE, &r) == 0);
	}
	ports();
	bound_source();
	both_families();
	if (r.rlim_cur >= 2 * BATCH + 100)
		batch();
	else
		printf("at most %lu descriptors: the batch was left out\n",
		       (unsigned long)r.rlim_cur);
	no_descriptors();
	last_words(false);
	last_words(true);
	forgotten();
	faults();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two ends leave the wire, with the active end by hand: it withdraws, wakes early or late,
 * dies, sends false bytes, or is a foreign process. In each case the bytes arrive as they were
 * sent, or the stream ends.
 */
#include "link_local_util.h"

#include "link/local/place.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

struct hand {
	int tcp, call;
	int wake_fd, theirs; /* -1: none */
	struct hello h;
	struct shm_pipe pipe;
	struct link_streams *p;
	struct reader e;
};

static int connect_at(const struct link_end *at)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(at, &sun);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&sun, n) == 0);
	return fd;
}

/* A connection that was offered. */
static void hand_connect(struct hand *t)
{
	struct arrivals arrivals = { .n = 0 };
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct link_listener *l;

	*t = (struct hand){ .p = local_open(), .call = -1, .wake_fd = -1, .theirs = -1 };
	l = listen_on(t->p, LO4, &arrivals);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sa.sin_port = htons(l->local.port);
	t->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(t->tcp, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	UNTIL(t->p, arrivals.n == 1);
	reader_on(&t->e, arrivals.v[0]);
	t->p->ops->local(t->e.s, false);
	/* The rendezvous listener lives as long as the offer. */
	t->p->ops->unbind(l);
	t->h = (struct hello){ .magic = HELLO_MAGIC, .from_port = t->e.s->remote.port,
			       .to_port = t->e.s->local.port };
	memcpy(t->h.from, t->e.s->remote.addr, 16);
	memcpy(t->h.to, t->e.s->local.addr, 16);
}

#define NO_WAKE_FD 13 /* names something else: a write to it would end this process */

static int broken_pipe(void)
{
	int ends[2];

	CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
	close(ends[0]);
	return ends[1];
}

/* ... and whose segments have been exchanged; id: of a wake fd, or 0. */
static void hand_answered_with(struct hand *t, uint64_t id)
{
	int mine[2], theirs[2];

	hand_connect(t);
	t->call = connect_at(&t->e.s->local);
	if (id == NO_WAKE_FD)
		t->wake_fd = broken_pipe();
	else if (id)
		t->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	mine[0] = shm_pipe_make(&t->pipe);
	mine[1] = t->wake_fd;
	CHECK(mine[0] >= 0);
	t->pipe.own->wake_fd = id;
	give_all(t->call, &t->h, sizeof(t->h), mine, id ? 2 : 1);
	close(mine[0]);
	for (;;) {
		struct pollfd f = { t->call, POLLIN, 0 };

		places_poll(t->p, NULL);
		if (poll(&f, 1, 0) == 1)
			break;
		places_sleep(t->p, NULL);
	}
	take_both(t->call, theirs);
	CHECK(theirs[0] >= 0 && shm_pipe_join(&t->pipe, theirs[0]) == 0);
	close(theirs[0]);
	t->theirs = theirs[1];
	/* It is bound now: a byte of its own waits for the decision. */
	CHECK(t->p->ops->room(t->e.s) == 0 && send_some(t->e.s, 0, 10) == 0);
}

static void hand_answered(struct hand *t)
{
	hand_answered_with(t, 0);
}

static void hand_open_with(struct hand *t, uint64_t id)
{
	hand_answered_with(t, id);
	atomic_store(&t->pipe.own->open, 1);
	close(t->call);
	t->call = -1;
	UNTIL(t->p, t->e.s->shm && t->e.writable);
}

static void hand_open(struct hand *t)
{
	hand_open_with(t, 0);
}

static void hand_over(struct hand *t)
{
	shm_pipe_fini(&t->pipe);
	if (t->wake_fd >= 0)
		close(t->wake_fd);
	if (t->theirs >= 0)
		close(t->theirs);
	if (t->call >= 0)
		close(t->call);
	if (t->tcp >= 0)
		close(t->tcp);
	t->p->ops->fini(t->p);
}

static void put(struct hand *t, uint64_t at, size_t n)
{
	uint8_t *to = shm_pipe_at(&t->pipe);

	for (size_t i = 0; i < n; i++)
		to[i] = pattern(at + i);
	if (shm_pipe_commit(&t->pipe, n))
		CHECK(send(t->tcp, "", 1, 0) == 1);
}

static void tcp_put(struct hand *t, uint64_t at, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = pattern(at + i);

		CHECK(send(t->tcp, &c, 1, 0) == 1);
	}
}

/* The peer withdraws when it has all descriptors. */
static void gives_up(void)
{
	struct hand t;

	hand_answered(&t);
	close(t.call);
	t.call = -1;
	UNTIL(t.p, t.e.writable);
	tcp_put(&t, 0, 300);
	UNTIL(t.p, t.e.got == 300);
	CHECK(!t.e.s->shm && !t.e.local_shows);
	hand_over(&t);
	/* Its rendezvous connection still stands, and its first byte by TCP ends the offer. */
	hand_answered(&t);
	tcp_put(&t, 0, 1);
	UNTIL(t.p, t.e.got == 1 && t.e.writable);
	CHECK(!t.e.s->shm && send_some(t.e.s, 0, 10) == 10);
	hand_over(&t);
}

/* A byte by TCP behind `open` is a wake-up, whatever was seen first. */
static void early_wake(void)
{
	struct hand t;

	hand_answered(&t);
	atomic_store(&t.pipe.own->open, 1);
	put(&t, 0, 100);
	CHECK(send(t.tcp, "x", 1, 0) == 1);
	UNTIL(t.p, t.e.got == 100);
	CHECK(t.e.s->shm && t.e.shows == t.e.local_shows);
	hand_over(&t);
}

/* A wake-up for bytes that were read before this sleep began counts for this sleep nevertheless;
 * the next bytes wake again. */
static void late_wake(void)
{
	struct hand t;

	hand_open(&t);
	for (uint64_t i = 0; i < 50; i++) {
		put(&t, i * 10, 10);
		UNTIL(t.p, t.e.got == i * 10 + 10);
		/* Between the bytes and the look at `asleep` the writer was interrupted. */
		t.pipe.rung = atomic_load(&t.pipe.peer->asleep);
		CHECK(t.pipe.rung && send(t.tcp, "", 1, 0) == 1);
		UNTIL(t.p, atomic_load(&t.pipe.peer->asleep) != t.pipe.rung);
	}
	hand_over(&t);
}

static uint64_t writes(int wake_fd)
{
	uint64_t n = 0;

	return read(wake_fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static bool has_byte(int tcp)
{
	uint8_t c;

	return recv(tcp, &c, 1, MSG_DONTWAIT) == 1;
}

static void fall_asleep(struct hand *t)
{
	UNTIL(t->p, shm_pipe_sleeps(&t->pipe) || atomic_load(&t->pipe.peer->asleep));
}

/* A place that sleeps is woken by its wake fd alone, without a byte; and writes that of a peer that allows it and has one. */
static void wake_fds(void)
{
	const uint64_t full = UINT64_MAX - 1, one = 1;
	struct hand t;
	unsigned asleep;

	hand_open_with(&t, 7);
	CHECK(t.theirs >= 0 && t.pipe.peer->wake_fd && t.pipe.peer->wake_fd != 7);
	for (uint64_t i = 0; i < 50; i++) {
		fall_asleep(&t);
		for (int k = 0; k < 10; k++)
			shm_pipe_at(&t.pipe)[k] = pattern(i * 10 + (uint64_t)k);
		asleep = shm_pipe_commit(&t.pipe, 10);
		CHECK(asleep == (SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD));
		CHECK(write(t.theirs, &one, sizeof(one)) == sizeof(one));
		UNTIL(t.p, t.e.got == i * 10 + 10);
	}
	/* A late write ends the sleep that it was not meant for, as a late byte does. */
	fall_asleep(&t);
	t.pipe.rung = atomic_load(&t.pipe.peer->asleep);
	CHECK(write(t.theirs, &one, sizeof(one)) == sizeof(one));
	UNTIL(t.p, atomic_load(&t.pipe.peer->asleep) != t.pipe.rung);
	/* The other way. */
	shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD);
	CHECK(send_some(t.e.s, 0, 10) == 10 && send_some(t.e.s, 10, 10) == 10);
	CHECK(writes(t.wake_fd) == 1 && !has_byte(t.tcp));
	shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS);
	CHECK(send_some(t.e.s, 20, 10) == 10 && writes(t.wake_fd) == 0 && has_byte(t.tcp));
	/* One that is full shows no write. */
	CHECK(write(t.wake_fd, &full, sizeof(full)) == sizeof(full));
	shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD);
	CHECK(send_some(t.e.s, 30, 10) == 10 && writes(t.wake_fd) == full && has_byte(t.tcp));
	hand_over(&t);
	/* A peer that allows a wake fd and gave none, or something else. */
	for (int i = 0; i < 2; i++) {
		hand_open_with(&t, i ? NO_WAKE_FD : 0);
		shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD);
		CHECK(send_some(t.e.s, 0, 10) == 10 && has_byte(t.tcp));
		hand_over(&t);
	}
}

/* The owner sleeps on the set, and has been woken: it takes the events, whichever they are. */
static void sleep_on_set(struct hand *t, int events)
{
	struct epoll_event v[8];

	CHECK(epoll_wait(t->p->ops->fd(t->p), v, 8, events ? 10000 : 0) == events);
}

static int peek(struct hand *t, bool woken)
{
	int r;

	t->p->woken = woken;
	r = t->p->ops->peek(t->p);
	t->p->woken = false;
	return r;
}

static void poll_woken(struct hand *t)
{
	t->p->woken = true;
	places_poll(t->p, NULL);
	t->p->woken = false;
}

static void put_by_wake_fd(struct hand *t, uint64_t at, unsigned n)
{
	const uint64_t one = 1;

	for (unsigned k = 0; k < n; k++)
		shm_pipe_at(&t->pipe)[k] = pattern(at + k);
	CHECK(shm_pipe_commit(&t->pipe, n) == (SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD));
	CHECK(write(t->theirs, &one, sizeof(one)) == sizeof(one));
}

/* An owner that was woken from its sleep on the set takes the message in without a round, and without a read of the wake fd. */
static void woken(void)
{
	const uint64_t one = 1;
	struct hand t;
	uint32_t asleep;

	hand_open_with(&t, 7);
	fall_asleep(&t);
	sleep_on_set(&t, 0);
	CHECK(writes(t.theirs) == 0);
	for (uint64_t i = 0; i < 50; i++) {
		asleep = atomic_load(&t.pipe.peer->asleep);
		put_by_wake_fd(&t, i * 10, 10);
		CHECK(peek(&t, false) == -EAGAIN && t.e.got == i * 10);
		sleep_on_set(&t, 1);
		CHECK(peek(&t, true) == 1 && t.e.got == i * 10 + 10);
		CHECK(!atomic_load(&t.pipe.peer->asleep));
		/* The round before the next sleep finds nothing, and the sleep is a new one; the write does not show again. */
		poll_woken(&t);
		CHECK(atomic_load(&t.pipe.peer->asleep) && atomic_load(&t.pipe.peer->asleep) != asleep);
		sleep_on_set(&t, 0);
	}
	CHECK(writes(t.theirs) == 50);
	/* A late write ends the sleep that it was not meant for though nothing has come. The event was taken. */
	asleep = t.pipe.rung = atomic_load(&t.pipe.peer->asleep);
	CHECK(write(t.theirs, &one, sizeof(one)) == sizeof(one));
	sleep_on_set(&t, 1);
	CHECK(peek(&t, true) == -EAGAIN);
	poll_woken(&t);
	CHECK(atomic_load(&t.pipe.peer->asleep) && atomic_load(&t.pipe.peer->asleep) != asleep);
	put_by_wake_fd(&t, 500, 10);
	sleep_on_set(&t, 1);
	CHECK(peek(&t, true) == 1 && t.e.got == 510);
	/* Bytes that a round finds before their write comes: that is read, or ends the next sleep. */
	poll_woken(&t);
	put_by_wake_fd(&t, 510, 10);
	UNTIL(t.p, t.e.got == 520);
	fall_asleep(&t);
	sleep_on_set(&t, 0);
	hand_over(&t);
}

/* The wake fd does not say for which stream it was written: one has bytes, and the late write for the other counts too. */
static void woken_for_two(void)
{
	struct link_streams *p = local_open(), *q = local_open();
	struct reader ra[2] = { 0 }, rb[2] = { 0 };
	struct epoll_event v[8];
	uint32_t asleep[2];

	for (int i = 0; i < 2; i++) {
		pair_make(p, q, LO4, &ra[i], &rb[i]);
		q->ops->local(rb[i].s, false);
		p->ops->local(ra[i].s, true);
		UNTIL2(p, q, ra[i].s->shm && rb[i].s->shm);
	}
	for (int i = 0; i < 4; i++)
		places_poll(p, q);
	epoll_wait(q->ops->fd(q), v, 8, 0);
	for (int i = 0; i < 2; i++)
		asleep[i] = atomic_load(&local_stream_of(rb[i].s)->shm->pipe.own->asleep);
	CHECK(asleep[0] && asleep[1] && send_some(ra[0].s, 0, 1) == 1);
	CHECK(epoll_wait(q->ops->fd(q), v, 8, 10000) == 1);
	q->woken = true;
	CHECK(q->ops->peek(q) == 1 && rb[0].got == 1);
	/* The other one sleeps until the round. */
	CHECK(atomic_load(&local_stream_of(rb[1].s)->shm->pipe.own->asleep) == asleep[1]);
	q->ops->poll(q, ut_now());
	q->woken = false;
	for (int i = 0; i < 2; i++)
		CHECK(atomic_load(&local_stream_of(rb[i].s)->shm->pipe.own->asleep) != asleep[i]);
	p->ops->fini(p);
	q->ops->fini(q);
}

/* More streams than may sleep by the wake fd: the others by bytes, and one descriptor of the peer's for all. */
static void many_wake_fds(void)
{
	enum { PAIRS = 24 };
	struct link_streams *p = local_open(), *q = local_open();
	struct reader ra[PAIRS] = { 0 }, rb[PAIRS] = { 0 };
	unsigned before = 0, after;

	for (int i = 0; i < PAIRS; i++) {
		pair_make(p, q, LO4, &ra[i], &rb[i]);
		q->ops->local(rb[i].s, false);
		p->ops->local(ra[i].s, true);
		UNTIL2(p, q, ra[i].s->shm && rb[i].s->shm);
		after = open_fds();
		/* two sockets; the wake fds came with the first */
		CHECK(!before || after <= before + 2);
		before = after;
	}
	for (uint64_t n = 1; n <= 20; n++) {
		places_poll(p, q);
		places_sleep(p, q);
		for (int i = 0; i < PAIRS; i++)
			CHECK(send_some(i & 1 ? ra[i].s : rb[i].s, n - 1, 1) == 1);
		for (int i = 0; i < PAIRS; i++)
			UNTIL2(p, q, (i & 1 ? rb[i] : ra[i]).got == n);
	}
	p->ops->fini(p);
	q->ops->fini(q);
}

/* It dies after no message, all messages, or half of one. */
static void dies(void)
{
	struct hand t;

	hand_connect(&t);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	hand_over(&t);

	hand_connect(&t);
	t.call = connect_at(&t.e.s->local);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	hand_over(&t);

	hand_answered(&t);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.error == 0);
	hand_over(&t);

	/* All bytes in the ring were sent. */
	hand_open(&t);
	put(&t, 0, 1000);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.got == 1000 && t.e.error == 0 && t.e.closed == 1);
	hand_over(&t);

	hand_answered(&t);
	atomic_store(&t.pipe.own->open, 1);
	put(&t, 0, 1000);
	setsockopt(t.tcp, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.got == 1000 && t.e.error == ECONNRESET);
	hand_over(&t);
}

/* A segment into which its owner writes any bytes. */
static void liars(void)
{
	static const uint64_t tails[] = { SHM_PIPE_BYTES + 1, UINT64_MAX, 1ull << 63 };
	struct hand t;

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		hand_open(&t);
		atomic_store(&t.pipe.own->tail, tails[i]);
		CHECK(send(t.tcp, "", 1, 0) == 1);
		UNTIL(t.p, t.e.closed);
		CHECK(t.e.error == EPROTO && t.e.got == 0);
		hand_over(&t);
	}
	/* A head beyond the bytes that were sent gives no room. */
	hand_open(&t);
	CHECK(send_some(t.e.s, 0, 1 << 20) == SHM_PIPE_BYTES);
	atomic_store(&t.pipe.own->head, 1ull << 40);
	CHECK(send(t.tcp, "", 1, 0) == 1);
	for (int i = 0; i < 50; i++)
		places_poll(t.p, NULL);
	CHECK(t.p->ops->room(t.e.s) == 0 && send_some(t.e.s, SHM_PIPE_BYTES, 1) == 0);
	/* A true one does. */
	t.e.writable = 0;
	shm_pipe_consume(&t.pipe, SHM_PIPE_BYTES);
	CHECK(send(t.tcp, "", 1, 0) == 1);
	UNTIL(t.p, t.e.writable);
	CHECK(send_some(t.e.s, SHM_PIPE_BYTES, 1) == 1);
	hand_over(&t);
	/* A peer that sleeps again for each byte is woken each time, and its socket fills: its own loss. */
	hand_open(&t);
	for (int i = 0; i < 100000; i++) {
		shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS | SHM_PIPE_ROOM);
		CHECK(send_some(t.e.s, (uint64_t)i, 1) == 1);
		shm_pipe_consume(&t.pipe, 1);
	}
	hand_over(&t);
}

/* A peer that sends something else than a hello, or names another connection. */
static void strangers(void)
{
	struct link_streams *a = local_open();
	struct reader ra = { 0 };
	struct hand t;
	int conns[40];

	hand_connect(&t);
	for (int i = 0; i < 40; i++) {
		struct hello h = t.h;
		int bad = bad_segment(i % 5);

		conns[i] = connect_at(&t.e.s->local);
		h.magic += i % 7 == 0;
		h.from_port = (uint16_t)(h.from_port + i + 1);
		h.from[i % 16] ^= (uint8_t)(i & 8);
		if (i % 3)
			give(conns[i], &h, i % 4 ? sizeof(h) : 3, bad);
		close(bad);
		places_poll(t.p, NULL);
	}
	CHECK(!t.e.closed && !t.e.s->shm);
	for (int i = 0; i < 40; i++)
		close(conns[i]);
	hand_over(&t);
	/* For the right one, with a wrong segment: it stays on TCP. */
	hand_connect(&t);
	conns[0] = connect_at(&t.e.s->local);
	conns[1] = bad_segment(NO_PIPE);
	give(conns[0], &t.h, sizeof(t.h), conns[1]);
	tcp_put(&t, 0, 10);
	UNTIL(t.p, t.e.got == 10);
	CHECK(!t.e.s->shm && send_some(t.e.s, 0, 10) == 10);
	close(conns[0]);
	close(conns[1]);
	hand_over(&t);
	(void)ra;
	a->ops->fini(a);
}

int main(void)
{
	gives_up();
	early_wake();
	late_wake();
	wake_fds();
	woken();
	woken_for_two();
	many_wake_fds();
	dies();
	liars();
	strangers();
	return 0;
}

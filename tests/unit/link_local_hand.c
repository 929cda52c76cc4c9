/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two ends leave the wire, with the active end by hand: it withdraws, wakes early or late,
 * dies, sends false bytes, or is a foreign process. In each case the bytes arrive as they were
 * sent, or the stream ends.
 */
#include "link_local_util.h"

#include <string.h>

struct hand {
	int tcp, call;
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

	*t = (struct hand){ .p = local_open(), .call = -1 };
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

/* ... and whose segments have been exchanged. */
static void hand_answered(struct hand *t)
{
	int mine, theirs;

	hand_connect(t);
	t->call = connect_at(&t->e.s->local);
	mine = shm_pipe_make(&t->pipe);
	CHECK(mine >= 0);
	give(t->call, &t->h, sizeof(t->h), mine);
	close(mine);
	for (;;) {
		struct pollfd f = { t->call, POLLIN, 0 };

		places_poll(t->p, NULL);
		if (poll(&f, 1, 0) == 1)
			break;
		places_sleep(t->p, NULL);
	}
	theirs = taken(t->call);
	CHECK(theirs >= 0 && shm_pipe_join(&t->pipe, theirs) == 0);
	close(theirs);
	/* It is bound now: a byte of its own waits for the decision. */
	CHECK(t->p->ops->room(t->e.s) == 0 && send_some(t->e.s, 0, 10) == 0);
}

static void hand_open(struct hand *t)
{
	hand_answered(t);
	atomic_store(&t->pipe.own->open, 1);
	close(t->call);
	t->call = -1;
	UNTIL(t->p, t->e.s->shm && t->e.writable);
}

static void hand_over(struct hand *t)
{
	shm_pipe_fini(&t->pipe);
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
	dies();
	liars();
	strangers();
	return 0;
}

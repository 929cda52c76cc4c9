/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two ends leave the wire (link/tcp/agree.c), and each way in which that comes to nothing: nobody
 * is there, somebody else is, the other end speaks first, changes its mind, lies or dies. Whatever
 * happens, the bytes come as they were sent, or the stream ends.
 */
#include "link_tcp_util.h"

#include "link/shm/pipe.h"
#include "link/tcp/local.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>
#include <sys/wait.h>

/* As in link/tcp/local.h. */
struct hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};
#define HELLO_MAGIC 0x44504931u

static struct link_streams *near_open(void)
{
	struct link_streams *p = place_open();

	CHECK(tcp_go_near(p, TCP_NEAR_CONNECTED | TCP_NEAR_SELF) == 0);
	return p;
}

static socklen_t name_of(const struct link_end *e, struct sockaddr_un *ret)
{
	char *at = ret->sun_path + 1;
	int n = sprintf(at, "dapple-iw/");

	ret->sun_family = AF_UNIX;
	ret->sun_path[0] = 0;
	for (int i = 0; i < 16; i++)
		n += sprintf(at + n, "%02x", e->addr[i]);
	n += sprintf(at + n, "/%u", e->port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

/* Bytes both ways, by the way that was found. */
static void talk(struct link_streams *a, struct link_streams *b, struct ear *ea, struct ear *eb,
		 bool near)
{
	uint64_t from_a = eb->got, from_b = ea->got;

	for (int i = 0; i < 3; i++) {
		while (!send_some(ea->s, from_a, 5000))
			UNTIL2(a, b, ea->writable);
		from_a += 5000;
		UNTIL2(a, b, eb->got == from_a);
		CHECK(send_some(eb->s, from_b, 777) == 777);
		from_b += 777;
		UNTIL2(a, b, ea->got == from_b);
	}
	CHECK(ea->s->near == near && eb->s->near == near);
	CHECK(!near == !ea->near_shows && !near == !eb->near_shows);
	a->ops->close(ea->s, false);
	UNTIL2(a, b, eb->closed);
	CHECK(eb->error == 0);
	b->ops->close(eb->s, false);
}

static void agreed(void)
{
	struct link_streams *a = near_open(), *b = near_open();
	struct ear ea = { 0 }, eb = { 0 };

	for (int i = 0; i < 3; i++) {
		ea = eb = (struct ear){ 0 };
		pair_make(a, b, LO4, &ea, &eb);
		b->ops->near(eb.s, false);
		a->ops->near(ea.s, true);
		talk(a, b, &ea, &eb, true);
	}
	a->ops->fini(a);
	b->ops->fini(b);
}

/* The other end does not want it, or cannot. */
static void nobody(void)
{
	struct link_streams *a = near_open(), *b = place_open();
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->near(eb.s, false);
	a->ops->near(ea.s, true);
	CHECK(a->ops->room(ea.s));
	talk(a, b, &ea, &eb, false);
	ea = eb = (struct ear){ 0 };
	pair_make(b, a, LO4, &ea, &eb);
	a->ops->near(eb.s, false);
	talk(b, a, &ea, &eb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

static int squat(const struct link_end *at)
{
	struct sockaddr_un sun;
	socklen_t n = name_of(at, &sun);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&sun, n) == 0 && listen(fd, 8) == 0);
	return fd;
}

/* Somebody has the name and says nothing: the patience ends, what waited goes by TCP. */
static void silent(void)
{
	struct link_streams *a = near_open(), *b = near_open();
	struct ear ea = { 0 }, eb = { 0 };
	int fd;

	pair_make(a, b, LO4, &ea, &eb);
	fd = squat(&eb.s->local);
	b->ops->near(eb.s, false);
	a->ops->near(ea.s, true);
	CHECK(a->ops->room(ea.s) == 0 && send_some(ea.s, 0, 100) == 0);
	CHECK(a->ops->deadline(a) != UT_NEVER);
	UNTIL2(a, b, ea.writable);
	talk(a, b, &ea, &eb, false);
	close(fd);
	a->ops->fini(a);
	b->ops->fini(b);
}

static void give(int to, const void *p, size_t len, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (void *)p, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control;
		m.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	CHECK(sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)len);
}

/* A descriptor that was given with a hello; -1: the other end has hung up. */
static int taken(int from)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct hello h;
	struct iovec iov = { &h, sizeof(h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t r = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	int fd;

	if (r <= 0)
		return -1;
	CHECK(r == (ssize_t)sizeof(h) && h.magic == HELLO_MAGIC && CMSG_FIRSTHDR(&m));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

enum { NO_FD, NOT_SEALED, TOO_SHORT, NO_PIPE, NO_MEMFD, LIES };

/* Segments that are none. */
static int bad_segment(int how)
{
	int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | 0x10, fd;

	if (how == NO_FD)
		return -1;
	if (how == NO_MEMFD)
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(fd >= 0);
	CHECK(ftruncate(fd, how == TOO_SHORT ? 4096
					     : (off_t)(sysconf(_SC_PAGESIZE) + SHM_PIPE_BYTES)) == 0);
	if (how != NOT_SEALED)
		CHECK(fcntl(fd, F_ADD_SEALS, all) == 0);
	return fd;
}

/* Somebody has the name and answers nonsense. */
static void bad_answer(int how)
{
	struct link_streams *a = near_open(), *b = place_open();
	struct hello h = { .magic = how == LIES ? 77 : HELLO_MAGIC };
	struct ear ea = { 0 }, eb = { 0 };
	int fd, call, bad = bad_segment(how);

	pair_make(a, b, LO4, &ea, &eb);
	fd = squat(&eb.s->local);
	a->ops->near(ea.s, true);
	CHECK(send_some(ea.s, 0, 100) == 0);
	call = accept(fd, NULL, NULL);
	give(call, &h, sizeof(h), bad);
	UNTIL2(a, b, ea.writable);
	talk(a, b, &ea, &eb, false);
	close(call);
	close(fd);
	close(bad);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* --- the active end by hand --- */

struct hand {
	int tcp, call;
	struct hello h;
	struct shm_pipe pipe;
	struct link_streams *p;
	struct ear e;
};

static int knock(const struct link_end *at)
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
	struct porch porch = { .n = 0 };
	struct sockaddr_in sa = { .sin_family = AF_INET };
	struct link_listener *l;

	*t = (struct hand){ .p = near_open(), .call = -1 };
	l = listen_on(t->p, LO4, &porch);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	sa.sin_port = htons(l->local.port);
	t->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(t->tcp, (struct sockaddr *)&sa, sizeof(sa)) == 0);
	UNTIL(t->p, porch.n == 1);
	ear_on(&t->e, porch.v[0]);
	t->p->ops->near(t->e.s, false);
	/* The door lives as long as the offer. */
	t->p->ops->unbind(l);
	t->h = (struct hello){ .magic = HELLO_MAGIC, .from_port = t->e.s->remote.port,
			       .to_port = t->e.s->local.port };
	memcpy(t->h.from, t->e.s->remote.addr, 16);
	memcpy(t->h.to, t->e.s->local.addr, 16);
}

/* ... and whose segments have been exchanged. */
static void hand_shown(struct hand *t)
{
	int mine, theirs;

	hand_connect(t);
	t->call = knock(&t->e.s->local);
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
	/* It is bound now: a word of its own waits for the decision. */
	CHECK(t->p->ops->room(t->e.s) == 0 && send_some(t->e.s, 0, 10) == 0);
}

static void hand_open(struct hand *t)
{
	hand_shown(t);
	atomic_store(&t->pipe.own->open, 1);
	close(t->call);
	t->call = -1;
	UNTIL(t->p, t->e.s->near && t->e.writable);
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

/* The peer changes its mind when it has all it needs. */
static void gives_up(void)
{
	struct hand t;

	hand_shown(&t);
	close(t.call);
	t.call = -1;
	UNTIL(t.p, t.e.writable);
	tcp_put(&t, 0, 300);
	UNTIL(t.p, t.e.got == 300);
	CHECK(!t.e.s->near && !t.e.near_shows);
	hand_over(&t);
	/* Its call still stands, and its first byte by TCP says it. */
	hand_shown(&t);
	tcp_put(&t, 0, 1);
	UNTIL(t.p, t.e.got == 1 && t.e.writable);
	CHECK(!t.e.s->near && send_some(t.e.s, 0, 10) == 10);
	hand_over(&t);
}

/* A byte by TCP behind `open` is a bell, whatever was seen first. */
static void early_bell(void)
{
	struct hand t;

	hand_shown(&t);
	atomic_store(&t.pipe.own->open, 1);
	put(&t, 0, 100);
	CHECK(send(t.tcp, "x", 1, 0) == 1);
	UNTIL(t.p, t.e.got == 100);
	CHECK(t.e.s->near && t.e.shows == t.e.near_shows);
	hand_over(&t);
}

/* A bell for what was seen before this sleep began is for this sleep nevertheless; the next bytes
 * ring again. */
static void late_bell(void)
{
	struct hand t;

	hand_open(&t);
	for (uint64_t i = 0; i < 50; i++) {
		put(&t, i * 10, 10);
		UNTIL(t.p, t.e.got == i * 10 + 10);
		/* Between the bytes and the look whether somebody sleeps the writer was interrupted. */
		t.pipe.rung = atomic_load(&t.pipe.peer->asleep);
		CHECK(t.pipe.rung && send(t.tcp, "", 1, 0) == 1);
		UNTIL(t.p, atomic_load(&t.pipe.peer->asleep) != t.pipe.rung);
	}
	hand_over(&t);
}

/* It dies when it has said nothing, everything, or half. */
static void dies(void)
{
	struct hand t;

	hand_connect(&t);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	hand_over(&t);

	hand_connect(&t);
	t.call = knock(&t.e.s->local);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	hand_over(&t);

	hand_shown(&t);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.error == 0);
	hand_over(&t);

	/* What lies in the ring was sent. */
	hand_open(&t);
	put(&t, 0, 1000);
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.got == 1000 && t.e.error == 0 && t.e.closed == 1);
	hand_over(&t);

	hand_shown(&t);
	atomic_store(&t.pipe.own->open, 1);
	put(&t, 0, 1000);
	setsockopt(t.tcp, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
	close(t.tcp);
	t.tcp = -1;
	UNTIL(t.p, t.e.closed);
	CHECK(t.e.got == 1000 && t.e.error == ECONNRESET);
	hand_over(&t);
}

/* A segment that its owner writes as it likes. */
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
	/* A head ahead of what was sent gives no room. */
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
	/* Who sleeps again for each byte is rung each time, and its socket fills: its own loss. */
	hand_open(&t);
	for (int i = 0; i < 100000; i++) {
		shm_pipe_sleep(&t.pipe, SHM_PIPE_NEWS | SHM_PIPE_ROOM);
		CHECK(send_some(t.e.s, (uint64_t)i, 1) == 1);
		shm_pipe_consume(&t.pipe, 1);
	}
	hand_over(&t);
}

/* Who calls with something else than a hello, or for somebody else's connection. */
static void strangers(void)
{
	struct link_streams *a = near_open();
	struct ear ea = { 0 };
	struct hand t;
	int calls[40];

	hand_connect(&t);
	for (int i = 0; i < 40; i++) {
		struct hello h = t.h;
		int bad = bad_segment(i % 5);

		calls[i] = knock(&t.e.s->local);
		h.magic += i % 7 == 0;
		h.from_port = (uint16_t)(h.from_port + i + 1);
		h.from[i % 16] ^= (uint8_t)(i & 8);
		if (i % 3)
			give(calls[i], &h, i % 4 ? sizeof(h) : 3, bad);
		close(bad);
		places_poll(t.p, NULL);
	}
	CHECK(!t.e.closed && !t.e.s->near);
	for (int i = 0; i < 40; i++)
		close(calls[i]);
	hand_over(&t);
	/* For the right one, with a wrong segment: it stays on TCP. */
	hand_connect(&t);
	calls[0] = knock(&t.e.s->local);
	calls[1] = bad_segment(NO_PIPE);
	give(calls[0], &t.h, sizeof(t.h), calls[1]);
	tcp_put(&t, 0, 10);
	UNTIL(t.p, t.e.got == 10);
	CHECK(!t.e.s->near && send_some(t.e.s, 0, 10) == 10);
	close(calls[0]);
	close(calls[1]);
	hand_over(&t);
	(void)ea;
	a->ops->fini(a);
}

/* The passive end speaks first, though it was not spoken to: it has chosen TCP. */
static void speaks_first(void)
{
	struct link_streams *a = near_open(), *b = near_open();
	struct link_stream_user other = ear_ops;
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->near(eb.s, false);
	CHECK(send_some(eb.s, 0, 10) == 10); /* the Reply: the same user */
	UNTIL2(a, b, ea.got == 10);
	eb.s->user_ops = &other;
	CHECK(send_some(eb.s, 10, 10) == 10);
	a->ops->near(ea.s, true);
	UNTIL2(a, b, ea.got == 20);
	talk(a, b, &ea, &eb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Who cannot wait for the answer goes by TCP, whatever the other end has done by then. */
static void in_a_hurry(bool shown)
{
	struct link_streams *a = near_open(), *b = near_open();
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->near(eb.s, false);
	a->ops->near(ea.s, true);
	for (int i = 0; shown && i < 10; i++)
		b->ops->poll(b, ut_now());
	CHECK(!shown || b->ops->room(eb.s) == 0);
	CHECK(send_some(ea.s, 0, 10) == 0);
	a->ops->hurry(ea.s);
	CHECK(a->ops->room(ea.s) && send_some(ea.s, 0, 10) == 10);
	UNTIL2(a, b, eb.got == 10);
	talk(a, b, &ea, &eb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Another user has the name: he is not even asked. */
static void other_user(void)
{
	struct link_streams *a = near_open(), *b = place_open();
	struct ear ea = { 0 }, eb = { 0 };
	int status, to[2], back[2];
	char c;
	pid_t pid;

	if (getuid()) {
		printf("not root: another user's name was left out\n");
		a->ops->fini(a);
		b->ops->fini(b);
		return;
	}
	pair_make(a, b, LO4, &ea, &eb);
	CHECK(pipe(to) == 0 && pipe(back) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct pollfd f;
		int fd;

		CHECK(setuid(65534) == 0);
		fd = squat(&eb.s->local);
		CHECK(write(back[1], "x", 1) == 1 && read(to[0], &c, 1) == 1);
		/* Somebody has called, and hung up without a word. */
		f = (struct pollfd){ fd, POLLIN, 0 };
		CHECK(poll(&f, 1, 20000) == 1);
		CHECK(taken(accept(fd, NULL, NULL)) < 0);
		_exit(0);
	}
	CHECK(read(back[0], &c, 1) == 1);
	a->ops->near(ea.s, true);
	CHECK(a->ops->room(ea.s));
	CHECK(write(to[1], "x", 1) == 1);
	talk(a, b, &ea, &eb, false);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	a->ops->fini(a);
	b->ops->fini(b);
}

/* A process that is killed leaves what it has sent, and the end behind it. */
static void killed(void)
{
	struct link_streams *b = near_open();
	struct porch porch = { .n = 0 };
	struct link_listener *l = listen_on(b, LO4, &porch);
	struct ear eb = { 0 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		struct link_streams *a = near_open();
		struct link_end to = end_of(LO4, l->local.port);
		struct ear ea = { 0 };
		struct link_stream *s;

		CHECK(a->ops->connect(a, NULL, NULL, &to, -1, &s) == 0);
		ear_on(&ea, s);
		UNTIL(a, ea.connected);
		CHECK(send_some(s, 0, 1) == 1);
		UNTIL(a, ea.got == 1);
		a->ops->near(s, true);
		UNTIL(a, s->near);
		CHECK(send_some(s, 1, 100000) == 100000);
		raise(SIGKILL);
	}
	UNTIL(b, porch.n == 1);
	ear_on(&eb, porch.v[0]);
	UNTIL(b, eb.got == 1);
	b->ops->near(eb.s, false);
	CHECK(send_some(eb.s, 0, 1) == 1);
	UNTIL(b, eb.closed);
	CHECK(eb.s->near && eb.got == 100001);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	b->ops->fini(b);
}

/* More than are looked at each time, in turn and asleep; none is forgotten. */
static void many(void)
{
	enum { PAIRS = 150 };
	struct link_streams *a = near_open(), *b = near_open();
	static struct ear ea[PAIRS], eb[PAIRS];
	uint64_t sum = 0;

	for (int i = 0; i < PAIRS; i++) {
		pair_make(a, b, LO4, &ea[i], &eb[i]);
		b->ops->near(eb[i].s, false);
		a->ops->near(ea[i].s, true);
		UNTIL2(a, b, ea[i].s->near && eb[i].s->near);
	}
	for (int round = 0; round < 200; round++) {
		int i = round * 37 % PAIRS;

		/* On one side somebody polls, now and then. */
		a->ops->doze(a, round % 3, round % 3);
		b->ops->doze(b, round % 5, round % 5);
		CHECK(send_some(ea[i].s, eb[i].got, 1000) == 1000);
		CHECK(send_some(eb[i].s, ea[i].got, 10) == 10);
		sum = eb[i].got + 1000;
		UNTIL2(a, b, eb[i].got == sum && ea[i].got == sum / 100);
	}
	a->ops->fini(a);
	b->ops->fini(b);
}

/* An end is told when the others have been looked at, whatever else is to be done of its stream. */
static void busy_end(void)
{
	struct link_streams *a = near_open(), *b = near_open();
	struct ear ea = { 0 }, eb = { 0 };
	struct tcp_place *p = tcp_of(b);

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->near(eb.s, false);
	a->ops->near(ea.s, true);
	UNTIL2(a, b, ea.s->near && eb.s->near);
	tcp_todo(tcp_stream_of(eb.s));
	tcp_over(tcp_stream_of(eb.s), 0);
	CHECK(ut_list_empty(&p->todo) && !ut_list_empty(&p->over));
	UNTIL(b, eb.closed);
	a->ops->fini(a);
	b->ops->fini(b);
}

int main(void)
{
	busy_end();
	agreed();
	nobody();
	silent();
	for (int how = NO_FD; how <= LIES; how++)
		bad_answer(how);
	gives_up();
	early_bell();
	late_bell();
	dies();
	liars();
	strangers();
	speaks_first();
	in_a_hurry(false);
	in_a_hurry(true);
	other_user();
	killed();
	many();
	return 0;
}

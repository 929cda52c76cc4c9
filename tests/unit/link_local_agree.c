/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two ends leave the wire (link/local/agree.c), and ways in which that comes to nothing: there is no
 * listener, or another's, the passive end sends first, or is killed. Whatever happens, the bytes come as
 * they were sent, or the stream ends. What a peer can do wrong on purpose is in link_tcp_hand.c.
 */
#include "link_local_util.h"

#include "link/local/stream.h"

#include <signal.h>
#include <stdio.h>
#include <sys/un.h>
#include <sys/wait.h>

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
	CHECK(ea->s->shm == near && eb->s->shm == near);
	CHECK(!near == !ea->local_shows && !near == !eb->local_shows);
	a->ops->close(ea->s, false);
	UNTIL2(a, b, eb->closed);
	CHECK(eb->error == 0);
	b->ops->close(eb->s, false);
}

static void agreed(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct ear ea = { 0 }, eb = { 0 };

	for (int i = 0; i < 3; i++) {
		ea = eb = (struct ear){ 0 };
		pair_make(a, b, LO4, &ea, &eb);
		b->ops->local(eb.s, false);
		a->ops->local(ea.s, true);
		talk(a, b, &ea, &eb, true);
	}
	a->ops->fini(a);
	b->ops->fini(b);
}

/* The other end does not want it, or cannot. */
static void nobody(void)
{
	struct link_streams *a = local_open(), *b = place_open();
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->local(eb.s, false);
	a->ops->local(ea.s, true);
	CHECK(a->ops->room(ea.s));
	talk(a, b, &ea, &eb, false);
	ea = eb = (struct ear){ 0 };
	pair_make(b, a, LO4, &ea, &eb);
	a->ops->local(eb.s, false);
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
	struct link_streams *a = local_open(), *b = local_open();
	struct ear ea = { 0 }, eb = { 0 };
	int fd;

	pair_make(a, b, LO4, &ea, &eb);
	fd = squat(&eb.s->local);
	b->ops->local(eb.s, false);
	a->ops->local(ea.s, true);
	CHECK(a->ops->room(ea.s) == 0 && send_some(ea.s, 0, 100) == 0);
	CHECK(a->ops->deadline(a) != UT_NEVER);
	UNTIL2(a, b, ea.writable);
	talk(a, b, &ea, &eb, false);
	close(fd);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Somebody has the name and answers nonsense. */
static void bad_answer(int how)
{
	struct link_streams *a = local_open(), *b = place_open();
	struct hello h = { .magic = how == LIES ? 77 : HELLO_MAGIC };
	struct ear ea = { 0 }, eb = { 0 };
	int fd, call, bad = bad_segment(how);

	pair_make(a, b, LO4, &ea, &eb);
	fd = squat(&eb.s->local);
	a->ops->local(ea.s, true);
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

/* The passive end speaks first, though it was not spoken to: it has chosen TCP. */
static void speaks_first(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct link_stream_user other = ear_ops;
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->local(eb.s, false);
	CHECK(send_some(eb.s, 0, 10) == 10); /* the Reply: the same user */
	UNTIL2(a, b, ea.got == 10);
	eb.s->user_ops = &other;
	CHECK(send_some(eb.s, 10, 10) == 10);
	a->ops->local(ea.s, true);
	UNTIL2(a, b, ea.got == 20);
	talk(a, b, &ea, &eb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Who cannot wait for the answer goes by TCP, whatever the other end has done by then. */
static void in_a_hurry(bool shown)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct ear ea = { 0 }, eb = { 0 };

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->local(eb.s, false);
	a->ops->local(ea.s, true);
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
	struct link_streams *a = local_open(), *b = place_open();
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
	a->ops->local(ea.s, true);
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
	struct link_streams *b = local_open();
	struct porch porch = { .n = 0 };
	struct link_listener *l = listen_on(b, LO4, &porch);
	struct ear eb = { 0 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		struct link_streams *a = local_open();
		struct link_end to = end_of(LO4, l->local.port);
		struct ear ea = { 0 };
		struct link_stream *s;

		CHECK(a->ops->connect(a, NULL, NULL, &to, -1, &s) == 0);
		ear_on(&ea, s);
		UNTIL(a, ea.connected);
		CHECK(send_some(s, 0, 1) == 1);
		UNTIL(a, ea.got == 1);
		a->ops->local(s, true);
		UNTIL(a, s->shm);
		CHECK(send_some(s, 1, 100000) == 100000);
		raise(SIGKILL);
	}
	UNTIL(b, porch.n == 1);
	ear_on(&eb, porch.v[0]);
	UNTIL(b, eb.got == 1);
	b->ops->local(eb.s, false);
	CHECK(send_some(eb.s, 0, 1) == 1);
	UNTIL(b, eb.closed);
	CHECK(eb.s->shm && eb.got == 100001);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	b->ops->fini(b);
}

/* More than are looked at each time, in turn and asleep; none is forgotten. */
static void many(void)
{
	enum { PAIRS = 150 };
	struct link_streams *a = local_open(), *b = local_open();
	static struct ear ea[PAIRS], eb[PAIRS];
	uint64_t sum = 0;

	for (int i = 0; i < PAIRS; i++) {
		pair_make(a, b, LO4, &ea[i], &eb[i]);
		b->ops->local(eb[i].s, false);
		a->ops->local(ea[i].s, true);
		UNTIL2(a, b, ea[i].s->shm && eb[i].s->shm);
	}
	for (int round = 0; round < 200; round++) {
		int i = round * 37 % PAIRS;

		/* On one side somebody polls, now and then. */
		a->ops->sleep(a, round % 3, round % 3);
		b->ops->sleep(b, round % 5, round % 5);
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
	struct link_streams *a = local_open(), *b = local_open();
	struct ear ea = { 0 }, eb = { 0 };
	struct local_place *p = local_of(b);

	pair_make(a, b, LO4, &ea, &eb);
	b->ops->local(eb.s, false);
	a->ops->local(ea.s, true);
	UNTIL2(a, b, ea.s->shm && eb.s->shm);
	local_stream_todo(local_stream_of(eb.s));
	local_stream_over(local_stream_of(eb.s), 0);
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
	speaks_first();
	in_a_hurry(false);
	in_a_hurry(true);
	other_user();
	killed();
	many();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How two ends leave the wire (link/local/agree.c), and ways in which that fails: there is no
 * listener, or another's, the passive end sends first, or is killed. In each case the bytes arrive
 * as they were sent, or the stream ends. Faults of a hostile peer are in link_local_hand.c.
 */
#include "link_local_util.h"

#include "link/local/stream.h"

#include <signal.h>
#include <stdio.h>
#include <sys/un.h>
#include <sys/wait.h>

/* Bytes both ways, by the way that was found. */
static void exchange(struct link_streams *a, struct link_streams *b, struct reader *ra, struct reader *rb,
		 bool local)
{
	uint64_t from_a = rb->got, from_b = ra->got;

	for (int i = 0; i < 3; i++) {
		while (!send_some(ra->s, from_a, 5000))
			UNTIL2(a, b, ra->writable);
		from_a += 5000;
		UNTIL2(a, b, rb->got == from_a);
		CHECK(send_some(rb->s, from_b, 777) == 777);
		from_b += 777;
		UNTIL2(a, b, ra->got == from_b);
	}
	CHECK(ra->s->shm == local && rb->s->shm == local);
	CHECK(!local == !ra->local_shows && !local == !rb->local_shows);
	a->ops->close(ra->s, false);
	UNTIL2(a, b, rb->closed);
	CHECK(rb->error == 0);
	b->ops->close(rb->s, false);
}

static void agreed(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct reader ra = { 0 }, rb = { 0 };

	for (int i = 0; i < 3; i++) {
		ra = rb = (struct reader){ 0 };
		pair_make(a, b, LO4, &ra, &rb);
		b->ops->local(rb.s, false);
		a->ops->local(ra.s, true);
		exchange(a, b, &ra, &rb, true);
	}
	a->ops->fini(a);
	b->ops->fini(b);
}

/* The other end refuses, or lacks the means. */
static void no_listener(void)
{
	struct link_streams *a = local_open(), *b = place_open();
	struct reader ra = { 0 }, rb = { 0 };

	pair_make(a, b, LO4, &ra, &rb);
	b->ops->local(rb.s, false);
	a->ops->local(ra.s, true);
	CHECK(a->ops->room(ra.s));
	exchange(a, b, &ra, &rb, false);
	ra = rb = (struct reader){ 0 };
	pair_make(b, a, LO4, &ra, &rb);
	a->ops->local(rb.s, false);
	exchange(b, a, &ra, &rb, false);
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

/* Another socket has the name and is silent: the time limit passes, waiting bytes go by TCP. */
static void no_answer(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct reader ra = { 0 }, rb = { 0 };
	int fd;

	pair_make(a, b, LO4, &ra, &rb);
	fd = squat(&rb.s->local);
	b->ops->local(rb.s, false);
	a->ops->local(ra.s, true);
	CHECK(a->ops->room(ra.s) == 0 && send_some(ra.s, 0, 100) == 0);
	CHECK(a->ops->deadline(a) != UT_NEVER);
	UNTIL2(a, b, ra.writable);
	exchange(a, b, &ra, &rb, false);
	close(fd);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* Another socket has the name and answers with bytes that are no answer. */
static void bad_answer(int how)
{
	struct link_streams *a = local_open(), *b = place_open();
	struct hello h = { .magic = how == LIES ? 77 : HELLO_MAGIC };
	struct reader ra = { 0 }, rb = { 0 };
	int fd, call, bad = bad_segment(how);

	pair_make(a, b, LO4, &ra, &rb);
	fd = squat(&rb.s->local);
	a->ops->local(ra.s, true);
	CHECK(send_some(ra.s, 0, 100) == 0);
	call = accept(fd, NULL, NULL);
	give(call, &h, sizeof(h), bad);
	UNTIL2(a, b, ra.writable);
	exchange(a, b, &ra, &rb, false);
	close(call);
	close(fd);
	close(bad);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* The passive end sends first, though it has received nothing: it has chosen TCP. */
static void sends_first(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct link_stream_user other = reader_ops;
	struct reader ra = { 0 }, rb = { 0 };

	pair_make(a, b, LO4, &ra, &rb);
	b->ops->local(rb.s, false);
	CHECK(send_some(rb.s, 0, 10) == 10); /* the Reply: the same user */
	UNTIL2(a, b, ra.got == 10);
	rb.s->user_ops = &other;
	CHECK(send_some(rb.s, 10, 10) == 10);
	a->ops->local(ra.s, true);
	UNTIL2(a, b, ra.got == 20);
	exchange(a, b, &ra, &rb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* An end that cannot wait for the answer takes TCP, whatever the other end has done by then. */
static void in_a_hurry(bool answered)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct reader ra = { 0 }, rb = { 0 };

	pair_make(a, b, LO4, &ra, &rb);
	b->ops->local(rb.s, false);
	a->ops->local(ra.s, true);
	for (int i = 0; answered && i < 10; i++)
		b->ops->poll(b, ut_now());
	CHECK(!answered || b->ops->room(rb.s) == 0);
	CHECK(send_some(ra.s, 0, 10) == 0);
	a->ops->hurry(ra.s);
	CHECK(a->ops->room(ra.s) && send_some(ra.s, 0, 10) == 10);
	UNTIL2(a, b, rb.got == 10);
	exchange(a, b, &ra, &rb, false);
	a->ops->fini(a);
	b->ops->fini(b);
}

/* A process of another user has the name: it is not even asked. */
static void other_user(void)
{
	struct link_streams *a = local_open(), *b = place_open();
	struct reader ra = { 0 }, rb = { 0 };
	int status, to[2], back[2];
	char c;
	pid_t pid;

	if (getuid()) {
		printf("not root: another user's name was left out\n");
		a->ops->fini(a);
		b->ops->fini(b);
		return;
	}
	pair_make(a, b, LO4, &ra, &rb);
	CHECK(pipe(to) == 0 && pipe(back) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		struct pollfd f;
		int fd;

		CHECK(setuid(65534) == 0);
		fd = squat(&rb.s->local);
		CHECK(write(back[1], "x", 1) == 1 && read(to[0], &c, 1) == 1);
		/* A connection has come, and ended without a message. */
		f = (struct pollfd){ fd, POLLIN, 0 };
		CHECK(poll(&f, 1, 20000) == 1);
		CHECK(taken(accept(fd, NULL, NULL)) < 0);
		_exit(0);
	}
	CHECK(read(back[0], &c, 1) == 1);
	a->ops->local(ra.s, true);
	CHECK(a->ops->room(ra.s));
	CHECK(write(to[1], "x", 1) == 1);
	exchange(a, b, &ra, &rb, false);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	a->ops->fini(a);
	b->ops->fini(b);
}

/* A process that is killed leaves the bytes that it has sent, and the end behind them. */
static void killed(void)
{
	struct link_streams *b = local_open();
	struct arrivals arrivals = { .n = 0 };
	struct link_listener *l = listen_on(b, LO4, &arrivals);
	struct reader rb = { 0 };
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		struct link_streams *a = local_open();
		struct link_end to = end_of(LO4, l->local.port);
		struct reader ra = { 0 };
		struct link_stream *s;

		CHECK(a->ops->connect(a, NULL, NULL, &to, -1, &s) == 0);
		reader_on(&ra, s);
		UNTIL(a, ra.connected);
		CHECK(send_some(s, 0, 1) == 1);
		UNTIL(a, ra.got == 1);
		a->ops->local(s, true);
		UNTIL(a, s->shm);
		CHECK(send_some(s, 1, 100000) == 100000);
		raise(SIGKILL);
	}
	UNTIL(b, arrivals.n == 1);
	reader_on(&rb, arrivals.v[0]);
	UNTIL(b, rb.got == 1);
	b->ops->local(rb.s, false);
	CHECK(send_some(rb.s, 0, 1) == 1);
	UNTIL(b, rb.closed);
	CHECK(rb.s->shm && rb.got == 100001);
	CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	b->ops->fini(b);
}

/* More than are looked at each time, in turn and asleep; none is forgotten. */
static void many(void)
{
	enum { PAIRS = 150 };
	struct link_streams *a = local_open(), *b = local_open();
	static struct reader ra[PAIRS], rb[PAIRS];
	uint64_t sum = 0;

	for (int i = 0; i < PAIRS; i++) {
		pair_make(a, b, LO4, &ra[i], &rb[i]);
		b->ops->local(rb[i].s, false);
		a->ops->local(ra[i].s, true);
		UNTIL2(a, b, ra[i].s->shm && rb[i].s->shm);
	}
	for (int round = 0; round < 200; round++) {
		int i = round * 37 % PAIRS;

		/* On one side a thread polls, now and then. */
		a->ops->sleep(a, round % 3, round % 3);
		b->ops->sleep(b, round % 5, round % 5);
		CHECK(send_some(ra[i].s, rb[i].got, 1000) == 1000);
		CHECK(send_some(rb[i].s, ra[i].got, 10) == 10);
		sum = rb[i].got + 1000;
		UNTIL2(a, b, rb[i].got == sum && ra[i].got == sum / 100);
	}
	a->ops->fini(a);
	b->ops->fini(b);
}

/* An end is told when the others have been looked at, whatever else is to be done of its stream. */
static void busy_end(void)
{
	struct link_streams *a = local_open(), *b = local_open();
	struct reader ra = { 0 }, rb = { 0 };
	struct local_place *p = local_of(b);

	pair_make(a, b, LO4, &ra, &rb);
	b->ops->local(rb.s, false);
	a->ops->local(ra.s, true);
	UNTIL2(a, b, ra.s->shm && rb.s->shm);
	local_stream_todo(local_stream_of(rb.s));
	local_stream_over(local_stream_of(rb.s), 0);
	CHECK(ut_list_empty(&p->todo) && !ut_list_empty(&p->over));
	UNTIL(b, rb.closed);
	a->ops->fini(a);
	b->ops->fini(b);
}

int main(void)
{
	busy_end();
	agreed();
	no_listener();
	no_answer();
	for (int how = NO_FD; how <= LIES; how++)
		bad_answer(how);
	sends_first();
	in_a_hurry(false);
	in_a_hurry(true);
	other_user();
	killed();
	many();
	return 0;
}

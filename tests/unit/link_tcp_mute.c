/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams in steady use leave the place's epoll set while an application thread polls (link/tcp/mute.h): nothing that comes
 * meanwhile wakes a thread, every byte and end that comes is told, and each stream is back before a thread sleeps, also where
 * the kernel had no memory for that at first. Between two looks at the epoll set a poll may be a read of such streams alone.
 */
#include "link_tcp_util.h"

#include "link/tcp/mute.h"
#include "util/faultpoint.h"

#include <sys/wait.h>

#define EMPTY 1000 /* empty reads until a stream leaves the poll set */
#define LOOK 17    /* polls, of which one asks the epoll set at least */

static struct link_streams *a, *b;
static struct reader ra, rb;
static uint64_t sent;

static bool is_readable(struct link_streams *p, int ms)
{
	struct pollfd v = { p->ops->fd(p), POLLIN, 0 };

	return poll(&v, 1, ms) == 1;
}

static void send_one(void)
{
	CHECK(send_some(ra.s, sent, 8) == 8);
	sent += 8;
}

static void receive(void)
{
	for (uint64_t until = ut_now() + TIMEOUT; rb.got < sent; b->ops->poll(b, ut_now()))
		CHECK(ut_now() < until);
}

/* Returns true if the descriptor of b shows what comes. */
static bool shows(void)
{
	bool seen;

	for (int k = 0; k < 100 && is_readable(b, 0); k++)
		b->ops->poll(b, ut_now());
	CHECK(!is_readable(b, 0));
	send_one();
	seen = is_readable(b, 0);
	receive();
	return seen;
}

static void use(void)
{
	for (unsigned i = 0; i < 2 * TCP_STEADY; i++) {
		send_one();
		receive();
	}
}

static void mute(void)
{
	b->ops->sleep(b, false, false);
	use();
	CHECK(!shows());
}

static void muted_and_back(void)
{
	use();
	CHECK(shows()); /* no application thread polls so far */
	b->ops->sleep(b, false, false);
	CHECK(shows()); /* not in steady use yet */
	use();
	CHECK(!shows());
	send_one();
	CHECK(!is_readable(b, 0));
	b->ops->sleep(b, true, false);
	CHECK(is_readable(b, 0)); /* with what came before */
	receive();
	CHECK(shows());
	use();
	CHECK(shows());
}

/* A stream that gives nothing any more is found by the epoll set alone. */
static void quiet(void)
{
	mute();
	for (int i = 0; i <= EMPTY; i++)
		CHECK(b->ops->poll(b, ut_now()) == 0);
	CHECK(shows());
}

/* While the epoll set alone is asked, since quiet streams give bytes. */
static void beside_others(void)
{
	struct reader qa = { 0 }, qb = { 0 };

	pair_make(a, b, LO4, &qa, &qb);
	mute();
	CHECK(send_some(qa.s, 0, 8) == 8);
	for (int i = 0; i < LOOK && qb.got < 8; i++)
		b->ops->poll(b, ut_now());
	CHECK(qb.got == 8);
	CHECK(shows());
	a->ops->close(qa.s, false);
	b->ops->close(qb.s, false);
}

static void other_wishes(void)
{
	/* Back-pressure: nothing is wanted, then bytes again. */
	mute();
	b->ops->pause(rb.s, true);
	send_one();
	CHECK(!is_readable(b, 0));
	b->ops->pause(rb.s, false);
	CHECK(is_readable(b, 0));
	receive();
	/* A full socket: room is wanted besides. */
	mute();
	for (uint64_t at = 0; send_some(rb.s, at, 100000); at += 100000)
		CHECK(at < 100000000);
	CHECK(!is_readable(b, 0));
	send_one();
	CHECK(is_readable(b, 0));
	receive();
	UNTIL2(a, b, rb.writable);
}

static void no_memory(void)
{
	mute();
	ut_fault_arm(1, 1);
	b->ops->sleep(b, true, false);
	ut_fault_arm(0, 0);
	/* The timer wakes the thread that sleeps, and the stream returns. */
	send_one();
	CHECK(is_readable(b, 5000));
	receive();
	for (int i = 0; i < LOOK; i++)
		b->ops->poll(b, ut_now());
	CHECK(shows());
	/* The same for a stream that is about to leave the poll set. */
	mute();
	for (int i = 0; i < EMPTY - 1; i++)
		b->ops->poll(b, ut_now());
	ut_fault_arm(2, 0); /* behind the last empty read */
	b->ops->poll(b, ut_now());
	CHECK(!ut_fault_armed);
	send_one();
	receive();
	b->ops->sleep(b, true, false);
	CHECK(shows());
}

/* Most polls read streams in use and ask no epoll set; no poll of an owner that sleeps does. */
static void peeked(void)
{
	int whole = 0;

	mute();
	for (int i = 0; i < 4 * LOOK; i++) {
		int n = b->ops->peek(b);

		CHECK(n == 0 || n == -EAGAIN);
		if (n < 0)
			b->ops->poll(b, ut_now());
		send_one();
		n = b->ops->peek(b);
		CHECK(n == -EAGAIN || (n == 1 && rb.got == sent && b->asked));
		whole += n < 0;
		receive();
	}
	CHECK(whole <= 2 * 4 * LOOK / (LOOK - 1) + 1);
	b->ops->sleep(b, true, false);
	CHECK(b->ops->peek(b) == -EAGAIN);
}

/* A child of fork() closes what the place has, muted or not. */
static void forked(void)
{
	int status, before;
	pid_t child;

	mute();
	before = open_fds();
	child = fork();
	if (!child) {
		b->ops->forget(b);
		/* Streams, the epoll set, the stage, the timer. */
		_exit(before - open_fds() == 4 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	b->ops->sleep(b, true, false);
	CHECK(shows());
}

static void make(void)
{
	a = place_open();
	b = place_open();
	ra = rb = (struct reader){ 0 };
	sent = 0;
	pair_make(a, b, LO4, &ra, &rb);
}

static void end(void)
{
	a->ops->fini(a);
	b->ops->fini(b);
}

int main(void)
{
	make();
	muted_and_back();
	quiet();
	beside_others();
	no_memory();
	peeked();
	forked();
	/* The peer's end, and a reset, are read like bytes. */
	mute();
	a->ops->shutdown(ra.s);
	for (int i = 0; i < LOOK && !rb.closed; i++)
		b->ops->poll(b, ut_now());
	CHECK(rb.closed == 1 && rb.error == 0);
	end();
	make();
	mute();
	a->ops->close(ra.s, true);
	for (int i = 0; i < LOOK && !rb.closed; i++)
		b->ops->poll(b, ut_now());
	CHECK(rb.closed == 1 && rb.error == ECONNRESET);
	end();
	make();
	other_wishes();
	end();
	/* Closed while muted, by the user and with the place. */
	make();
	mute();
	b->ops->close(rb.s, false);
	end();
	make();
	mute();
	end();
	return 0;
}

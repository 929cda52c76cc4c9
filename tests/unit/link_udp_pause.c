/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sockets in steady use leave the link's epoll set while an application thread polls (link/udp/poll.h): nothing that comes
 * meanwhile wakes a thread, everything that comes is received, and each socket is back before a thread sleeps, also where
 * the kernel had no memory for that at first.
 */
#include "link_udp_util.h"

#include "link/udp/poll.h"
#include "util/faultpoint.h"

#include <dirent.h>
#include <errno.h>
#include <sys/wait.h>

#define LEN 64u
#define FEW 6 /* no steady use */

static const uint8_t NONE4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 99 };
static uint16_t port;
static uint8_t out[LEN];

static struct link *open_here(void)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0 && l->ops->add_addr(l, LO4, 0) == 0);
	return l;
}

static void send_one(struct link *a, struct link *b, uint16_t sport)
{
	struct ut_flow f = flow_to(LO4, LO4, sport);

	put_bth(out, b->qpn_fixed | 0x1234);
	CHECK(a->ops->send(a, &f, 0, out, LEN, LEN) == 0);
}

static bool is_readable(struct link *l, int ms)
{
	struct pollfd p = { l->ops->fd(l), POLLIN, 0 };

	return poll(&p, 1, ms) == 1;
}

static void receive_one(struct link *b)
{
	struct link_rx v[4];

	CHECK(recv_wait(b, v, 4, 5 * UT_S) == 1 && v[0].len == LEN);
}

/* The search for the order of the group makes the set readable as well: such a try does not count. */
static bool shows(struct link *a, struct link *b)
{
	struct link_rx v[4];
	bool seen = true;

	for (int i = 0; i < FEW && seen; i++) {
		for (int k = 0; k < 100 && is_readable(b, 0); k++)
			CHECK(b->ops->recv(b, v, 4) == 0);
		send_one(a, b, 0);
		seen = is_readable(b, 0);
		receive_one(b);
	}
	return seen;
}

static void use(struct link *a, struct link *b)
{
	for (unsigned i = 0; i < 2 * UDP_STEADY; i++) {
		send_one(a, b, 0);
		receive_one(b);
	}
}

static void paused_and_back(struct link *a, struct link *b)
{
	use(a, b);
	CHECK(shows(a, b)); /* no application thread polls so far */
	b->ops->sleep(b, false, false);
	CHECK(shows(a, b)); /* not in steady use yet */
	use(a, b);
	CHECK(!shows(a, b));
	send_one(a, b, 0);
	CHECK(!is_readable(b, 0));
	b->ops->sleep(b, true, false);
	CHECK(is_readable(b, 0)); /* with what came before */
	receive_one(b);
	CHECK(shows(a, b));
	use(a, b);
	CHECK(shows(a, b));
}

static unsigned hidden(const struct link *l)
{
	return atomic_load(l->hidden);
}

/* The thread that has the descriptor spins: then it asks the sockets that are hidden, until it sleeps, or another does. */
static void attended(struct link *a, struct link *b)
{
	b->ops->attend(b, true);
	CHECK(shows(a, b) && !hidden(b)); /* not in steady use yet */
	use(a, b);
	CHECK(hidden(b) && !shows(a, b));
	send_one(a, b, 0);
	CHECK(!is_readable(b, 0));
	receive_one(b);
	send_one(a, b, 0);
	b->ops->attend(b, false);
	CHECK(is_readable(b, 0) && !hidden(b)); /* with what came before */
	receive_one(b);
	use(a, b);
	CHECK(shows(a, b) && !hidden(b));
	b->ops->attend(b, true);
	use(a, b);
	CHECK(hidden(b));
	send_one(a, b, 0);
	b->ops->sleep(b, true, false);
	CHECK(is_readable(b, 0) && !hidden(b));
	receive_one(b);
	use(a, b);
	CHECK(shows(a, b)); /* that has ended attend() */
}

/* A socket that gives nothing any more is found by the epoll set alone. */
static void quiet(struct link *a, struct link *b)
{
	struct link_rx v[4];

	b->ops->sleep(b, false, false);
	use(a, b);
	CHECK(!shows(a, b));
	for (int i = 0; i < UDP_POLLED + 1; i++)
		CHECK(b->ops->recv(b, v, 4) == 0);
	CHECK(shows(a, b));
}

static void no_memory(struct link *a, struct link *b)
{
	struct link_rx v[4];

	b->ops->sleep(b, false, false);
	use(a, b);
	CHECK(!shows(a, b));
	ut_fault_arm(1, 1);
	b->ops->sleep(b, true, false);
	ut_fault_arm(0, 0);
	/* The timer wakes the thread that sleeps, which receives, and tries again when it has nothing else to do. */
	send_one(a, b, 0);
	CHECK(is_readable(b, 5000));
	CHECK(b->ops->recv(b, v, 4) == 1);
	CHECK(b->ops->recv(b, v, 4) == 0);
	CHECK(shows(a, b));
	/* The same for a socket that is about to leave the poll set. */
	b->ops->sleep(b, false, false);
	use(a, b);
	ut_fault_arm(1, 1);
	for (int i = 0; i < UDP_POLLED + 1; i++)
		b->ops->recv(b, v, 4);
	ut_fault_arm(0, 0);
	receive_one((send_one(a, b, 0), b));
	b->ops->sleep(b, true, false);
	CHECK(shows(a, b));
}

/* Datagrams by themselves, such as acknowledgements: after some calls with one each, a call takes a few. */
static void few(struct link *a, struct link *b)
{
	struct link_rx v[16];
	int n, most = 0;

	while (b->ops->recv(b, v, 16))
		;
	for (int i = 0; i < 40; i++)
		send_one(a, b, 0);
	for (int left = 40; left; left -= n) {
		n = recv_wait(b, v, left < 16 ? left : 16, 5 * UT_S);
		/* A search for the order of the group may be among them. */
		CHECK(n == 1 || (left <= 36 && n > 1 && n <= 4));
		most = n > most ? n : most;
	}
	CHECK(most == 4 && b->ops->recv(b, v, 16) == 0);
	/* Not behind a call without one. */
	send_one(a, b, 0);
	send_one(a, b, 0);
	CHECK(recv_wait(b, v, 16, 5 * UT_S) == 1 && recv_wait(b, v, 16, 5 * UT_S) == 1);
}

/* Reports of errors of a socket that only sends. */
static void errors(struct link *a, struct link *b)
{
	struct ut_flow f = flow_to(LO4, NONE4, 51000);
	uint64_t end = ut_now() + 5 * UT_S;
	struct link_err e;
	int r;

	a->ops->sleep(a, false, false);
	while (a->ops->source_port(a, &f) != f.sport)
		f.sport++; /* another process has it */
	for (unsigned i = 0; i < 2 * UDP_STEADY; i++) {
		send_one(a, b, f.sport);
		receive_one(b);
	}
	CHECK(a->ops->error(a, &e) == 0);
	CHECK(a->ops->send(a, &f, 0, out, LEN, LEN) == 0);
	while (!(r = a->ops->error(a, &e)) && ut_now() < end)
		;
	CHECK(r == 1 && e.error == ECONNREFUSED && !memcmp(e.dst, NONE4, 16));
	CHECK(a->ops->error(a, &e) == 0);
}

static int sockets(void)
{
	DIR *d = opendir("/proc/self/fd");
	char path[300], name[64];
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		ssize_t k;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		k = readlink(path, name, sizeof(name) - 1);
		n += k > 7 && !strncmp(name, "socket:", 7);
	}
	closedir(d);
	return n;
}

/* A child finds those in the epoll set by that, and the others by the link. */
static void forked(struct link *a, struct link *b)
{
	int status, before;
	pid_t child;

	b->ops->sleep(b, false, false);
	use(a, b);
	CHECK(!shows(a, b));
	before = sockets();
	child = fork();
	if (!child) {
		b->ops->forked(b);
		_exit(before - sockets());
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1);
	b->ops->sleep(b, true, false);
	CHECK(shows(a, b));
}

int main(void)
{
	struct link *a, *b;

	port = free_port();
	a = open_here();
	b = open_here();
	paused_and_back(a, b);
	attended(a, b);
	quiet(a, b);
	no_memory(a, b);
	few(a, b);
	errors(a, b);
	forked(a, b);
	/* Closed while paused. */
	b->ops->sleep(b, false, false);
	use(a, b);
	CHECK(!shows(a, b));
	b->ops->close(b);
	a->ops->close(a);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How connections begin and end: without waiting, refused, killed, closed by another thread,
 * cancelled; and the CPU use of sleeping threads.
 */
#include "ends.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>

static int error_of(int fd)
{
	int err = -1;
	socklen_t len = sizeof(err);

	CHECK(!rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len));
	return err;
}

/* rsockets and a pipe in one list; the server does not wait either. */
static void nonblock_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd;
	struct pollfd p[2] = { { lfd, POLLIN, 0 }, { e->in, POLLIN, 0 } };
	char c;

	CHECK(!rfcntl(lfd, F_SETFL, O_NONBLOCK));
	CHECK(raccept(lfd, NULL, NULL) == -1 && errno == EAGAIN);
	CHECK(rpoll(p, 2, -1) == 1 && p[1].revents == POLLIN && !p[0].revents);
	await(e);
	mark(e);
	CHECK(rpoll(p, 2, -1) == 1 && p[0].revents == POLLIN && !p[1].revents);
	fd = raccept(lfd, NULL, NULL);
	CHECK(fd >= 0 && rfcntl(fd, F_GETFL) == O_RDWR);
	p[0].fd = fd;
	CHECK(rpoll(p, 2, -1) == 1 && p[0].revents == POLLIN);
	CHECK(rrecv(fd, &c, 1, 0) == 1 && c == 'a');
	mark(e);
	CHECK(rpoll(p, 1, -1) == 1 && p[0].revents & POLLHUP);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void nonblock_client(struct ends *e)
{
	fd_set wr;
	int fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	CHECK(fd >= 0 && fd < FD_SETSIZE);
	await_addr(e);
	mark(e);
	await(e);
	CHECK(rsend(fd, "a", 1, 0) == -1 && errno == ENOTCONN);
	/* On a fast machine the first call may find all of it done. */
	CHECK(!rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len) || errno == EINPROGRESS);
	FD_ZERO(&wr);
	FD_SET(fd, &wr);
	CHECK(rselect(fd + 1, NULL, &wr, NULL, NULL) == 1 && FD_ISSET(fd, &wr));
	CHECK(!error_of(fd));
	CHECK(rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len) == -1 && errno == EISCONN);
	CHECK(rsend(fd, "a", 1, 0) == 1);
	await(e); /* the other end sees the byte before the end */
	CHECK(!rclose(fd));
}

/* The listener is closed. */
static void refused_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL);

	CHECK(!rclose(lfd));
	mark(e);
	await(e);
}

static void refused_client(struct ends *e)
{
	struct pollfd p = { .events = POLLOUT };
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	await_addr(e);
	await(e);
	CHECK(rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len) == -1);
	CHECK_MSG(errno == ECONNREFUSED, " ");
	CHECK(!rclose(fd));
	p.fd = rsocket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(rconnect(p.fd, (struct sockaddr *)&e->addr, e->addr_len) == -1);
	if (errno == EINPROGRESS) {
		CHECK(rpoll(&p, 1, -1) == 1 && p.revents & POLLERR && p.revents & POLLOUT);
		CHECK(error_of(p.fd) == ECONNREFUSED);
	} else {
		CHECK(errno == ECONNREFUSED);
	}
	CHECK(!error_of(p.fd));
	CHECK(rrecv(p.fd, &fd, 1, 0) == -1 && errno == ENOTCONN);
	CHECK(!rclose(p.fd));
	mark(e);
}

static void killed_server(struct ends *e)
{
	int fd = accept_one(e, listen_here(e, SOCK_STREAM, NULL));

	send_all(fd, 1000, 2);
	mark(e);
	for (;;)
		pause();
}

/* A program that only waits sends nothing that could fail: keepalives detect the death. */
static void watchful(int fd)
{
	int on = 1, idle = 1;

	CHECK(!rsetsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)));
	CHECK(!rsetsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle)));
}

/* Sent data is read; then the end, in time, by the reader and by rpoll. */
static void kill_it(struct ends *e, void (*prepare)(int fd))
{
	struct pollfd p = { .events = POLLIN };
	uint8_t c;
	ssize_t r;

	await_addr(e);
	p.fd = connect_there(e, prepare);
	recv_all(p.fd, 10, 2);
	await(e);
	for (int i = 10; i < 1000; i++) {
		/* Unsent data ends with its process; but these bytes are one message. */
		if (i == 990)
			CHECK(!kill(e->peer, SIGKILL));
		CHECK(rrecv(p.fd, &c, 1, 0) == 1);
		expect_bytes(&c, 1, (uint64_t)i, 2);
	}
	r = rrecv(p.fd, &c, 1, 0);
	CHECK(!r || errno == ECONNRESET || errno == ETIMEDOUT);
	CHECK(rpoll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR));
	CHECK(rsend(p.fd, &c, 1, 0) == -1 && (errno == ECONNRESET || errno == EPIPE));
	CHECK(!rclose(p.fd));
}

static void killed_client(struct ends *e)
{
	kill_it(e, watchful);
}

/* A reader without events hears of the end too. */
static void bereaved_client(struct ends *e)
{
	kill_it(e, NULL);
}

static void idle_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd = accept_one(e, lfd);
	char c;

	CHECK(rrecv(fd, &c, 1, 0) == 1);
	mark(e);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

struct sleeper {
	int fd;
	_Atomic pid_t tid;
	pthread_t thread;
};

static void *reader(void *arg)
{
	struct sleeper *s = arg;
	char c;

	s->tid = gettid();
	return (void *)(intptr_t)rrecv(s->fd, &c, 1, 0);
}

static void *poller(void *arg)
{
	struct sleeper *s = arg;
	struct pollfd p = { s->fd, POLLIN, 0 };
	int n;

	s->tid = gettid();
	n = rpoll(&p, 1, -1);
	return (void *)(intptr_t)(n == 1 ? p.revents : -1);
}

/* The kernel's state letter of the thread. */
static char state_of(pid_t tid)
{
	char path[64], line[256], *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	end = strrchr(line, ')');
	CHECK(end);
	return end[2];
}

/* Returns when the thread sleeps in its call: its own clock stands still, and not for want of a
 * processor. */
static void start_asleep(struct sleeper *s, void *(*fn)(void *), int fd)
{
	struct timespec a, b = { 0, 0 };
	clockid_t clock;
	bool sleeps;

	s->fd = fd;
	s->tid = 0;
	CHECK(!pthread_create(&s->thread, NULL, fn, s));
	while (!s->tid)
		poll(NULL, 0, 1);
	CHECK(!pthread_getcpuclockid(s->thread, &clock));
	do {
		sleeps = state_of(s->tid) == 'S';
		a = b;
		poll(NULL, 0, 20);
		CHECK(!clock_gettime(clock, &b));
		sleeps &= state_of(s->tid) == 'S';
	} while (!sleeps || a.tv_sec != b.tv_sec || a.tv_nsec != b.tv_nsec);
}

/*
 * Threads asleep on a socket: one cancelled leaves it usable; an rpoll that waits costs no
 * processor; shutdown wakes the sleepers of every kind.
 */
static void idle_client(struct ends *e)
{
	struct pollfd p = { .events = POLLIN };
	struct sleeper t, u;
	uint64_t wall, cpu;
	void *res;
	int fd;

	await_addr(e);
	p.fd = fd = connect_there(e, NULL);
#ifndef __SANITIZE_THREAD__ /* it does not see locks that a cancelled thread takes while it unwinds */
	for (int i = 0; i < 2; i++) {
		start_asleep(&t, i ? poller : reader, fd);
		CHECK(!pthread_cancel(t.thread) && !pthread_join(t.thread, &res));
		CHECK(res == PTHREAD_CANCELED);
	}
#endif

	wall = now_ms();
	cpu = cpu_ms();
	CHECK(rpoll(&p, 1, 300) == 0);
	CHECK(now_ms() - wall >= 300);
	CHECK_MSG(cpu_ms() - cpu < 100, "%d ms", (int)(cpu_ms() - cpu));

	CHECK(rsend(fd, "b", 1, 0) == 1);
	await(e);
	start_asleep(&t, reader, fd);
	start_asleep(&u, poller, fd);
	CHECK(!rshutdown(fd, SHUT_RDWR));
	CHECK(!pthread_join(t.thread, &res) && res == NULL);
	CHECK(!pthread_join(u.thread, &res) && (intptr_t)res & POLLIN);
	CHECK(!rclose(fd));
}

/* rclose under a sleeping reader. */
static void close_client(struct ends *e)
{
	struct sleeper t;
	void *res;
	int fd, was;

	await_addr(e);
	fd = was = connect_there(e, NULL);
	CHECK(rsend(fd, "b", 1, 0) == 1);
	await(e);
	start_asleep(&t, reader, fd);
	CHECK(!rclose(fd));
	CHECK(!pthread_join(t.thread, &res) && res == NULL);
	CHECK(rrecv(was, &was, 1, 0) == -1 && errno == EBADF);
}

/* A child of the server's may close inherited sockets without an effect on the parent. */
static void fork_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd = accept_one(e, lfd);
	pid_t pid = fork();
	char c;

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(rsend(fd, "x", 1, 0) == -1 && errno == EBADF);
		CHECK(!rclose(fd));
		_exit(0);
	}
	CHECK(rrecv(fd, &c, 1, 0) == 1);
	mark(e);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void fork_client(struct ends *e)
{
	int fd;

	await_addr(e);
	fd = connect_there(e, NULL);
	CHECK(rsend(fd, "b", 1, 0) == 1);
	await(e);
	CHECK(!rclose(fd));
}

int main(void)
{
	ends_run("nothing waits", AF_INET, nonblock_server, nonblock_client);
	ends_run("refused", AF_INET, refused_server, refused_client);
	ends_run_killed("killed", AF_INET, killed_server, killed_client);
	CHECK(!setenv("DAPPLE_PROBE", "200", 1));
	ends_run_killed("killed, no call", AF_INET, killed_server, bereaved_client);
	CHECK(!unsetenv("DAPPLE_PROBE"));
	ends_run("asleep", AF_INET, idle_server, idle_client);
	ends_run("closed by another thread", AF_INET, idle_server, close_client);
	ends_run("forked", AF_INET, fork_server, fork_client);
	return 0;
}

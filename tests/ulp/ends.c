/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define TIMEOUT_S 120

static void run(const char *name, int family, end_fn *server, end_fn *client, bool killed)
{
	struct ends e = { .family = family };
	int there[2], back[2], status;

	printf("%s%s\n", name, family == AF_INET6 ? " (IPv6)" : "");
	fflush(stdout);
	CHECK(!pipe(there) && !pipe(back));
	e.peer = fork();
	CHECK(e.peer >= 0);
	e.in = e.peer ? back[0] : there[0];
	e.out = e.peer ? there[1] : back[1];
	close(e.peer ? there[0] : there[1]);
	close(e.peer ? back[1] : back[0]);
	alarm(TIMEOUT_S);
	if (!e.peer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server(&e);
		exit(0);
	}
	client(&e);
	CHECK(waitpid(e.peer, &status, 0) == e.peer);
	if (killed)
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	else
		CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	close(e.in);
	close(e.out);
}

/* Each test is a process of its own, so that none starts with libraries in use. */
static void apart(const char *name, int family, end_fn *server, end_fn *client, bool killed)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		run(name, family, server, client, killed);
		exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_MSG(WIFEXITED(status) && !WEXITSTATUS(status), "%s: status %x", name, status);
}

void ends_run(const char *name, int family, end_fn *server, end_fn *client)
{
	apart(name, family, server, client, false);
}

void ends_run_killed(const char *name, int family, end_fn *server, end_fn *client)
{
	apart(name, family, server, client, true);
}

void mark(struct ends *e)
{
	CHECK(write(e->out, "x", 1) == 1);
}

void await(struct ends *e)
{
	char c;

	CHECK(read(e->in, &c, 1) == 1);
}

static void loopback(struct ends *e)
{
	struct sockaddr_in *v4 = (void *)&e->addr;
	struct sockaddr_in6 *v6 = (void *)&e->addr;

	memset(&e->addr, 0, sizeof(e->addr));
	e->addr.ss_family = (sa_family_t)e->family;
	if (e->family == AF_INET) {
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		e->addr_len = sizeof(*v4);
	} else {
		v6->sin6_addr = in6addr_loopback;
		e->addr_len = sizeof(*v6);
	}
}

int listen_here(struct ends *e, int type, void (*options)(int fd))
{
	int fd = rsocket(e->family, type, 0);

	if (fd < 0 && errno == ENODEV)
		SKIP("no RDMA device");
	CHECK(fd >= 0);
	if (options)
		options(fd);
	loopback(e);
	CHECK(!rbind(fd, (struct sockaddr *)&e->addr, e->addr_len));
	if (type == SOCK_STREAM)
		CHECK(!rlisten(fd, 8));
	CHECK(!rgetsockname(fd, (struct sockaddr *)&e->addr, &e->addr_len));
	CHECK(((struct sockaddr_in *)&e->addr)->sin_port);
	CHECK(write(e->out, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	return fd;
}

void await_addr(struct ends *e)
{
	loopback(e);
	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
}

/* Compares family and port; an IPv6 address has several forms. */
static void check_peer(int fd, const struct sockaddr_storage *want, socklen_t want_len)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	CHECK(!rgetpeername(fd, (struct sockaddr *)&peer, &len));
	CHECK(len == want_len && peer.ss_family == want->ss_family);
	CHECK(((struct sockaddr_in *)&peer)->sin_port ==
	      ((const struct sockaddr_in *)want)->sin_port);
}

int accept_one(struct ends *e, int lfd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	int fd = raccept(lfd, (struct sockaddr *)&from, &len);

	CHECK(fd >= 0);
	CHECK(from.ss_family == e->family && len == e->addr_len);
	check_peer(fd, &from, len);
	return fd;
}

int connect_there(struct ends *e, void (*options)(int fd))
{
	int fd = rsocket(e->family, SOCK_STREAM, 0);
	struct sockaddr_storage peer;
	socklen_t len;

	CHECK(fd >= 0);
	if (options)
		options(fd);
	len = sizeof(peer);
	CHECK(rgetpeername(fd, (struct sockaddr *)&peer, &len) == -1 && errno == ENOTCONN);
	CHECK(!rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len));
	check_peer(fd, &e->addr, e->addr_len);
	return fd;
}

static uint8_t byte_at(uint64_t at, unsigned seed)
{
	return (uint8_t)((at * 2654435761u + seed * 40503u) >> 7);
}

void fill(uint8_t *buf, size_t len, uint64_t at, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = byte_at(at + i, seed);
}

void expect_bytes(const uint8_t *buf, size_t len, uint64_t at, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		CHECK_MSG(buf[i] == byte_at(at + i, seed), "byte %llu", (unsigned long long)(at + i));
}

/* Sizes that fit no buffer. */
void send_all(int fd, size_t len, unsigned seed)
{
	size_t done = 0, n = 1, size = 70001;
	uint8_t *buf = malloc(size);

	while (done < len) {
		size_t want = n < len - done ? n : len - done;
		ssize_t r;

		fill(buf, want, done, seed);
		r = rsend(fd, buf, want, 0);
		CHECK(r > 0);
		done += (size_t)r;
		n = n * 3 % size + 1;
	}
	free(buf);
}

void recv_all(int fd, size_t len, unsigned seed)
{
	size_t done = 0, n = 7, size = 50021;
	uint8_t *buf = malloc(size);

	while (done < len) {
		size_t want = n < len - done ? n : len - done;
		ssize_t r = rrecv(fd, buf, want, 0);

		CHECK_MSG(r > 0, "got %zd after %zu", r, done);
		expect_bytes(buf, (size_t)r, done, seed);
		done += (size_t)r;
		n = n * 5 % size + 1;
	}
	free(buf);
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A program of TCP sockets, for `dapple run --sdp-own`: in each of two processes one thread sends, one receives and one looks at the descriptor,
 * at once on one connection. Calls of all lengths, that block and that do not; octets come once and in order.
 */
#include "ends.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define OCTETS (6u << 20)
#define LONGEST 300000

struct end {
	int fd;
	unsigned out, in;
	atomic_uint over;
};

/* A length of the n-th call: few octets, a message, a slot of the stage, more. */
static size_t length(unsigned n, uint64_t left)
{
	static const size_t lens[] = { 1, 100, 4096, 16384, 16385, 65536, 65537, LONGEST };
	size_t len = lens[n * 5 % 8];

	return len < left ? len : (size_t)left;
}

static void wait_for(int fd, short events)
{
	struct pollfd p = { fd, events, 0 };

	CHECK(poll(&p, 1, 60000) == 1);
}

static void *send_thread(void *arg)
{
	struct end *e = arg;
	uint8_t *buf = malloc(LONGEST);
	uint64_t at = 0;

	CHECK(buf);
	for (unsigned n = 0; at < OCTETS; n++) {
		size_t len = length(n, OCTETS - at);
		ssize_t r;

		fill(buf, len, at, e->out);
		r = send(e->fd, buf, len, n % 3 ? 0 : MSG_DONTWAIT);
		CHECK(r > 0 || errno == EAGAIN);
		if (r < 0)
			wait_for(e->fd, POLLOUT);
		else
			at += (uint64_t)r;
	}
	free(buf);
	atomic_fetch_add(&e->over, 1);
	return NULL;
}

static void *receive_thread(void *arg)
{
	static const int flags[] = { 0, MSG_WAITALL, MSG_DONTWAIT };
	struct end *e = arg;
	uint8_t *buf = malloc(LONGEST);
	uint64_t at = 0;

	CHECK(buf);
	for (unsigned n = 0; at < OCTETS; n++) {
		ssize_t r = recv(e->fd, buf, length(n, OCTETS - at), flags[n % 3]);

		CHECK(r > 0 || (r < 0 && errno == EAGAIN));
		if (r < 0) {
			wait_for(e->fd, POLLIN);
			continue;
		}
		expect_bytes(buf, (size_t)r, at, e->in);
		at += (uint64_t)r;
	}
	free(buf);
	atomic_fetch_add(&e->over, 1);
	return NULL;
}

static bool is_rdma(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	return !getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) && !strcmp(name, "rdma");
}

static void run(int fd, unsigned out, unsigned in)
{
	struct end e = { .fd = fd, .out = out, .in = in };
	pthread_t threads[2];
	struct pollfd p = { fd, POLLIN | POLLOUT, 0 };
	int waiting;

	CHECK(fd >= 0 && is_rdma(fd));
	CHECK(!pthread_create(&threads[0], NULL, send_thread, &e) && !pthread_create(&threads[1], NULL, receive_thread, &e));
	while (atomic_load(&e.over) < 2) {
		CHECK(poll(&p, 1, 1) >= 0 && !ioctl(fd, FIONREAD, &waiting) && waiting >= 0);
		poll(NULL, 0, 1);
	}
	CHECK(!pthread_join(threads[0], NULL) && !pthread_join(threads[1], NULL));
	CHECK(!close(fd));
}

static void serve(struct ends *e)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(l >= 0 && !bind(l, (struct sockaddr *)&a, len) && !listen(l, 1) && !getsockname(l, (struct sockaddr *)&a, &len));
	CHECK(write(e->out, &a, sizeof(a)) == sizeof(a));
	run(accept(l, NULL, NULL), 1, 2);
	CHECK(!close(l));
}

static void dial(struct ends *e)
{
	struct sockaddr_in a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && read(e->in, &a, sizeof(a)) == sizeof(a) && !connect(fd, (struct sockaddr *)&a, sizeof(a)));
	run(fd, 2, 1);
}

int main(void)
{
	ends_run("threads on one connection", AF_INET, serve, dial);
	return 0;
}

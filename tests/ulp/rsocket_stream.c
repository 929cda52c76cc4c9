/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Streams over the real stack: data both ways at once, small budgets, flags, half-close; and in which call an end sleeps. */
#include "ends.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define MUCH (6u << 20)

static void *sender(void *arg)
{
	send_all(*(int *)arg, MUCH, 1);
	return NULL;
}

/* Both directions at once from each end, so that grants and data share the queue. */
static void both_ways(int fd)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, sender, &fd));
	recv_all(fd, MUCH, 1);
	CHECK(!pthread_join(t, NULL));
	CHECK(!rclose(fd));
}

static void both_ways_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL);

	both_ways(accept_one(e, lfd));
	CHECK(!rclose(lfd));
}

static void both_ways_client(struct ends *e)
{
	await_addr(e);
	both_ways(connect_there(e, NULL));
}

static void tiny(int fd)
{
	int size = 16, none = 0, buf = 1, got;
	socklen_t len = sizeof(got);

	CHECK(!rsetsockopt(fd, SOL_RDMA, RDMA_SQSIZE, &size, sizeof(size)));
	CHECK(!rsetsockopt(fd, SOL_RDMA, RDMA_RQSIZE, &size, sizeof(size)));
	CHECK(!rsetsockopt(fd, SOL_RDMA, RDMA_INLINE, &none, sizeof(none)));
	CHECK(!rsetsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buf, sizeof(buf)));
	CHECK(!rsetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buf, sizeof(buf)));
	CHECK(!rgetsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &len));
	CHECK(got >= 4096 && got < 8192);
}

static void tiny_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, tiny);

	both_ways(accept_one(e, lfd));
	CHECK(!rclose(lfd));
}

static void tiny_client(struct ends *e)
{
	await_addr(e);
	both_ways(connect_there(e, tiny));
}

/* The client writes to the end of its half, reads the answer and the end of the other half. */
static void half_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd = accept_one(e, lfd);
	uint8_t c;

	recv_all(fd, 300000, 3);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	send_all(fd, 200000, 4);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void half_client(struct ends *e)
{
	uint8_t c = 0;
	int fd;

	await_addr(e);
	fd = connect_there(e, NULL);
	send_all(fd, 300000, 3);
	CHECK(!rshutdown(fd, SHUT_WR));
	CHECK(rsend(fd, &c, 1, 0) == -1 && errno == EPIPE);
	recv_all(fd, 200000, 4);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd));
	CHECK(rclose(fd) == -1 && errno == EBADF);
}

static void flags_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd = accept_one(e, lfd);
	uint8_t a[100], b[300];
	struct iovec iov[3] = { { a, 7 }, { b, 0 }, { b, 293 } };
	struct iovec rest[2] = { { b + 50, 1 }, { b + 51, 249 } };
	struct msghdr two = { .msg_iov = rest, .msg_iovlen = 2 };

	await(e);
	CHECK(rsend(fd, "0123456789", 10, 0) == 10);
	await(e);
	fill(b, sizeof(b), 0, 9);
	CHECK(rsend(fd, b, 50, 0) == 50);
	mark(e);
	await(e);
	CHECK(rsendmsg(fd, &two, 0) == 250);
	CHECK(rreadv(fd, iov, 3) == 300);
	expect_bytes(a, 7, 0, 10);
	expect_bytes(b, 293, 7, 10);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void flags_client(struct ends *e)
{
	struct pollfd p = { .events = POLLIN };
	uint8_t buf[300];
	struct iovec iov[2] = { { buf, 150 }, { buf + 150, 150 } };

	await_addr(e);
	p.fd = connect_there(e, NULL);
	CHECK(rrecv(p.fd, buf, 10, MSG_DONTWAIT) == -1 && errno == EAGAIN);
	CHECK(rfcntl(p.fd, F_GETFL) == O_RDWR && !rfcntl(p.fd, F_SETFL, O_NONBLOCK));
	CHECK(rrecv(p.fd, buf, 10, 0) == -1 && errno == EAGAIN);
	CHECK(!rfcntl(p.fd, F_SETFL, 0));
	mark(e);
	CHECK(rpoll(&p, 1, -1) == 1 && p.revents == POLLIN);
	CHECK(rrecv(p.fd, buf, 300, MSG_PEEK) == 10 && !memcmp(buf, "0123456789", 10));
	CHECK(rrecv(p.fd, buf, 4, MSG_PEEK) == 4 && rrecv(p.fd, buf, 4, 0) == 4);
	CHECK(rread(p.fd, buf, 300) == 6 && !memcmp(buf, "456789", 6));
	mark(e);
	await(e);
	mark(e);
	CHECK(rrecv(p.fd, buf, 300, MSG_WAITALL) == 300);
	expect_bytes(buf, 300, 0, 9);
	fill(buf, 300, 0, 10);
	CHECK(rwritev(p.fd, iov, 2) == 300);
	CHECK(rrecv(p.fd, buf, 1, 0) == 0);
	CHECK(!rclose(p.fd));
}

/* 1,000 bytes a time into a map of the other end; the following message says that they have arrived. */
static void map_options(int fd)
{
	int maps = 4;

	CHECK(!rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &maps, sizeof(maps)));
}

static uint8_t mapped[100000];

static void map_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, map_options), fd = accept_one(e, lfd);
	uint8_t c = 1;

	CHECK(riomap(fd, mapped, sizeof(mapped), PROT_WRITE, 0, 5000) == 5000);
	CHECK(rsend(fd, &c, 1, 0) == 1);
	CHECK(rrecv(fd, &c, 1, 0) == 1);
	expect_bytes(mapped, sizeof(mapped), 0, 6);
	CHECK(!riounmap(fd, mapped, sizeof(mapped)));
	CHECK(riounmap(fd, mapped, sizeof(mapped)) == -1 && errno == EINVAL);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void map_client(struct ends *e)
{
	uint8_t buf[1000], c;
	int fd;

	await_addr(e);
	fd = connect_there(e, map_options);
	CHECK(rrecv(fd, &c, 1, 0) == 1);
	for (unsigned at = 0; at < sizeof(mapped); at += sizeof(buf)) {
		fill(buf, sizeof(buf), at, 6);
		CHECK(riowrite(fd, buf, sizeof(buf), 5000 + at, 0) == sizeof(buf));
	}
	CHECK(riowrite(fd, buf, 1, 4999, 0) == (size_t)-1 && errno == EINVAL);
	CHECK(riowrite(fd, buf, 1, 105000, 0) == (size_t)-1 && errno == EINVAL);
	CHECK(riomap(fd, buf, sizeof(buf), PROT_READ, 0, 0) == -1 && errno == EINVAL);
	CHECK(rsend(fd, &c, 1, 0) == 1);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd));
}

/* --- an end that waits drives the adapter: its sleep is a call of the library in front of which this program stands --- */

static struct ends *_Atomic sleeper;

__attribute__((visibility("default"))) int dpl_poll(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until);
int dpl_poll(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until)
{
	int (*next)(struct ibv_context *context, struct pollfd *fds, unsigned n, uint64_t until);
	struct ends *told = atomic_exchange(&sleeper, NULL);

	*(void **)&next = dlsym(RTLD_NEXT, "dpl_poll");
	if (told)
		mark(told);
	return next(context, fds, n, until);
}

/* The client says something when it has seen that this end sleeps: first in rrecv(), then in rpoll(). */
static void wait_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd = accept_one(e, lfd);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t c;

	sleeper = e;
	CHECK(rrecv(fd, &c, 1, 0) == 1);
	sleeper = e;
	CHECK(rpoll(&p, 1, -1) == 1 && p.revents == POLLIN && rrecv(fd, &c, 1, 0) == 1);
	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(!rclose(fd) && !rclose(lfd));
}

static void wait_client(struct ends *e)
{
	struct pollfd p = { e->in, POLLIN, 0 };
	int fd;

	await_addr(e);
	fd = connect_there(e, NULL);
	for (int i = 0; i < 2; i++) {
		CHECK_MSG(poll(&p, 1, 60000) == 1, "the server does not sleep by dpl_poll() in %s", i ? "rpoll()" : "rrecv()");
		await(e);
		CHECK(rsend(fd, "x", 1, 0) == 1);
	}
	CHECK(!rclose(fd));
}

int main(void)
{
	ends_run("both ways at once", AF_INET, both_ways_server, both_ways_client);
	ends_run("both ways at once", AF_INET6, both_ways_server, both_ways_client);
	ends_run("small budgets", AF_INET, tiny_server, tiny_client);
	ends_run("half-close", AF_INET, half_server, half_client);
	ends_run("flags and lists", AF_INET, flags_server, flags_client);
	ends_run("I/O maps", AF_INET, map_server, map_client);
	ends_run("an end that waits", AF_INET, wait_server, wait_client);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram rsockets over the real stack: first by UDP, then by queue pairs. */
#include "ends.h"

#include <fcntl.h>
#include <arpa/inet.h>

#define ROUNDS 300

/* Returns each datagram to its sender, until one of a single byte. */
static void echo_server(struct ends *e)
{
	int fd = listen_here(e, SOCK_DGRAM, NULL);
	struct pollfd p = { fd, POLLIN, 0 };
	struct sockaddr_storage from;
	uint8_t buf[2048];
	ssize_t n;

	do {
		socklen_t len = sizeof(from);

		CHECK(rpoll(&p, 1, -1) == 1 && p.revents == POLLIN);
		n = rrecvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
		CHECK(n >= 0 && len == e->addr_len && from.ss_family == e->family);
		CHECK(rsendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len) == n);
	} while (n != 1);
	await(e);
	CHECK(!rclose(fd));
}

static int again; /* repeated questions: as many late answers may follow */

/* True for the answer to an earlier question; all have different lengths. */
static bool belated(ssize_t n, size_t len)
{
	return n != (ssize_t)len && again-- > 0;
}

/* The network may lose a datagram: the question is repeated until the answer comes. */
static ssize_t ask(struct ends *e, int fd, const uint8_t *buf, size_t len, uint8_t *answer)
{
	struct pollfd p = { fd, POLLIN, 0 };
	struct iovec iov = { answer, 2048 };
	struct sockaddr_storage from;
	struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &iov,
			      .msg_iovlen = 1 };
	ssize_t n;

	for (int i = 0; i < 20; i++) {
		CHECK(rsendto(fd, buf, len, 0, (struct sockaddr *)&e->addr, e->addr_len) ==
		      (ssize_t)len);
		again += i > 0;
		while (rpoll(&p, 1, 1000)) {
			n = rrecvmsg(fd, &msg, 0);
			CHECK(n >= 0 && msg.msg_namelen == e->addr_len && !msg.msg_flags);
			CHECK(!memcmp(&((struct sockaddr_in *)&from)->sin_port,
				      &((struct sockaddr_in *)&e->addr)->sin_port, 2));
			if (!belated(n, len))
				return n;
		}
	}
	CHECK(!"an answer");
	return -1;
}

static void echo_client(struct ends *e)
{
	int fd = rsocket(e->family, SOCK_DGRAM, 0);
	uint8_t buf[2048], answer[2048];
	size_t max = 2048;

	CHECK(fd >= 0);
	await_addr(e);
	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t len = i < 3 ? i * 2 : 2 + i * 6;

		fill(buf, len, 0, i);
		CHECK(ask(e, fd, buf, len, answer) == (ssize_t)len);
		expect_bytes(answer, len, 0, i);
	}
	CHECK(rsendto(fd, buf, max + 1, 0, (struct sockaddr *)&e->addr, e->addr_len) == -1);
	CHECK(errno == EMSGSIZE);
	CHECK(ask(e, fd, buf, 1, answer) == 1);
	mark(e);
	CHECK(!rclose(fd));
}

static void small_server(struct ends *e)
{
	int fd = listen_here(e, SOCK_DGRAM, NULL);
	uint8_t buf[10];

	CHECK(rrecv(fd, buf, sizeof(buf), MSG_DONTWAIT) == -1 && errno == EAGAIN);
	mark(e);
	CHECK(rrecv(fd, buf, 4, MSG_PEEK) == 4);
	CHECK(rrecv(fd, buf, 4, MSG_PEEK | MSG_TRUNC) == 6);
	CHECK(rrecv(fd, buf, 4, 0) == 4 && !memcmp(buf, "abcd", 4));
	CHECK(rrecv(fd, buf, 10, 0) == 2 && !memcmp(buf, "gh", 2));
	CHECK(!rclose(fd));
	mark(e);
}

static void small_client(struct ends *e)
{
	int fd = rsocket(e->family, SOCK_DGRAM, 0);

	await_addr(e);
	await(e);
	CHECK(rsend(fd, "abcdef", 6, 0) == -1 && errno == EDESTADDRREQ);
	CHECK(!rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len));
	CHECK(rsend(fd, "abcdef", 6, 0) == 6);
	CHECK(rwrite(fd, "gh", 2) == 2);
	await(e);
	CHECK(!rclose(fd));
}

/* A datagram of an ordinary socket, without an rsocket header, is dropped. */
static void junk_server(struct ends *e)
{
	int fd = listen_here(e, SOCK_DGRAM, NULL);
	struct pollfd p = { fd, POLLIN, 0 };
	uint8_t buf[100];

	await(e);
	CHECK(rpoll(&p, 1, 200) == 0);
	mark(e);
	CHECK(rrecv(fd, buf, sizeof(buf), 0) == 3);
	CHECK(!rclose(fd));
	mark(e);
}

static void junk_client(struct ends *e)
{
	static const uint8_t rows[][16] = {
		{ 0x55, 0x55, 0x55, 0x54, 4, 0, 16, 0 },
		{ 0x55, 0x55, 0x55, 0x55, 5, 0, 16, 0 },
		{ 0x55, 0x55, 0x55, 0x55, 4, 1, 16, 0 },
		{ 0x55, 0x55, 0x55, 0x55, 4, 0, 17, 0 },
		{ 0x55, 0x55, 0x55, 0x55, 6, 0, 28, 0 },
		{ 0x55, 0x55, 0x55, 0x55, 4, 0, 255, 0 },
	};
	int udp = socket(e->family, SOCK_DGRAM, 0), fd = rsocket(e->family, SOCK_DGRAM, 0);

	await_addr(e);
	CHECK(!connect(udp, (struct sockaddr *)&e->addr, e->addr_len));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t len = 0; len <= sizeof(rows[0]); len += 5)
			CHECK(send(udp, rows[i], len == 15 ? 16 : len, 0) >= 0);
	mark(e);
	await(e);
	CHECK(!rconnect(fd, (struct sockaddr *)&e->addr, e->addr_len));
	CHECK(rsend(fd, "abc", 3, 0) == 3);
	await(e);
	CHECK(!rclose(fd));
	close(udp);
}

int main(void)
{
	ends_run("echo", AF_INET, echo_server, echo_client);
	ends_run("echo", AF_INET6, echo_server, echo_client);
	ends_run("sizes and peers", AF_INET, small_server, small_client);
	ends_run("junk", AF_INET, junk_server, junk_client);
	return 0;
}

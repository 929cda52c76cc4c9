/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A reset of the stream is no end of file: unsent data of the peer is lost, and the reader must
 * get an error. The peer is TCP and the few octets of an MPA Reply, since no RDMA program can
 * be made to reset a stream on purpose; siw does when it is closed with data on its way to it.
 */
#include "ends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HEAD 20

static void read_all(int fd, uint8_t *to, size_t len)
{
	for (ssize_t n; len; to += n, len -= (size_t)n) {
		n = read(fd, to, len);
		CHECK(n > 0);
	}
}

/* The connection data of the other end will do for this one; a length of 16 bits precedes it. */
static void reply(int fd)
{
	uint8_t frame[HEAD + 512];
	size_t len;

	read_all(fd, frame, HEAD);
	CHECK(!memcmp(frame, "MPA ID Req Frame", 16) && frame[17] == 1);
	len = (size_t)frame[18] << 8 | frame[19];
	CHECK(len <= 512);
	read_all(fd, frame + HEAD, len);
	memcpy(frame, "MPA ID Rep Frame", 16);
	CHECK(write(fd, frame, HEAD + len) == (ssize_t)(HEAD + len));
}

static void reset_server(struct ends *e)
{
	struct linger hard = { 1, 0 };
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int lfd = socket(AF_INET, SOCK_STREAM, 0), fd;

	CHECK(lfd >= 0 && !bind(lfd, (struct sockaddr *)&a, len) && !listen(lfd, 1));
	CHECK(!getsockname(lfd, (struct sockaddr *)&a, &len));
	CHECK(write(e->out, &a, sizeof(a)) == sizeof(a));
	for (int i = 0; i < 3; i++) {
		fd = accept(lfd, NULL, NULL);
		CHECK(fd >= 0);
		reply(fd);
		await(e);
		CHECK(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard)));
		CHECK(!close(fd));
		mark(e);
	}
	CHECK(!close(lfd));
}

static int met(struct ends *e, const struct sockaddr_in *a)
{
	int fd = rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0 && !rconnect(fd, (const struct sockaddr *)a, sizeof(*a)));
	return fd;
}

static void told_once(int fd)
{
	char c;

	CHECK(rrecv(fd, &c, 1, 0) == 0);
	CHECK(rsend(fd, &c, 1, 0) == -1 && errno == ECONNRESET);
	CHECK(!rclose(fd));
}

/* Asleep in rrecv; then with rpoll; then over and over, as rstream does. */
static void reset_client(struct ends *e)
{
	struct sockaddr_in a;
	struct pollfd p = { .events = POLLIN };
	char c;
	ssize_t n;
	int fd;

	CHECK(read(e->in, &a, sizeof(a)) == sizeof(a));
	fd = met(e, &a);
	mark(e);
	n = rrecv(fd, &c, 1, 0);
	CHECK_MSG(n == -1 && errno == ECONNRESET, "asleep: %zd", n);
	await(e);
	told_once(fd);

	p.fd = met(e, &a);
	mark(e);
	CHECK(rpoll(&p, 1, -1) == 1);
	n = rrecv(p.fd, &c, 1, 0);
	CHECK_MSG(n == -1 && errno == ECONNRESET, "polled: %zd", n);
	await(e);
	told_once(p.fd);

	fd = met(e, &a);
	mark(e);
	do
		n = rrecv(fd, &c, 1, MSG_DONTWAIT);
	while (n == -1 && errno == EAGAIN);
	CHECK_MSG(n == -1 && errno == ECONNRESET, "asked: %zd", n);
	await(e);
	told_once(fd);
}

int main(void)
{
	/* The plain form of the handshake, without depths in it. */
	CHECK(!setenv("DAPPLE_MPA", "rev1,nocrc", 1));
	ends_run("reset", AF_INET, reset_server, reset_client);
	return 0;
}

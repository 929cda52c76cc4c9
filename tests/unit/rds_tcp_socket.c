/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much of a TCP stream an owner of the connections has removed from its socket, as the next owner asks the kernel: while octets come,
 * and behind each way in which a connection may end.
 */
#include "ulp/rds/tcp_socket.h"

#include "support/cases.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOKS 20000

/* A connection of TCP over loopback, and where in its stream this end is. */
static struct {
	int fd, peer;
} tcp;

static void make(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	tcp.peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(listener >= 0 && tcp.peer >= 0 && !bind(listener, (struct sockaddr *)&at, len) && !listen(listener, 1));
	CHECK(!getsockname(listener, (struct sockaddr *)&at, &len) && !connect(tcp.peer, (struct sockaddr *)&at, len));
	tcp.fd = accept(listener, NULL, NULL);
	CHECK(tcp.fd >= 0);
	rds_tcp_tune(tcp.peer);
	close(listener);
}

static void end(void)
{
	close(tcp.fd);
	if (tcp.peer >= 0)
		close(tcp.peer);
}

static void send_octets(size_t n)
{
	static const char octets[1000];

	CHECK(send(tcp.peer, octets, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void remove_octets(size_t n)
{
	char octets[1000];

	CHECK(recv(tcp.fd, octets, n, MSG_WAITALL) == (ssize_t)n);
}

static bool has_removed(uint64_t n)
{
	uint64_t removed;

	CHECK(rds_tcp_removed(tcp.fd, &removed));
	return removed == n;
}

static void await(short event)
{
	struct pollfd p = { tcp.fd, event, 0 };

	CHECK(poll(&p, 1, 10000) == 1);
}

/* The peer's FIN has a sequence number, and is no octet. */
static void fin(void)
{
	make();
	CHECK(has_removed(0));
	send_octets(100);
	remove_octets(40);
	CHECK(has_removed(40));
	shutdown(tcp.peer, SHUT_WR);
	await(POLLRDHUP);
	CHECK(has_removed(40)); /* CLOSE_WAIT */
	shutdown(tcp.fd, SHUT_WR);
	CHECK(has_removed(40)); /* LAST_ACK, or CLOSED */
	await(POLLHUP);
	CHECK(has_removed(40));
	remove_octets(60);
	CHECK(has_removed(100));
	end();
}

/* This end's FIN comes first, as with an owner that reads the connection of the one before to its end. */
static void fin_second(void)
{
	make();
	send_octets(100);
	remove_octets(1);
	shutdown(tcp.fd, SHUT_WR);
	CHECK(has_removed(1));
	close(tcp.peer);
	tcp.peer = -1;
	await(POLLHUP);
	CHECK(has_removed(1));
	remove_octets(99);
	CHECK(has_removed(100));
	end();
}

static void reset(bool behind_fin)
{
	struct linger now = { .l_onoff = 1 };

	make();
	send_octets(100);
	remove_octets(7);
	if (behind_fin) {
		shutdown(tcp.peer, SHUT_WR);
		await(POLLRDHUP);
	}
	setsockopt(tcp.peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(tcp.peer);
	tcp.peer = -1;
	await(POLLHUP);
	CHECK(has_removed(7));
	end();
}

static void resets(void)
{
	reset(false);
	reset(true);
}

static atomic_bool stop;

static void *send_on(void *arg)
{
	while (!atomic_load(&stop))
		send_octets(1000);
	return NULL;
}

/* Octets that come between the questions do not count as removed. */
static void octets_that_come(void)
{
	uint64_t removed = 0;
	pthread_t peer;

	make();
	CHECK(!pthread_create(&peer, NULL, send_on, NULL));
	for (int i = 0; i < LOOKS; i++) {
		CHECK(has_removed(removed));
		remove_octets(1000);
		removed += 1000;
	}
	atomic_store(&stop, true);
	while (recv(tcp.fd, (char[1000]){ 0 }, 1000, MSG_DONTWAIT) > 0)
		;
	pthread_join(peer, NULL);
	end();
}

/* An attempt that has succeeded goes on; one that waits for its peer, or was refused, never stands. */
static void stopped(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1, n;
	struct pollfd p;

	make();
	CHECK(rds_tcp_stop(tcp.peer));
	send_octets(10);
	remove_octets(10);
	end();

	CHECK(listener >= 0 && !bind(listener, (struct sockaddr *)&at, len) && !listen(listener, 0));
	CHECK(!getsockname(listener, (struct sockaddr *)&at, &len));
	for (n = 0; n < 8; n++) { /* the queue of the listener fills */
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		CHECK(!connect(fd, (struct sockaddr *)&at, len) || errno == EINPROGRESS);
		p = (struct pollfd){ fd, POLLOUT, 0 };
		if (!poll(&p, 1, 50))
			break;
	}
	CHECK(n < 8 && !rds_tcp_stop(fd));
	close(listener);
	CHECK(getpeername(fd, (struct sockaddr *)&at, &len) && errno == ENOTCONN);

	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(1) };
	CHECK(connect(fd, (struct sockaddr *)&at, sizeof(at)) && !rds_tcp_stop(fd));
	close(fd);
}

static const struct test_case cases[] = {
	{ "-", "an attempt to connect that is stopped", stopped },
	{ "-", "a FIN is no octet", fin },
	{ "-", "a FIN behind that of this end", fin_second },
	{ "-", "resets", resets },
	{ "-", "octets that come meanwhile", octets_that_come },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

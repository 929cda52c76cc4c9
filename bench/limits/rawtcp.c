/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limits of a TCP connection itself, as the yardstick of the iWARP path. Two
 * processes on loopback; no delay, and reno where it may be chosen, as in link/tcp.
 *
 *	bench-rawtcp lat  [BYTES] [ROUNDS]   both polling; half the round trip in us
 *	bench-rawtcp blat [BYTES] [ROUNDS]   both blocking in poll() before each read
 *	bench-rawtcp rate [BYTES] [SECONDS]  one send call per message; messages/s
 *	bench-rawtcp many [SOCKETS] [SECONDS] FPDUs of 64 bytes of payload, by turns: to each socket a call with 16 of them, and
 *	                                     at most 1,024 that the other end has not read; messages/s
 *	bench-rawtcp bw   [BYTES] [SECONDS]  sends of BYTES, both ends blocking; GB/s received, then
 *	                                     CPU time per byte, both ends, in ns
 *	bench-rawtcp sum  [BYTES] [SECONDS]  the same with a CRC32C over each piece of a segment's
 *	                                     size: copied and summed, then sent; received, summed
 *	                                     and only then copied to its place. The least that a
 *	                                     checked placement can do.
 */
#include "limit.h"
#include "util/crc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHUNK (256 * 1024)
#define PIECE (65483 - 4) /* with its sum a segment of the loopback interface */

static void tune(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

static void connection(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	fd[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l < 0 || fd[0] < 0 || bind(l, (struct sockaddr *)&a, n) < 0 || listen(l, 1) < 0 ||
	    getsockname(l, (struct sockaddr *)&a, &n) < 0 ||
	    connect(fd[0], (struct sockaddr *)&a, n) < 0)
		lim_fail("connect");
	fd[1] = accept(l, NULL, NULL);
	if (fd[1] < 0)
		lim_fail("accept");
	close(l);
	tune(fd[0]);
	tune(fd[1]);
}

/* A whole message. */
static void get(int fd, char *buf, size_t n, bool block)
{
	struct pollfd p = { fd, POLLIN, 0 };

	while (n) {
		ssize_t r = recv(fd, buf, n, MSG_DONTWAIT);

		if (r == 0 || (r < 0 && errno != EAGAIN))
			lim_fail("recv");
		if (r > 0)
			n -= (size_t)r;
		else if (block)
			poll(&p, 1, -1);
	}
}

static void put(int fd, const char *buf, size_t n)
{
	while (n) {
		ssize_t r = send(fd, buf, n, MSG_NOSIGNAL);

		if (r < 0)
			lim_fail("send");
		buf += r;
		n -= (size_t)r;
	}
}

struct pings {
	int fd;
	char *buf;
	size_t bytes;
	bool block;
};

static void ping(void *arg)
{
	struct pings *p = arg;

	put(p->fd, p->buf, p->bytes);
	get(p->fd, p->buf, p->bytes, p->block);
}

static int latency(size_t bytes, int rounds, bool block)
{
	struct pings p = { .buf = calloc(1, bytes), .bytes = bytes, .block = block };
	int fd[2];
	pid_t child;

	connection(fd);
	child = lim_fork();
	if (child == 0) {
		for (int i = 0; i < rounds; i++) {
			get(fd[1], p.buf, bytes, block);
			put(fd[1], p.buf, bytes);
		}
		_exit(0);
	}
	p.fd = fd[0];
	printf("%.3f\n", lim_median(ping, &p, rounds, 20) / 2);
	free(p.buf);
	return lim_join(child);
}

/* Sends one message. Returns the bytes received, 0 at the end. */
struct way {
	void (*out)(int fd, const char *from, size_t bytes);
	size_t (*in)(int fd, char *to, size_t bytes);
};

static size_t get_some(int fd, char *to, size_t bytes)
{
	ssize_t n = recv(fd, to, CHUNK, 0);

	(void)bytes;
	return n > 0 ? (size_t)n : 0;
}

static const struct way plain = { put, get_some };

static void put_summed(int fd, const char *from, size_t bytes)
{
	static char stage[PIECE + 4];

	for (size_t off = 0; off < bytes; off += PIECE) {
		size_t n = bytes - off < PIECE ? bytes - off : PIECE;
		uint32_t crc = ut_crc32c_copy(0, stage, from + off, n);

		memcpy(stage + n, &crc, sizeof(crc));
		put(fd, stage, n + sizeof(crc));
	}
}

/* Returns false at the end. */
static bool get_all(int fd, char *to, size_t n)
{
	while (n) {
		ssize_t r = recv(fd, to, n, 0);

		if (r <= 0)
			return false;
		to += r;
		n -= (size_t)r;
	}
	return true;
}

static size_t get_summed(int fd, char *to, size_t bytes)
{
	static char stage[PIECE + 4];
	uint32_t crc;

	for (size_t off = 0; off < bytes; off += PIECE) {
		size_t n = bytes - off < PIECE ? bytes - off : PIECE;

		if (!get_all(fd, stage, n + sizeof(crc)))
			return 0;
		memcpy(&crc, stage + n, sizeof(crc));
		if (ut_crc32c(0, stage, n) != crc)
			lim_fail("a wrong CRC");
		memcpy(to + off, stage, n);
	}
	return bytes;
}

static const struct way with_sums = { put_summed, get_summed };

/*
 * Bytes per second that arrive while the other end sends messages of this size; and the
 * processor time of both ends.
 */
static double throughput(const struct way *way, size_t bytes, double seconds, double *cpu)
{
	char *buf = calloc(1, bytes > CHUNK ? bytes : CHUNK);
	double sum = 0, t, last;
	pid_t child;
	int fd[2];
	size_t n;

	connection(fd);
	child = lim_fork();
	if (child == 0) {
		close(fd[1]);
		for (t = lim_now(); lim_now() < t + seconds;)
			for (int i = 0; i < 16; i++)
				way->out(fd[0], buf, bytes);
		_exit(0);
	}
	close(fd[0]);
	for (t = last = lim_now(); (n = way->in(fd[1], buf, bytes)); last = lim_now())
		sum += (double)n;
	free(buf);
	lim_join(child);
	*cpu = lim_cpu() / sum * 1e9;
	return sum / (last - t);
}

/* --- many sockets, as a thousand queue pairs of iWARP have them --- */

#define FPDU (2 + 18 + 64 + 4) /* length, header of a Send, payload, CRC (RFC 5044, 5041) */
#define BURST 16
#define FLIGHT 1024

/* Never returns. */
static void read_all(const int *fd, int n, _Atomic uint64_t *bytes)
{
	static char buf[CHUNK];
	struct epoll_event got[64], e = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	for (int i = 0; i < n; i++) {
		e.data.fd = fd[i];
		if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, fd[i], &e) < 0)
			lim_fail("epoll");
	}
	for (;;) {
		int ready = epoll_wait(ep, got, 64, 0);

		for (int i = 0; i < ready; i++) {
			ssize_t r = recv(got[i].data.fd, buf, sizeof(buf), MSG_DONTWAIT);

			if (r == 0)
				_exit(0);
			if (r > 0)
				atomic_fetch_add_explicit(bytes, (uint64_t)r, memory_order_relaxed);
		}
	}
}

static int many(int n, double seconds)
{
	_Atomic uint64_t *got = mmap(NULL, sizeof(*got), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rlimit most = { (rlim_t)n * 2 + 64, (rlim_t)n * 2 + 64 };
	int *out = calloc((size_t)n, sizeof(*out)), *in = calloc((size_t)n, sizeof(*in)), fd[2];
	static char burst[BURST * FPDU];
	uint64_t sent = 0;
	pid_t child;
	double t;

	setrlimit(RLIMIT_NOFILE, &most);
	if (got == MAP_FAILED || !out || !in)
		lim_fail("memory");
	for (int i = 0; i < n; i++) {
		connection(fd);
		out[i] = fd[0];
		in[i] = fd[1];
	}
	child = lim_fork();
	if (child == 0) {
		for (int i = 0; i < n; i++)
			close(out[i]);
		read_all(in, n, got);
	}
	for (int i = 0; i < n; i++)
		close(in[i]);
	for (t = lim_now(); lim_now() < t + seconds;)
		for (int i = 0; i < 64; i++, sent += BURST) {
			while (sent + BURST > atomic_load_explicit(got, memory_order_relaxed) / FPDU + FLIGHT)
				sched_yield();
			put(out[sent / BURST % (uint64_t)n], burst, sizeof(burst));
		}
	while (atomic_load(got) < sent * FPDU)
		sched_yield();
	printf("%.0f\n", (double)sent / (lim_now() - t));
	for (int i = 0; i < n; i++)
		close(out[i]);
	free(out);
	free(in);
	return lim_join(child);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t bytes = (size_t)lim_number(argc, argv, 2, 0);
	double seconds = lim_number(argc, argv, 3, 1), cpu, r;

	if (!strcmp(mode, "lat") || !strcmp(mode, "blat"))
		return latency(bytes ? bytes : 8, (int)lim_number(argc, argv, 3, 20000) / 20 * 20,
			       mode[0] == 'b');
	if (!strcmp(mode, "rate")) {
		bytes = bytes ? bytes : 64;
		printf("%.0f\n", throughput(&plain, bytes, seconds, &cpu) / (double)bytes);
		return 0;
	}
	if (!strcmp(mode, "many"))
		return many(bytes ? (int)bytes : 1000, seconds);
	if (!strcmp(mode, "bw") || !strcmp(mode, "sum")) {
		r = throughput(mode[0] == 's' ? &with_sums : &plain, bytes ? bytes : 1 << 20, seconds, &cpu);
		printf("%.4f\ncpu %.4f\n", r / 1e9, cpu);
		return 0;
	}
	fprintf(stderr, "usage: bench-rawtcp lat|blat|rate|many|bw|sum [BYTES|SOCKETS] [ROUNDS|SECONDS]\n");
	return 2;
}

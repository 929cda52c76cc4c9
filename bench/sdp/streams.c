/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of octets between two processes of one host, the same program over TCP, rsockets and SDP:
 *
 *	bench-streams tcp|rsocket|sdp lat SIZE[,SIZE...] ROUNDS     half of a round trip in us, median of batches
 *	bench-streams tcp|rsocket|sdp bw  SIZE[,SIZE...] MIB        calls of SIZE, until so many MiB; GB/s received
 *
 * Both ends block in their calls; an rsocket and SDP poll before they sleep, the kernel's TCP sleeps. A size is received whole.
 */
#include "../limits/limit.h"

#include "ulp/listen.h"
#include "ulp/sdp/stream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPIN_US 100
#define TIMEOUT_MS 20000
#define SIZES 16
#define MOST_CALLS 200000
#define LEAST_CALLS 40

struct way;

/* One end of a stream. */
struct end {
	const struct way *way;
	int fd;
	struct sdp_stream sdp;
	char *buf;
	size_t size;            /* of the round under way */
};

struct way {
	const char *name;
	/* The server tells its port by the pipe, and accepts; the client connects. */
	void (*serve)(struct end *e, int tell);
	void (*dial)(struct end *e, uint16_t port);
	bool (*send)(struct end *e, const void *at, size_t len);
	bool (*receive)(struct end *e, void *at, size_t len);
};

static void need(bool good, const char *operation)
{
	if (!good)
		lim_fail(operation);
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* --- TCP --- */

static void tune(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void tcp_serve(struct end *e, int tell)
{
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	need(l >= 0 && !bind(l, (struct sockaddr *)&a, len) && !listen(l, 1) && !getsockname(l, (struct sockaddr *)&a, &len), "listen");
	need(write(tell, &a.sin_port, 2) == 2, "pipe");
	e->fd = accept(l, NULL, NULL);
	need(e->fd >= 0, "accept");
	tune(e->fd);
}

static void tcp_dial(struct end *e, uint16_t port)
{
	struct sockaddr_in a = loopback(port);

	e->fd = socket(AF_INET, SOCK_STREAM, 0);
	need(e->fd >= 0 && !connect(e->fd, (struct sockaddr *)&a, sizeof(a)), "connect");
	tune(e->fd);
}

static bool tcp_send(struct end *e, const void *at, size_t len)
{
	return send(e->fd, at, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool tcp_receive(struct end *e, void *at, size_t len)
{
	return recv(e->fd, at, len, MSG_WAITALL) == (ssize_t)len;
}

/* --- rsockets --- */

static void rs_serve(struct end *e, int tell)
{
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	int l = rsocket(AF_INET, SOCK_STREAM, 0);

	need(l >= 0 && !rbind(l, (struct sockaddr *)&a, len) && !rlisten(l, 1) && !rgetsockname(l, (struct sockaddr *)&a, &len), "rlisten");
	need(write(tell, &a.sin_port, 2) == 2, "pipe");
	e->fd = raccept(l, NULL, NULL);
	need(e->fd >= 0, "raccept");
}

static void rs_dial(struct end *e, uint16_t port)
{
	struct sockaddr_in a = loopback(port);

	e->fd = rsocket(AF_INET, SOCK_STREAM, 0);
	need(e->fd >= 0 && !rconnect(e->fd, (struct sockaddr *)&a, sizeof(a)), "rconnect");
}

static bool rs_send(struct end *e, const void *at, size_t len)
{
	const char *from = at;

	while (len) {
		ssize_t n = rsend(e->fd, from, len, 0);

		if (n <= 0)
			return false;
		from += n;
		len -= (size_t)n;
	}
	return true;
}

static bool rs_receive(struct end *e, void *at, size_t len)
{
	char *to = at;

	while (len) {
		ssize_t n = rrecv(e->fd, to, len, MSG_WAITALL);

		if (n <= 0)
			return false;
		to += n;
		len -= (size_t)n;
	}
	return true;
}

/* --- SDP --- */

static struct sdp_conf conf;

static void sdp_stands(struct end *e, struct sdp_conn *c, const char *why)
{
	if (!c) {
		fprintf(stderr, "%s\n", why);
		errno = ECONNREFUSED;
	}
	need(c != NULL, "connection of SDP");
	sdp_stream_begin(&e->sdp, c, &conf, SPIN_US);
}

static void sdp_serve(struct end *e, int tell)
{
	struct sockaddr_in a = loopback(0);
	struct ulp_listener *l = ulp_listen((struct sockaddr *)&a, SDP_PORT_SPACE, 0, 1);
	struct pollfd p = { .events = POLLIN };
	struct ulp_request q;
	char why[ULP_WHY_MAX];

	need(l != NULL, "listener of SDP");
	need(write(tell, &a.sin_port, 2) == 2, "pipe");
	p.fd = ulp_listener_fd(l);
	while (ulp_listener_next(l, &q))
		poll(&p, 1, -1);
	sdp_stands(e, sdp_accept(q.id, q.data, q.len, &conf, TIMEOUT_MS, why), why);
}

static void sdp_dial(struct end *e, uint16_t port)
{
	struct sockaddr_in a = loopback(port);
	char why[ULP_WHY_MAX];
	int err;

	sdp_stands(e, sdp_connect(NULL, (struct sockaddr *)&a, &conf, TIMEOUT_MS, &err, why), why);
}

static bool sdp_way_send(struct end *e, const void *at, size_t len)
{
	return sdp_stream_send(&e->sdp, at, len) == (ssize_t)len;
}

static bool sdp_way_receive(struct end *e, void *at, size_t len)
{
	return sdp_stream_receive(&e->sdp, at, len, true) == (ssize_t)len;
}

static const struct way ways[] = {
	{ "tcp", tcp_serve, tcp_dial, tcp_send, tcp_receive },
	{ "rsocket", rs_serve, rs_dial, rs_send, rs_receive },
	{ "sdp", sdp_serve, sdp_dial, sdp_way_send, sdp_way_receive },
};

/* --- measures --- */

static void pong(struct end *e)
{
	need(e->way->receive(e, e->buf, e->size) && e->way->send(e, e->buf, e->size), "pong");
}

static void ping(void *arg)
{
	struct end *e = arg;

	need(e->way->send(e, e->buf, e->size) && e->way->receive(e, e->buf, e->size), "ping");
}

static int calls_of(size_t size, double mib)
{
	double n = mib * (1 << 20) / (double)size;

	return n > MOST_CALLS ? MOST_CALLS : n < LEAST_CALLS ? LEAST_CALLS : (int)n;
}

static void sink(struct end *e, int calls)
{
	for (int i = 0; i < calls; i++)
		need(e->way->receive(e, e->buf, e->size), "receive");
	need(e->way->send(e, e->buf, 1), "answer");
}

/* The first tenth is for warming up. */
static double pour(struct end *e, int calls)
{
	double t = 0;

	for (int i = 0; i < calls; i++) {
		if (i == calls / 10)
			t = lim_now();
		need(e->way->send(e, e->buf, e->size), "send");
	}
	need(e->way->receive(e, e->buf, 1), "answer");
	return (double)e->size * (calls - calls / 10) / (lim_now() - t) / 1e9;
}

#define BATCH 20

static void rounds(struct end *e, bool serves, bool latency, double n)
{
	int batches = n < BATCH ? 1 : (int)(n / BATCH), calls = calls_of(e->size, n);

	if (serves && latency) {
		for (int i = 0; i < (batches + 1) * BATCH; i++)
			pong(e);
	} else if (serves) {
		sink(e, calls);
	} else if (latency) {
		for (int i = 0; i < BATCH; i++)
			ping(e);
		printf("%zu %.3f\n", e->size, lim_median(ping, e, batches * BATCH, BATCH) / 2);
	} else {
		printf("%zu %.4f\n", e->size, pour(e, calls));
	}
}

static void run(struct end *e, bool serves, char **argv)
{
	char *list = strdup(argv[3]), *next = list;

	for (char *word; (word = strsep(&next, ",")); ) {
		e->size = strtoul(word, NULL, 10);
		rounds(e, serves, !strcmp(argv[2], "lat"), strtod(argv[4], NULL));
	}
	free(list);
}

int main(int argc, char **argv)
{
	struct end e = { .fd = -1 };
	uint16_t port;
	int tell[2];
	pid_t child;

	for (size_t i = 0; argc == 5 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			e.way = &ways[i];
	if (!e.way) {
		fprintf(stderr, "usage: bench-streams tcp|rsocket|sdp lat|bw SIZE[,SIZE...] ROUNDS|MIB\n");
		return 2;
	}
	conf = sdp_conf_stream;
	e.buf = aligned_alloc(4096, 8 << 20);
	need(e.buf && !pipe(tell), "memory");
	memset(e.buf, 1, 8 << 20);
	child = lim_fork();
	if (!child) {
		e.way->serve(&e, tell[1]);
		run(&e, true, argv);
		need(e.way->receive(&e, e.buf, 1), "end");
		_exit(0);
	}
	need(read(tell[0], &port, 2) == 2, "pipe");
	e.way->dial(&e, port);
	run(&e, false, argv);
	need(e.way->send(&e, e.buf, 1), "end");
	return lim_join(child);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limits of a UDP socket itself, as the yardstick of the RoCE path.
 *
 *	bench-rawudp lat [BYTES] [ROUNDS]    two processes, both polling;
 *	                                     prints half the round trip in us
 *	bench-rawudp blat [BYTES] [ROUNDS]   the same, both blocking
 *	bench-rawudp bw  [BYTES] [SECONDS]   UDP_SEGMENT trains of datagrams of
 *	                                     BYTES, UDP_GRO receiver; prints GB/s
 *	                                     received, then CPU time per byte in ns
 *	bench-rawudp pps [BYTES] [SECONDS]   a call per datagram at both ends;
 *	                                     prints datagrams received per second
 */
#include "limit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static int udp(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), big = 4 << 20, pmtu = IP_PMTUDISC_DO;
	socklen_t n = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)addr, &n) < 0)
		lim_fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	return fd;
}

struct pings {
	int fd, flags; /* MSG_DONTWAIT: polling */
	struct sockaddr_in to;
	char buf[65536];
	size_t bytes;
};

static void get(struct pings *p)
{
	while (recv(p->fd, p->buf, sizeof(p->buf), p->flags) < 0)
		if (errno != EAGAIN)
			lim_fail("recv");
}

static void put(struct pings *p)
{
	if (sendto(p->fd, p->buf, p->bytes, 0, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0)
		lim_fail("send");
}

static void ping(void *arg)
{
	put(arg);
	get(arg);
}

static int latency(size_t bytes, int rounds, bool block)
{
	static struct pings client, server;
	pid_t child;

	client.fd = udp(&server.to);
	server.fd = udp(&client.to);
	client.flags = server.flags = block ? 0 : MSG_DONTWAIT;
	client.bytes = server.bytes = bytes;
	child = lim_fork();
	if (child == 0) {
		for (int i = 0; i < rounds; i++) {
			get(&server);
			put(&server);
		}
		_exit(0);
	}
	printf("%.3f\n", lim_median(ping, &client, rounds, 20) / 2);
	return lim_join(child);
}

static void blast(int fd, const struct sockaddr_in *to, size_t bytes, double seconds, bool trains)
{
	size_t packets = 65000 / bytes < 64 ? 65000 / bytes : 64, len = trains ? packets * bytes : bytes;
	char *buf = calloc(1, 65536);
	int seg = (int)bytes;
	double end = lim_now() + seconds;

	if (trains)
		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &seg, sizeof(seg));
	while (lim_now() < end)
		for (int i = 0; i < 16; i++)
			sendto(fd, buf, len, 0, (const struct sockaddr *)to, sizeof(*to));
	free(buf);
}

/* In GB/s by trains, else in datagrams per second. */
static int stream(size_t bytes, double seconds, bool trains)
{
	struct sockaddr_in a, b;
	int fa = udp(&a), fb = udp(&b), on = 1;
	char *buf = malloc(1 << 17);
	double sum = 0, t, last;
	pid_t child = lim_fork();

	if (child == 0) {
		blast(fa, &b, bytes, seconds, trains);
		_exit(0);
	}
	if (trains)
		setsockopt(fb, SOL_UDP, UDP_GRO, &on, sizeof(on));
	for (t = last = lim_now(); lim_now() < t + seconds;) {
		ssize_t n = recv(fb, buf, 1 << 17, MSG_DONTWAIT);

		if (n > 0) {
			sum += (double)n;
			last = lim_now();
		}
	}
	free(buf);
	lim_join(child);
	printf("%.4f\ncpu %.4f\n", sum / (last - t) / (trains ? 1e9 : (double)bytes),
	       lim_cpu() / sum * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t bytes = (size_t)lim_number(argc, argv, 2, 0);
	double seconds = lim_number(argc, argv, 3, 1);

	if (!strcmp(mode, "lat") || !strcmp(mode, "blat"))
		return latency(bytes ? bytes : 32, (int)lim_number(argc, argv, 3, 20000) / 20 * 20,
			       mode[0] == 'b');
	if (!strcmp(mode, "bw"))
		return stream(bytes ? bytes : 4112, seconds, true);
	if (!strcmp(mode, "pps"))
		return stream(bytes ? bytes : 80, seconds, false);
	fprintf(stderr, "usage: bench-rawudp lat|blat|bw|pps [BYTES] [ROUNDS|SECONDS]\n");
	return 2;
}

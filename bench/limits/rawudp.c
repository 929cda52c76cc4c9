/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limits of a UDP socket itself, as the yardstick of the RoCE path.
 *
 *	bench-rawudp lat [BYTES] [ROUNDS]    two processes, both polling;
 *	                                     prints half the round trip in us
 *	bench-rawudp blat [BYTES] [ROUNDS]   the same, both blocking
 *	bench-rawudp acked [BYTES] [ROUNDS]  both polling, and each message is acknowledged by a datagram of
 *	                                     its own that leaves before the answer: the least that a reliable
 *	                                     connection can do whose Sends are complete when the answer comes
 *	bench-rawudp backed [BYTES] [ROUNDS] the same, both blocking
 *	bench-rawudp bw  [BYTES] [SECONDS] [MESSAGE]
 *	                                     UDP_SEGMENT trains of datagrams of
 *	                                     BYTES, from a message of MESSAGE bytes
 *	                                     to a place of that size, UDP_GRO
 *	                                     receiver; prints GB/s received, then
 *	                                     CPU time per byte in ns
 *	bench-rawudp sum [BYTES] [SECONDS] [MESSAGE]
 *	                                     the same with a CRC of each datagram:
 *	                                     copied and summed, then sent; received,
 *	                                     summed and only then copied to its
 *	                                     place. The least that a checked
 *	                                     placement can do.
 *	bench-rawudp pps [BYTES] [SECONDS]   a call per datagram at both ends;
 *	                                     prints datagrams received per second
 */
#include "limit.h"
#include "util/crc.h"

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

#define ACK 20 /* BTH, AETH and ICRC (IBTA 9.2, 9.5.1, 9.6) */

struct pings {
	int fd, flags; /* MSG_DONTWAIT: polling */
	struct sockaddr_in to;
	char buf[65536];
	size_t bytes;
	bool acked;
};

struct latency_way {
	size_t bytes;
	int rounds;
	bool blocks, acked;
};

static void get_one(struct pings *p)
{
	while (recv(p->fd, p->buf, sizeof(p->buf), p->flags) < 0)
		if (errno != EAGAIN)
			lim_fail("recv");
}

static void put_one(struct pings *p, size_t bytes)
{
	if (sendto(p->fd, p->buf, bytes, 0, (const struct sockaddr *)&p->to, sizeof(p->to)) < 0)
		lim_fail("send");
}

static void get(struct pings *p)
{
	if (p->acked)
		get_one(p);
	get_one(p);
}

static void put(struct pings *p)
{
	if (p->acked)
		put_one(p, ACK);
	put_one(p, p->bytes);
}

static void ping(void *arg)
{
	put(arg);
	get(arg);
}

static int latency(const struct latency_way *w)
{
	static struct pings client, server;
	pid_t child;

	client.fd = udp(&server.to);
	server.fd = udp(&client.to);
	client.flags = server.flags = w->blocks ? 0 : MSG_DONTWAIT;
	client.bytes = server.bytes = w->bytes;
	client.acked = server.acked = w->acked;
	child = lim_fork();
	if (child == 0) {
		for (int i = 0; i < w->rounds; i++) {
			get(&server);
			put(&server);
		}
		_exit(0);
	}
	printf("%.3f\n", lim_median(ping, &client, w->rounds, 20) / 2);
	return lim_join(child);
}

/* --- streams --- */

#define MOST (64 * 1024) /* in a train, headers included */
#define TRAIN 64         /* packets */
#define HEADER 12        /* as a BTH (IBTA 9.2); an ICRC of 4 bytes ends the packet (9.6) */

struct way {
	size_t packet, message; /* bytes: of a datagram; of the memory that is sent, and of its place */
	bool trains, sums;
};

static size_t payload_of(const struct way *w)
{
	return w->packet - HEADER - sizeof(uint32_t);
}

static char *touched(size_t n)
{
	char *p = malloc(n);

	if (!p)
		lim_fail("memory");
	return memset(p, 1, n); /* untouched memory is one page of zeroes, which stays in the cache */
}

/* The datagram of n bytes of payload; returns its size. */
static size_t packet(char *to, const char *from, size_t n)
{
	uint32_t sum;

	memset(to, 0, HEADER);
	sum = ut_crc32_copy(0, to + HEADER, from, n);
	memcpy(to + HEADER + n, &sum, sizeof(sum));
	return HEADER + n + sizeof(sum);
}

/* Returns the size of the train from `from`, of which *off bytes of the message have been sent. */
static size_t summed_train(const struct way *w, const char *from, char *stage, size_t *off)
{
	size_t len = 0, part = payload_of(w);

	for (int i = 0; i < TRAIN && *off < w->message && len + w->packet <= MOST; i++) {
		size_t n = w->message - *off < part ? w->message - *off : part;

		len += packet(stage + len, from + *off, n);
		*off += n;
	}
	return len;
}

static void blast(int fd, const struct sockaddr_in *to, const struct way *w, double seconds)
{
	size_t packets = MOST / w->packet < TRAIN ? MOST / w->packet : TRAIN, off = 0;
	size_t most = w->trains ? packets * w->packet : w->packet;
	char *from = touched(w->message + MOST), *stage = touched(MOST);
	int seg = (int)w->packet;
	double end = lim_now() + seconds;

	if (w->trains)
		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &seg, sizeof(seg));
	while (lim_now() < end)
		for (int i = 0; i < 16; i++) {
			const char *at = w->sums ? stage : from + off;
			size_t len = w->sums ? summed_train(w, from, stage, &off) : most;

			if (!w->sums)
				off += len;
			sendto(fd, at, len, 0, (const struct sockaddr *)to, sizeof(*to));
			if (off >= w->message)
				off = 0;
		}
	free(from);
	free(stage);
}

/* Places what a coalesced receive has brought. */
static void place(const struct way *w, const char *stage, size_t len, char *to, size_t *off)
{
	for (size_t n, at = 0; at < len; at += n) {
		uint32_t sum;

		n = len - at < w->packet ? len - at : w->packet;
		memcpy(&sum, stage + at + n - sizeof(sum), sizeof(sum));
		if (ut_crc32(0, stage + at + HEADER, n - HEADER - sizeof(sum)) != sum)
			lim_fail("a wrong CRC");
		memcpy(to + *off, stage + at + HEADER, n - HEADER - sizeof(sum));
		*off += n - HEADER - sizeof(sum);
	}
}

/* In GB/s by trains, else in datagrams per second. */
static int stream(const struct way *w, double seconds)
{
	struct sockaddr_in a, b;
	int fa = udp(&a), fb = udp(&b), on = 1;
	char *to = touched(w->message + MOST), *stage = touched(MOST);
	double sum = 0, t, last;
	pid_t child = lim_fork();
	size_t off = 0;

	if (child == 0) {
		blast(fa, &b, w, seconds);
		_exit(0);
	}
	if (w->trains)
		setsockopt(fb, SOL_UDP, UDP_GRO, &on, sizeof(on));
	for (t = last = lim_now(); lim_now() < t + seconds;) {
		ssize_t n = recv(fb, w->sums ? stage : to + off, MOST, MSG_DONTWAIT);

		if (n <= 0)
			continue;
		if (w->sums)
			place(w, stage, (size_t)n, to, &off);
		else
			off += (size_t)n;
		if (off >= w->message)
			off = 0;
		sum += (double)n;
		last = lim_now();
	}
	free(to);
	free(stage);
	lim_join(child);
	printf("%.4f\ncpu %.4f\n", sum / (last - t) / (w->trains ? 1e9 : (double)w->packet),
	       lim_cpu() / sum * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t bytes = (size_t)lim_number(argc, argv, 2, 0);
	double seconds = lim_number(argc, argv, 3, 1);
	struct way w = { 0 };

	if (!strcmp(mode, "lat") || !strcmp(mode, "blat") || !strcmp(mode, "acked") || !strcmp(mode, "backed"))
		return latency(&(struct latency_way){
			.bytes = bytes ? bytes : 32, .rounds = (int)lim_number(argc, argv, 3, 20000) / 20 * 20,
			.blocks = mode[0] == 'b', .acked = strstr(mode, "ack") != NULL });
	w.trains = strcmp(mode, "pps") != 0;
	w.sums = !strcmp(mode, "sum");
	w.packet = bytes ? bytes : w.trains ? 4112 : 80;
	w.message = (size_t)lim_number(argc, argv, 4, w.trains ? 1 << 20 : (double)w.packet);
	if ((w.sums || !strcmp(mode, "bw") || !w.trains) && w.packet > HEADER + sizeof(uint32_t) && w.packet <= MOST)
		return stream(&w, seconds);
	fprintf(stderr, "usage: bench-rawudp lat|blat|acked|backed|pps [BYTES] [ROUNDS|SECONDS]\n"
			"       bench-rawudp bw|sum [BYTES] [SECONDS] [MESSAGE]\n");
	return 2;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the socket itself can do: the yardstick for the RoCE path.
 *
 *	bench-rawudp lat [BYTES] [ROUNDS]    two processes, both polling;
 *	                                     prints half the round trip in us
 *	bench-rawudp bw  [BYTES] [SECONDS]   UDP_SEGMENT trains of datagrams of
 *	                                     BYTES, UDP_GRO receiver; prints GB/s
 *	                                     received
 *	bench-rawudp pps [BYTES] [SECONDS]   a call per datagram at both ends;
 *	                                     prints datagrams received per second
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int udp(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), big = 4 << 20, pmtu = IP_PMTUDISC_DO;
	socklen_t n = sizeof(*addr);

	*addr = (struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr = { htonl(INADDR_LOOPBACK) } };
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, n) < 0 ||
	    getsockname(fd, (struct sockaddr *)addr, &n) < 0) {
		perror("bench-rawudp: socket");
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu));
	return fd;
}

static void spin_recv(int fd, char *buf, size_t n)
{
	while (recv(fd, buf, n, MSG_DONTWAIT) < 0)
		if (errno != EAGAIN)
			exit(1);
}

static void put(int fd, const struct sockaddr_in *to, const char *buf, size_t n)
{
	if (sendto(fd, buf, n, 0, (const struct sockaddr *)to, sizeof(*to)) < 0)
		exit(1);
}

static int latency(size_t bytes, int rounds)
{
	struct sockaddr_in a, b;
	int fa = udp(&a), fb = udp(&b), status;
	char *buf = calloc(1, 65536);
	pid_t child = fork();
	double t;

	if (child == 0) {
		for (int i = 0; i < rounds; i++) {
			spin_recv(fb, buf, 65536);
			put(fb, &a, buf, bytes);
		}
		_exit(0);
	}
	t = now();
	for (int i = 0; i < rounds; i++) {
		put(fa, &b, buf, bytes);
		spin_recv(fa, buf, 65536);
	}
	printf("%.3f\n", (now() - t) / rounds / 2 * 1e6);
	free(buf);
	return waitpid(child, &status, 0) < 0 || status;
}

static void blast(int fd, const struct sockaddr_in *to, size_t bytes, double seconds, bool trains)
{
	size_t packets = 65000 / bytes < 64 ? 65000 / bytes : 64, len = trains ? packets * bytes : bytes;
	char *buf = calloc(1, 65536);
	int seg = (int)bytes;
	double end = now() + seconds;

	if (trains)
		setsockopt(fd, SOL_UDP, UDP_SEGMENT, &seg, sizeof(seg));
	while (now() < end)
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
	pid_t child = fork();

	if (child == 0) {
		blast(fa, &b, bytes, seconds, trains);
		_exit(0);
	}
	if (trains)
		setsockopt(fb, SOL_UDP, UDP_GRO, &on, sizeof(on));
	for (t = last = now(); now() < t + seconds;) {
		ssize_t n = recv(fb, buf, 1 << 17, MSG_DONTWAIT);

		if (n > 0) {
			sum += (double)n;
			last = now();
		}
	}
	printf("%.4f\n", sum / (last - t) / (trains ? 1e9 : (double)bytes));
	free(buf);
	return waitpid(child, NULL, 0) < 0;
}

int main(int argc, char **argv)
{
	size_t bytes = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
	double third = argc > 3 ? atof(argv[3]) : 0;

	if (argc > 1 && !strcmp(argv[1], "lat"))
		return latency(bytes ? bytes : 32, third > 0 ? (int)third : 20000);
	if (argc > 1 && !strcmp(argv[1], "bw"))
		return stream(bytes ? bytes : 4112, third > 0 ? third : 1, true);
	if (argc > 1 && !strcmp(argv[1], "pps"))
		return stream(bytes ? bytes : 80, third > 0 ? third : 1, false);
	fprintf(stderr, "usage: bench-rawudp lat|bw|pps [BYTES] [ROUNDS|SECONDS]\n");
	return 2;
}

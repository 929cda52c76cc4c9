/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A plain HTTP server with plain TCP calls, to be preloaded: http_one PORT FILE CHECKSUM answers
 * one request with the file, and the checksum in a header, and ends. Another header says what the
 * connection's congestion control calls itself, which is "rdma" for an rsocket. The usual servers
 * make their sockets by flags (SOCK_CLOEXEC) or take connections by accept4(), which the
 * distribution's librspreload leaves to TCP.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int listener(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (fd < 0)
		fail("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		fail("bind");
	if (listen(fd, 1) < 0)
		fail("listen");
	return fd;
}

static void put(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t r = write(fd, p, n);

		if (r <= 0)
			fail("write");
		p += r;
		n -= (size_t)r;
	}
}

static void take_request(int fd)
{
	char buf[4096];
	size_t n = 0;

	do {
		ssize_t r = read(fd, buf + n, sizeof(buf) - 1 - n);

		if (r <= 0)
			fail("read");
		n += (size_t)r;
		buf[n] = 0;
	} while (!strstr(buf, "\r\n\r\n") && n < sizeof(buf) - 1);
	if (strncmp(buf, "GET ", 4) != 0)
		fail("request");
}

static void answer(int fd, const char *path, const char *sum)
{
	char head[512], buf[65536], via[17] = "";
	socklen_t via_len = sizeof(via) - 1;
	int file = open(path, O_RDONLY);
	struct stat st;
	ssize_t n;

	if (file < 0 || fstat(file, &st) < 0)
		fail(path);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, via, &via_len) < 0)
		fail("congestion control");
	snprintf(head, sizeof(head),
		 "HTTP/1.0 200 OK\r\nContent-Length: %lld\r\nX-Sum: %s\r\nX-Via: %s\r\n\r\n",
		 (long long)st.st_size, sum, via);
	put(fd, head, strlen(head));
	while ((n = read(file, buf, sizeof(buf))) > 0)
		put(fd, buf, (size_t)n);
	close(file);
}

int main(int argc, char **argv)
{
	char rest[64];
	int l, fd;

	if (argc != 4)
		return 2;
	l = listener(atoi(argv[1]));
	fd = accept(l, NULL, NULL);
	if (fd < 0)
		fail("accept");
	take_request(fd);
	answer(fd, argv[2], argv[3]);
	shutdown(fd, SHUT_WR);
	while (read(fd, rest, sizeof(rest)) > 0)
		;
	close(fd);
	close(l);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of the UDP link: a free port, addresses, packets. */
#ifndef TESTS_LINK_UDP_UTIL_H
#define TESTS_LINK_UDP_UTIL_H

#include "link/udp/udp.h"
#include "util/clock.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(x)                                                                    \
	do {                                                                        \
		if (!(x)) {                                                         \
			fprintf(stderr, "%s:%d: [%d] %s\n", __FILE__, __LINE__,     \
				(int)getpid(), #x);                                 \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

static const uint8_t LO4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
static const uint8_t LO6[16] = { [15] = 1 };

/* Free for both families a moment ago. */
static inline uint16_t free_port(void)
{
	for (int i = 0; i < 100; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		struct sockaddr_in6 b = { .sin6_family = AF_INET6 };
		socklen_t n = sizeof(a);
		int fd = socket(AF_INET, SOCK_DGRAM, 0), f6 = socket(AF_INET6, SOCK_DGRAM, 0), r;

		a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		CHECK(bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
		CHECK(getsockname(fd, (struct sockaddr *)&a, &n) == 0);
		b.sin6_addr = in6addr_loopback;
		b.sin6_port = a.sin_port;
		r = f6 >= 0 ? bind(f6, (struct sockaddr *)&b, sizeof(b)) : 0;
		close(fd);
		close(f6);
		if (r == 0)
			return ntohs(a.sin_port);
	}
	CHECK(!"a free port");
	return 0;
}

static inline bool have_ipv6(void)
{
	struct sockaddr_in6 b = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&b, sizeof(b)) == 0;

	close(fd);
	return ok;
}

/* The eight bytes that the link looks at; the rest is the test's. */
static inline void put_bth(uint8_t *p, uint32_t qpn)
{
	p[0] = 4;
	p[1] = p[2] = p[3] = p[4] = 0;
	p[5] = (uint8_t)(qpn >> 16);
	p[6] = (uint8_t)(qpn >> 8);
	p[7] = (uint8_t)qpn;
}

static inline struct ut_flow flow_to(const uint8_t src[16], const uint8_t dst[16],
				       uint16_t sport)
{
	struct ut_flow f = { .sport = sport, .ttl = 64 };

	memcpy(f.src, src, 16);
	memcpy(f.dst, dst, 16);
	return f;
}

/* Sleeps on the link's descriptor until recv gives something or time is over. */
static inline int recv_wait(struct link *l, struct link_rx *v, int max, uint64_t ns)
{
	uint64_t end = ut_now() + ns;
	int n;

	for (;;) {
		struct pollfd p = { l->ops->fd(l), POLLIN, 0 };
		uint64_t now;

		n = l->ops->recv(l, v, max);
		now = ut_now();
		if (n || now >= end)
			return n;
		poll(&p, 1, (int)((end - now) / UT_MS) + 1);
	}
}

#endif

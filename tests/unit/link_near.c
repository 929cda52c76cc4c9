/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two links of one host that reach each other through shared memory: what arrives is what the wire
 * would have brought, the source port included when another socket has the wanted one (the ICRC
 * covers it).
 */
#include "link_udp_util.h"

#include <errno.h>

#define SECOND "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\2"

/* A socket of somebody else on 127.0.0.1; its port. */
static uint16_t occupy(int *fd)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(sa);

	*fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(*fd >= 0 && bind(*fd, (struct sockaddr *)&sa, n) == 0);
	CHECK(getsockname(*fd, (struct sockaddr *)&sa, &n) == 0);
	return ntohs(sa.sin_port);
}

/* Sends until it goes (the ends must agree first) and takes it at the other end. */
static void pass(struct link *from, struct link *to, const struct link_flow *f, struct link_rx *ret)
{
	uint64_t end = ut_now() + 20 * UT_S;
	struct link_rx v[8];
	uint8_t data[32] = { 0 };
	int r = -EAGAIN, n = 0;

	put_bth(data, to->qpn_fixed | 0x55);
	while (!n && ut_now() < end) {
		if (r == -EAGAIN)
			r = from->ops->send(from, f, data, 32, 32);
		from->ops->recv(from, v, 8);
		n = to->ops->recv(to, v, 8);
	}
	CHECK(r == 0 && n == 1 && v[0].len == 32);
	*ret = v[0];
}

int main(void)
{
	uint16_t port = free_port(), taken;
	struct udp_stats st;
	struct link *a, *b;
	struct link_flow f;
	struct link_rx rx;
	int fd;

	CHECK(udp_open(port, &a) == 0 && udp_go_near(a) == 0 && a->ops->add_addr(a, LO4, 0) == 0);
	CHECK(udp_open(port, &b) == 0 && udp_go_near(b) == 0);
	CHECK(b->ops->add_addr(b, (const uint8_t *)SECOND, 0) == 0);
	taken = occupy(&fd);
	f = flow_to(LO4, (const uint8_t *)SECOND, taken);
	pass(a, b, &f, &rx);
	CHECK(rx.sport == a->ops->source_port(a, &f) && rx.sport != taken);
	f.sport = 0xd123;
	pass(a, b, &f, &rx);
	CHECK(rx.sport == a->ops->source_port(a, &f));
	CHECK(!memcmp(rx.src, LO4, 16) && !memcmp(rx.dst, SECOND, 16));
	udp_stats(b, &st);
	CHECK(st.near_received == 2);
	close(fd);
	a->ops->close(a);
	b->ops->close(b);
	return 0;
}

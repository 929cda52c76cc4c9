/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulated net: order, time, seeds, hooks, limits, refusals, groups. */
#include "support/simnet.h"

#include "util/heap.h"
#include "support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t A[16] = { [10] = 0xff, 0xff, 10, 0, 0, 1 };
static const uint8_t B[16] = { [10] = 0xff, 0xff, 10, 0, 0, 2 };
static const uint8_t C[16] = { [10] = 0xff, 0xff, 10, 0, 0, 3 };
static const uint8_t G[16] = { 0xff, 0x02, [15] = 9 };

static struct sim_net *net;
static struct link *a, *b;

static void open_pair(struct sim_config cfg)
{
	CHECK(sim_net_open(&cfg, &net) == 0);
	CHECK(sim_link_open(net, A, &a) == 0);
	CHECK(sim_link_open(net, B, &b) == 0);
}

static void close_pair(void)
{
	a->ops->close(a);
	b->ops->close(b);
	sim_net_close(net);
}

static int send_to(const uint8_t dst[16], const void *data, size_t len, size_t seg)
{
	struct ut_flow f = { .sport = 50000, .tos = 2, .ttl = 64 };

	memcpy(f.src, A, 16);
	memcpy(f.dst, dst, 16);
	return a->ops->send(a, &f, 0, data, len, seg);
}

static void test_train(void)
{
	uint8_t data[2500];
	struct link_rx v[8];

	open_pair((struct sim_config){ .delay = 100 });
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	CHECK(send_to(B, data, sizeof(data), 1000) == 0);
	CHECK(sim_net_next(net) == 100);
	CHECK(a->port && a->ops->source_port(a, &(struct ut_flow){ .sport = 7 }) == 7);
	CHECK(sim_net_deliver(net, 99) == 0);
	CHECK(b->ops->recv(b, v, 8) == 0);
	CHECK(sim_net_deliver(net, 100) == 3);
	CHECK(b->ops->recv(b, v, 8) == 3);
	for (int i = 0; i < 3; i++) {
		CHECK(v[i].seg == i && v[i].len == (i < 2 ? 1000u : 500u));
		CHECK(v[i].data == b->rx_stage->base + v[i].off);
		CHECK(!memcmp(v[i].data, data + 1000 * i, v[i].len));
		CHECK(v[i].sport == 50000 && v[i].tos == 2 && v[i].ttl == 64);
		CHECK(!memcmp(v[i].src, A, 16) && !memcmp(v[i].dst, B, 16));
	}
	CHECK(sim_net_next(net) == UT_NEVER);
	CHECK(send_to(B, data, 65 * 8, 8) == -EMSGSIZE);
	sim_link_block(a, true);
	CHECK(send_to(B, data, 8, 8) == -EAGAIN);
	close_pair();
}

static int drop_second(void *arg, struct sim_packet *p)
{
	if (p->nr == 2)
		p->data[0] = 'x';
	return p->nr == 1 ? 0 : p->nr == 3 ? 2 : 1;
}

static void test_hook(void)
{
	struct link_rx v[8];
	const char text[] = "abcd";

	open_pair((struct sim_config){ .delay = 1 });
	sim_net_hook(net, drop_second, NULL);
	CHECK(send_to(B, text, 4, 1) == 0);
	sim_net_deliver(net, 1);
	CHECK(b->ops->recv(b, v, 8) == 4);
	CHECK(v[0].data[0] == 'a' && v[1].data[0] == 'x');
	CHECK(v[2].data[0] == 'd' && v[3].data[0] == 'd');
	CHECK(v[0].seg == 0 && v[1].seg == 0 && v[2].seg == 1 && v[3].seg == 0);
	close_pair();
}

/* A hash of everything that arrives, in order. */
static uint64_t weather(uint64_t seed)
{
	struct link_fault_rates r = { 50, 50, 50, 50, seed };
	uint64_t h = 1469598103934665603u, now = 0;
	struct sim_stats st;
	struct link_rx v[16];
	uint8_t data[64];

	open_pair((struct sim_config){ .rates = r, .delay = 1000, .jitter = 300 });
	for (int i = 0; i < 1000; i++) {
		memset(data, i, sizeof(data));
		CHECK(send_to(B, data, 64, 16) == 0);
		now += 500;
		sim_net_deliver(net, now);
		for (int n = b->ops->recv(b, v, 16), k = 0; k < n; k++)
			for (uint32_t j = 0; j < v[k].len; j++)
				h = (h ^ v[k].data[j]) * 1099511628211u;
	}
	sim_net_stats(net, &st);
	CHECK(st.sent == 4000 && st.lost > 100 && st.lost < 320);
	CHECK(st.doubled > 100 && st.delayed > 100 && st.damaged > 100);
	close_pair();
	return h;
}

static void test_limits(void)
{
	static uint8_t big[4096];
	struct link_err e;
	struct link_rx v[4];
	struct sim_stats st;

	open_pair((struct sim_config){ .rx_bytes = 8192, .refuse = true });
	for (int i = 0; i < 3; i++)
		CHECK(send_to(B, big, 4096, 4096) == 0);
	sim_net_deliver(net, 0);
	sim_net_stats(net, &st);
	CHECK(st.arrived == 2 && st.overflowed == 1);
	CHECK(b->ops->recv(b, v, 1) == 1 && sim_link_ready(b));
	CHECK(a->ops->error(a, &e) == 0);
	CHECK(send_to(C, big, 1, 1) == 0);
	sim_net_deliver(net, 0);
	CHECK(a->ops->error(a, &e) == 1 && e.error == ECONNREFUSED);
	CHECK(!memcmp(e.dst, C, 16) && a->ops->error(a, &e) == 0);
	CHECK(b->ops->add_addr(b, A, 0) == -EADDRINUSE);
	CHECK(b->ops->add_addr(b, C, 0) == 0);
	CHECK(send_to(C, big, 1, 1) == 0);
	/* Closed with a datagram under way in each direction. */
	close_pair();
}

static void test_group(void)
{
	struct link_rx v[4];

	open_pair((struct sim_config){ 0 });
	CHECK(a->ops->join(a, G, 1) == 0 && b->ops->join(b, G, 1) == 0);
	CHECK(send_to(G, "hi", 2, 2) == 0);
	sim_net_deliver(net, 0);
	CHECK(a->ops->recv(a, v, 4) == 1 && b->ops->recv(b, v, 4) == 1);
	b->ops->leave(b, G, 1);
	CHECK(send_to(G, "hi", 2, 2) == 0);
	sim_net_deliver(net, 0);
	CHECK(a->ops->recv(a, v, 4) == 1 && b->ops->recv(b, v, 4) == 0);
	close_pair();
}

int main(void)
{
	test_train();
	test_hook();
	CHECK(weather(7) == weather(7));
	CHECK(weather(7) != weather(8));
	test_limits();
	test_group();
	return 0;
}

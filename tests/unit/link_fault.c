/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bad-weather decorator over the simulated net, and its environment text. */
#include "link/fault.h"
#include "support/simnet.h"
#include "support/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t A[16] = { [15] = 1 };
static const uint8_t B[16] = { [15] = 2 };

static void test_parse(void)
{
	struct link_fault_rates r;
	static const char *const bad[] = { "", "loss", "loss=", "loss=x", "loss=1001", "lose=1",
					   "loss=1,", "loss=600,dup=600",
					   "seed=99999999999999999999" };

	CHECK(link_fault_parse("loss=10,dup=5,reorder=20,corrupt=1,seed=42", &r) == 0);
	CHECK(r.loss == 10 && r.dup == 5 && r.reorder == 20 && r.corrupt == 1 && r.seed == 42);
	CHECK(link_fault_parse("seed=18446744073709551615", &r) == 0);
	CHECK(r.loss == 0 && r.seed == UINT64_MAX);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(link_fault_parse(bad[i], &r) == -EINVAL);
	CHECK(r.seed == UINT64_MAX);
}

struct tally {
	int count, disorder, doubled, damaged;
	int64_t last;
};

/* The first four bytes count; the rest repeats the fourth. */
static void account(struct tally *t, const struct link_rx *v)
{
	uint32_t x;
	bool whole = true;

	CHECK(v->len == 32);
	memcpy(&x, v->data, 4);
	for (int i = 4; i < 32; i++)
		whole = whole && v->data[i] == v->data[0];
	t->count++;
	if (!whole || x > 100000) {
		t->damaged++;
		return;
	}
	t->doubled += x == t->last;
	t->disorder += x < t->last;
	t->last = x;
}

static struct tally run(struct link_fault_rates rates, bool sender_side, size_t train)
{
	struct sim_config cfg = { .delay = 1 };
	struct ut_flow f = { .ttl = 64 };
	struct link *a, *b, **side = sender_side ? &a : &b;
	struct tally t = { .last = -1 };
	struct sim_net *net;
	uint8_t data[32 * 8];
	struct link_rx v[16];

	CHECK(sim_net_open(&cfg, &net) == 0);
	CHECK(sim_link_open(net, A, &a) == 0 && sim_link_open(net, B, &b) == 0);
	CHECK(link_fault_open(*side, &rates, side) == 0);
	CHECK(a->ops->fd(a) == -1);
	memcpy(f.src, A, 16);
	memcpy(f.dst, B, 16);
	for (uint32_t i = 0, now = 0; i < 4000;) {
		for (size_t k = 0; k < train; k++, i++) {
			memset(data + 32 * k, (uint8_t)i, 32);
			memcpy(data + 32 * k, &i, 4);
		}
		CHECK(a->ops->send(a, &f, 0, data, 32 * train, 32) == 0);
		sim_net_deliver(net, ++now);
		for (int n; (n = b->ops->recv(b, v, 16)) > 0;)
			for (int k = 0; k < n; k++)
				account(&t, &v[k]);
	}
	a->ops->close(a);
	b->ops->close(b);
	sim_net_close(net);
	return t;
}

static const struct link_ops *plain;
static unsigned calls;

/* Each third call finds the queue full. */
static int send_or_not(struct link *l, const struct ut_flow *flow, uint32_t qpn, const uint8_t *data, size_t len, size_t seg)
{
	return ++calls % 3 ? plain->send(l, flow, qpn, data, len, seg) : -EAGAIN;
}

static int receive_all(struct link *l)
{
	struct link_rx v[16];
	int n, all = 0;

	while ((n = l->ops->recv(l, v, 16)) > 0)
		all += n;
	return all;
}

/* A delayed datagram that finds the queue full goes later: its sender was told that it has gone. */
static void test_busy(void)
{
	struct link_fault_rates delays = { .reorder = 200, .seed = 3 };
	struct sim_config cfg = { .delay = 1 };
	struct ut_flow f = { .ttl = 64 };
	struct link_ops ops;
	struct sim_net *net;
	struct link *a, *b;
	uint8_t data[32] = { 0 };
	int came = 0, r;

	CHECK(sim_net_open(&cfg, &net) == 0);
	CHECK(sim_link_open(net, A, &a) == 0 && sim_link_open(net, B, &b) == 0);
	plain = a->ops;
	ops = *plain;
	ops.send = send_or_not;
	a->ops = &ops;
	CHECK(link_fault_open(a, &delays, &a) == 0);
	memcpy(f.src, A, 16);
	memcpy(f.dst, B, 16);
	for (uint32_t i = 0; i < 4000; i++) {
		while ((r = a->ops->send(a, &f, 0, data, sizeof(data), sizeof(data))) == -EAGAIN)
			;
		CHECK(r == 0);
		sim_net_deliver(net, i + 1);
		came += receive_all(b);
	}
	sim_net_deliver(net, 5000);
	came += receive_all(b);
	CHECK(came > 3980 && came <= 4000); /* the last ones may be held */
	a->ops->close(a);
	b->ops->close(b);
	sim_net_close(net);
}

static int receive_sum(struct link *l, uint64_t *sum)
{
	struct link_rx v[16];
	int n, all = 0;

	for (; (n = l->ops->recv(l, v, 16)) > 0; all += n)
		for (int i = 0; i < n; i++) {
			uint32_t x;

			memcpy(&x, v[i].data, 4);
			*sum += x;
		}
	return all;
}

/* A packet counts once, however often the queue is full: the rule loses those of its numbers, and no other packet is lost. */
static void test_counts_once(const char *text, size_t train, int want_lost, uint64_t want_sum)
{
	struct link_fault_rates none = { 0 };
	struct sim_config cfg = { .delay = 1 };
	struct ut_flow f = { .ttl = 64 };
	static struct link_rules rules;
	struct link_ops ops;
	struct sim_net *net;
	struct link *a, *b;
	uint8_t data[32 * 8] = { 0 };
	uint64_t sum = 0;
	int came = 0, r;
	char why[64];

	CHECK(sim_net_open(&cfg, &net) == 0);
	CHECK(sim_link_open(net, A, &a) == 0 && sim_link_open(net, B, &b) == 0);
	plain = a->ops;
	ops = *plain;
	ops.send = send_or_not;
	a->ops = &ops;
	CHECK(link_fault_open(a, &none, &a) == 0);
	CHECK(link_rules_read(text, &rules, why, sizeof(why)) == 0);
	link_fault_rules(a, &rules, "test");
	memcpy(f.src, A, 16);
	memcpy(f.dst, B, 16);
	for (uint32_t i = 0, now = 0; i < 4000;) {
		for (size_t k = 0; k < train; k++, i++)
			memcpy(data + 32 * k, &i, 4);
		while ((r = a->ops->send(a, &f, 0, data, 32 * train, 32)) == -EAGAIN)
			;
		CHECK(r == 0);
		sim_net_deliver(net, ++now);
		came += receive_sum(b, &sum);
	}
	for (int i = 0; i < 3; i++)
		receive_all(a); /* what has been held goes */
	sim_net_deliver(net, 5000);
	came += receive_sum(b, &sum);
	CHECK(rules.rule[0].seen == 4000);
	CHECK(rules.rule[0].acted == 4000 / rules.rule[0].every);
	CHECK(4000 - came == want_lost);
	CHECK(sum == want_sum);
	a->ops->close(a);
	b->ops->close(b);
	sim_net_close(net);
}

int main(void)
{
	test_parse();
	test_busy();
	for (size_t train = 1; train <= 8; train *= 8) {
		/* All of 0 ... 3999 but 9, 19 ... 3999; and those twice. */
		test_counts_once("lose every=10", train, 400, 7998000 - 801600);
		test_counts_once("duplicate every=10", train, -400, 7998000 + 801600);
		test_counts_once("corrupt=8:1 every=10", train, 0, 7998000);
	}
	for (int side = 0; side < 2; side++) {
		for (size_t train = 1; train <= 8; train *= 8) {
			struct link_fault_rates none = { .seed = 3 };
			struct link_fault_rates all = { 50, 50, 50, 50, 3 };
			struct tally t = run(none, side, train), u;

			CHECK(t.count == 4000 && !t.disorder && !t.doubled && !t.damaged);
			t = run(all, side, train);
			CHECK(t.count > 3900 && t.count < 4100 && t.disorder > 100);
			CHECK(t.doubled > 100 && t.damaged > 100);
			u = run(all, side, train);
			CHECK(!memcmp(&t, &u, sizeof(t)));
		}
	}
	return 0;
}

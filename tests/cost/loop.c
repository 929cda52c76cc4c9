/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of a message: a given number of messages, one at a time, between two QPs of one thread,
 * which posts and polls both ends until the message has arrived and is completed. Other load of the
 * machine changes nothing but the rare tick of the background thread.
 *
 *     cost-loop send|write|read|atomic|stream|spread|pong BYTES COUNT
 *
 * stream and spread post 200 Sends before they poll, the one to one queue pair, the other to 25.
 *
 * pong is between two processes, as programs measure latency: each polls for the other's Send and
 * answers by one. A pipe passes the turn, so few polls are empty; one message is half a round,
 * and the counts of both are added.
 */
#include "ends.h"
#include "support/check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct end a, b;

static void join(uint16_t port)
{
	CHECK(!rdma_create_id(ends_channel, &a.id, NULL, RDMA_PS_TCP));
	ends_resolve(&a, port);
	ends_connect(&a);
	ends_accept(&b);
	ends_event(RDMA_CM_EVENT_ESTABLISHED);
	ends_event(RDMA_CM_EVENT_ESTABLISHED);
}

static void reap(struct end *e, int *left)
{
	int n = ends_poll(e);

	CHECK(n <= *left);
	*left -= n;
}

__attribute__((noinline)) static void message(enum ibv_wr_opcode op)
{
	struct ibv_sge at_a = { (uintptr_t)a.buf, (uint32_t)ends_shape.bytes, a.mr->lkey };
	struct ibv_sge at_b = { (uintptr_t)b.buf, (uint32_t)ends_shape.bytes, b.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &at_a, .num_sge = 1, .opcode = op }, *bad;
	struct ibv_recv_wr rr = { .sg_list = &at_b, .num_sge = 1 }, *bad_rr;
	int left_a = 1, left_b = op == IBV_WR_SEND;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)b.buf;
		wr.wr.atomic.rkey = b.mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
		wr.wr.rdma.rkey = b.mr->rkey;
	}
	if (left_b)
		CHECK(!ibv_post_recv(b.id->qp, &rr, &bad_rr));
	CHECK(!ibv_post_send(a.id->qp, &wr, &bad));
	while (left_a || left_b) {
		if (left_b)
			reap(&b, &left_b);
		if (left_a)
			reap(&a, &left_a);
	}
}

/* --- many at a time --- */

#define BATCH 200
#define SPREAD 25

struct pair {
	struct end a, b;
};

__attribute__((noinline)) static void message_batch(struct pair *p, int n)
{
	struct ibv_sge sge = { .length = (uint32_t)ends_shape.bytes };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rr = { .sg_list = &sge, .num_sge = 1 }, *bad_rr;
	int left = 2 * BATCH;

	for (int i = 0; i < BATCH; i++) {
		struct end *e = &p[i * n / BATCH].b;

		sge.addr = (uintptr_t)e->buf;
		sge.lkey = e->mr->lkey;
		CHECK(!ibv_post_recv(e->id->qp, &rr, &bad_rr));
	}
	for (int i = 0; i < BATCH; i++) {
		struct end *e = &p[i * n / BATCH].a;

		sge.addr = (uintptr_t)e->buf;
		sge.lkey = e->mr->lkey;
		CHECK(!ibv_post_send(e->id->qp, &wr, &bad));
	}
	while (left)
		reap(&p->a, &left);
}

static void stream(int n, unsigned long count)
{
	uint16_t port = ends_listen(ends_open());
	struct pair p[SPREAD];

	ends_shape.depth = 2 * BATCH;
	ends_shape.one_cq = true;
	for (int i = 0; i < n; i++) {
		join(port);
		p[i] = (struct pair){ a, b };
	}
	ends_poll_empty(&a);
	for (; count; count -= BATCH)
		message_batch(p, n);
}

/* --- between two processes --- */

/* Polls until the other process's Send has arrived; completions of this one's Sends come along. */
static void take_pong(struct end *e)
{
	struct ibv_wc wc;

	for (bool got = false; !got;) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		CHECK(n >= 0 && (n == 0 || !wc.status));
		got = n && (wc.opcode & IBV_WC_RECV);
	}
	ends_post_recv(e);
}

__attribute__((noinline)) static void message_of(struct end *e, bool first)
{
	if (!first)
		take_pong(e);
	ends_post_send(e);
}

static void play(struct end *e, unsigned long n, int in, int out, bool first)
{
	if (first) /* now both are set up */
		ends_wait(in);
	for (; n; n--, first = false) {
		if (!first)
			ends_wait(in);
		message_of(e, first);
		ends_pass(out, 0);
	}
}

static void pong(unsigned long count)
{
	int down[2], up[2], status;
	uint16_t port;
	pid_t child;

	CHECK(!pipe(down) && !pipe(up));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		port = ends_listen(ends_open());
		CHECK(write(up[1], &port, sizeof(port)) == sizeof(port));
		ends_accept(&b);
		ends_event(RDMA_CM_EVENT_ESTABLISHED);
		ends_post_recv(&b);
		ends_poll_empty(&b); /* nothing can come before the turn is given away */
		ends_pass(up[1], 0);
		play(&b, count / 2, down[0], up[1], false);
		ends_wait(down[0]); /* the other process has received the last Send */
		_exit(0);
	}
	a.id = ends_open();
	CHECK(read(up[0], &port, sizeof(port)) == sizeof(port));
	ends_resolve(&a, port);
	ends_connect(&a);
	ends_event(RDMA_CM_EVENT_ESTABLISHED);
	ends_post_recv(&a);
	ends_poll_empty(&a);
	play(&a, count / 2, up[0], down[1], true);
	ends_wait(up[0]);
	take_pong(&a);
	ends_pass(down[1], 0);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "send", "write", "read", "atomic" };
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	unsigned int op = 0;

	CHECK(argc == 4);
	CHECK(!setenv("DAPPLE_PROGRESS", "poll", 1)); /* the background thread would take over, since polls are rare here */
	CHECK(!setenv("DAPPLE_SPIN", "0", 1)); /* how long it would spin is the machine's */
	ends_shape.bytes = strtoul(argv[2], NULL, 10);
	if (!strcmp(argv[1], "stream") || !strcmp(argv[1], "spread")) {
		CHECK(!setenv("DAPPLE_LOCAL", "off", 1));
		stream(!strcmp(argv[1], "stream") ? 1 : SPREAD, strtoul(argv[3], NULL, 10));
		_exit(0);
	}
	if (!strcmp(argv[1], "pong")) {
		pong(strtoul(argv[3], NULL, 10));
		_exit(0);
	}
	while (op < 4 && strcmp(argv[1], names[op]))
		op++;
	CHECK(op < 4 && !setenv("DAPPLE_LOCAL", "off", 1));
	join(ends_listen(ends_open()));
	ends_poll_empty(&a);
	for (unsigned long n = strtoul(argv[3], NULL, 10); n; n--)
		message(ops[op]);
	_exit(0); /* the end of the program is not counted */
}

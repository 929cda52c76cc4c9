/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One message at a time, a given number of them, for counting what a message costs: two QPs in one
 * thread, which posts and polls both ends until the message has arrived and is completed. Nothing
 * depends on what else the machine does, except for the rare tick of the background thread.
 *
 *     cost-loop send|write|read|atomic|stream|crowd|pong BYTES COUNT
 *
 * stream and crowd post 200 Sends before they poll, the one to one queue pair, the other to 25.
 *
 * pong is between two processes, as programs measure latency: each polls for the other's Send and
 * answers by one. A pipe passes the turn, so nobody polls for nothing; one message is half a round,
 * and the counts of both are added.
 */
#include "support/check.h"

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
};

static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct end a, b;
static bool shares; /* all ends have one completion queue */
static uint32_t depth = 4;
static size_t bytes;

/* The id the event is for, which is a new one for a request. */
static struct rdma_cm_id *event(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	CHECK(!rdma_get_cm_event(channel, &ev));
	CHECK_MSG(ev->event == want, "%s and not %s", rdma_event_str(ev->event),
		  rdma_event_str(want));
	id = ev->id;
	CHECK(!rdma_ack_cm_event(ev));
	return id;
}

static void equip(struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };

	e->cq = shares && a.cq ? a.cq : ibv_create_cq(e->id->verbs, 4 * (int)depth, NULL, NULL, 0);
	CHECK(e->cq);
	attr.send_cq = attr.recv_cq = e->cq;
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = depth, .max_recv_wr = depth,
					.max_send_sge = 1, .max_recv_sge = 1 };
	CHECK(!rdma_create_qp(e->id, NULL, &attr));
	CHECK(!posix_memalign((void **)&e->buf, 4096, bytes < 8 ? 8 : bytes));
	memset(e->buf, 1, bytes);
	e->mr = ibv_reg_mr(e->id->pd, e->buf, bytes, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(e->mr);
}

static struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					.retry_count = 7, .rnr_retry_count = 7 };

static void open_channel(struct rdma_cm_id **ret)
{
	channel = rdma_create_event_channel();
	CHECK(channel && !rdma_create_id(channel, ret, NULL, RDMA_PS_TCP));
}

/* Its port. */
static uint16_t hear(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	CHECK(!rdma_bind_addr(listener, (struct sockaddr *)&sin) && !rdma_listen(listener, 1));
	return rdma_get_src_port(listener);
}

static void call(uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	CHECK(!rdma_resolve_addr(a.id, NULL, (struct sockaddr *)&sin, 10000));
	event(RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(a.id, 10000));
	event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	equip(&a);
	CHECK(!rdma_connect(a.id, &param));
}

static void answer(void)
{
	b.id = event(RDMA_CM_EVENT_CONNECT_REQUEST);
	equip(&b);
	CHECK(!rdma_accept(b.id, &param));
}

static void join(void)
{
	open_channel(&listener);
	CHECK(!rdma_create_id(channel, &a.id, NULL, RDMA_PS_TCP));
	call(hear());
	answer();
	event(RDMA_CM_EVENT_ESTABLISHED);
	event(RDMA_CM_EVENT_ESTABLISHED);
}

static void reap(struct end *e, int *left)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(e->cq, 16, wc);

	CHECK(n >= 0 && n <= *left);
	for (int i = 0; i < n; i++)
		CHECK_MSG(!wc[i].status, "%s", ibv_wc_status_str(wc[i].status));
	*left -= n;
}

__attribute__((noinline)) static void message(enum ibv_wr_opcode op)
{
	struct ibv_sge at_a = { (uintptr_t)a.buf, bytes, a.mr->lkey };
	struct ibv_sge at_b = { (uintptr_t)b.buf, bytes, b.mr->lkey };
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

/* Who polls in vain is taken for one that polls. */
static void poll_empty(struct end *e)
{
	for (int none = 0, i = 0; i < 64; i++)
		reap(e, &none);
}

/* --- many at a time --- */

#define BATCH 200
#define SOME_QPS 25

struct pair {
	struct end a, b;
};

__attribute__((noinline)) static void message_batch(struct pair *p, int n)
{
	struct ibv_sge sge = { .length = (uint32_t)bytes };
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
	struct pair p[SOME_QPS];

	depth = 2 * BATCH;
	shares = true;
	for (int i = 0; i < n; i++) {
		join();
		p[i] = (struct pair){ a, b };
	}
	poll_empty(&a);
	for (; count; count -= BATCH)
		message_batch(p, n);
}

/* --- between two processes --- */

static void post_pong(struct end *e)
{
	struct ibv_sge at = { (uintptr_t)e->buf, bytes, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &at, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	CHECK(!ibv_post_send(e->id->qp, &wr, &bad));
}

static void post_room(struct end *e)
{
	struct ibv_sge at = { (uintptr_t)e->buf, bytes, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &at, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(e->id->qp, &wr, &bad));
}

/* Until the other's Send is there; completions of our own come along. */
static void take_pong(struct end *e)
{
	struct ibv_wc wc;

	for (bool got = false; !got;) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		CHECK(n >= 0 && (n == 0 || !wc.status));
		got = n && (wc.opcode & IBV_WC_RECV);
	}
	post_room(e);
}

__attribute__((noinline)) static void message_of(struct end *e, bool first)
{
	if (!first)
		take_pong(e);
	post_pong(e);
}

static void turn(int fd, bool mine)
{
	char c = 0;

	CHECK((mine ? write(fd, &c, 1) : read(fd, &c, 1)) == 1);
}

static void play(struct end *e, unsigned long n, int in, int out, bool first)
{
	if (first) /* now both are set up */
		turn(in, false);
	for (; n; n--, first = false) {
		if (!first)
			turn(in, false);
		message_of(e, first);
		turn(out, true);
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
		open_channel(&listener);
		port = hear();
		CHECK(write(up[1], &port, sizeof(port)) == sizeof(port));
		answer();
		event(RDMA_CM_EVENT_ESTABLISHED);
		post_room(&b);
		poll_empty(&b); /* nothing can come before the turn is given away */
		turn(up[1], true);
		play(&b, count / 2, down[0], up[1], false);
		turn(down[0], false); /* the other has taken the last one */
		_exit(0);
	}
	open_channel(&a.id);
	CHECK(read(up[0], &port, sizeof(port)) == sizeof(port));
	call(port);
	event(RDMA_CM_EVENT_ESTABLISHED);
	post_room(&a);
	poll_empty(&a);
	play(&a, count / 2, up[0], down[1], true);
	turn(up[0], false);
	take_pong(&a);
	turn(down[1], true);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "send", "write", "read", "atomic" };
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD };
	unsigned int op = 0;

	CHECK(argc == 4);
	CHECK(!setenv("DAPPLE_PROGRESS", "poll", 1)); /* the thread would join in, since we are slow */
	bytes = strtoul(argv[2], NULL, 10);
	if (!strcmp(argv[1], "stream") || !strcmp(argv[1], "crowd")) {
		CHECK(!setenv("DAPPLE_LOCAL", "off", 1));
		stream(!strcmp(argv[1], "stream") ? 1 : SOME_QPS, strtoul(argv[3], NULL, 10));
		_exit(0);
	}
	if (!strcmp(argv[1], "pong")) {
		pong(strtoul(argv[3], NULL, 10));
		_exit(0);
	}
	while (op < 4 && strcmp(argv[1], names[op]))
		op++;
	CHECK(op < 4 && !setenv("DAPPLE_LOCAL", "off", 1));
	join();
	poll_empty(&a);
	for (unsigned long n = strtoul(argv[3], NULL, 10); n; n--)
		message(ops[op]);
	_exit(0); /* what the end costs is not counted */
}

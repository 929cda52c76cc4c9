/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each call of a message counted alone, between two processes that take turns: the requester posts,
 * the responder polls until it has the message, the requester polls until it has the completion.
 * callgrind writes one part for each call; its trigger names the call and the message:
 *
 *     post N, sent N, received N   the post; the poll that returned the completion
 *     empty N                      a poll that returned nothing
 *     receive N                    the post of the next receive
 *     connect N                    rdma_connect() until ESTABLISHED, all threads of the client
 *     resolve N                    rdma_resolve_addr() up to rdma_connect(), likewise
 *
 *     cost-calls send|write BYTES COUNT
 *     cost-calls connect 0 COUNT
 *
 * A pipe passes the turn, so no process polls beside the other, and each run counts the same. To be
 * run with --collect-atstart=no, connect with yes.
 */
#include "ends.h"
#include "support/check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#define MESSAGE 'm' /* to the responder: a message was posted */
#define POLL 'p'    /* ... the requester polled and has no completion: poll once */
#define STOP 's'
#define DONE 'd'    /* the answer to each of them */

static int down[2], up[2];
static struct ibv_send_wr send_wr;

/* Messages that are not counted come first, as 0: so many that a thread which takes its locks alone owns them (util/lock.h). */
#define UNCOUNTED 600

static void write_part(const char *call, unsigned long n)
{
	char trigger[64];

	if (!n) {
		CALLGRIND_ZERO_STATS;
		return;
	}
	snprintf(trigger, sizeof(trigger), "%s %lu", call, n);
	CALLGRIND_DUMP_STATS_AT(trigger);
}

static void post(struct end *e, unsigned long n)
{
	struct ibv_send_wr *bad;
	int err;

	CALLGRIND_TOGGLE_COLLECT;
	err = ibv_post_send(e->id->qp, &send_wr, &bad);
	CALLGRIND_TOGGLE_COLLECT;
	CHECK(!err);
	write_part("post", n);
}

/* Returns the number of completions, at most 1. */
static int poll_one(struct end *e, const char *call, unsigned long n)
{
	struct ibv_wc wc = { 0 };
	int got;

	CALLGRIND_TOGGLE_COLLECT;
	got = ibv_poll_cq(e->cq, 1, &wc);
	CALLGRIND_TOGGLE_COLLECT;
	CHECK(got >= 0 && !wc.status);
	write_part(got ? call : "empty", n);
	return got;
}

/* --- the responder --- */

static void post_receive(struct end *e, unsigned long n)
{
	CALLGRIND_TOGGLE_COLLECT;
	ends_post_recv(e);
	CALLGRIND_TOGGLE_COLLECT;
	write_part("receive", n);
}

static void respond(struct end *e, bool receives)
{
	unsigned long n, all = 0;

	for (char word; (word = ends_wait(down[0])) != STOP; ends_pass(up[1], DONE)) {
		all += word == MESSAGE;
		n = all > UNCOUNTED ? all - UNCOUNTED : 0;
		if (word == POLL || !receives) {
			poll_one(e, "odd", n);
			continue;
		}
		while (!poll_one(e, "received", n))
			;
		post_receive(e, n);
	}
}

static void serve_messages(bool receives)
{
	struct { uint64_t addr; uint32_t rkey; } where;
	struct end e;
	uint16_t port = ends_listen(ends_open());

	CHECK(write(up[1], &port, sizeof(port)) == sizeof(port));
	ends_accept(&e);
	ends_event(RDMA_CM_EVENT_ESTABLISHED);
	ends_post_recv(&e);
	ends_poll_empty(&e);
	where.addr = (uintptr_t)e.buf;
	where.rkey = e.mr->rkey;
	CHECK(write(up[1], &where, sizeof(where)) == sizeof(where));
	respond(&e, receives);
}

/* --- the requester --- */

static void hand_over(char word)
{
	ends_pass(down[1], word);
	CHECK(ends_wait(up[0]) == DONE);
}

static void message(struct end *e, unsigned long n)
{
	post(e, n);
	hand_over(MESSAGE);
	while (!poll_one(e, "sent", n))
		hand_over(POLL);
}

static uint16_t read_port(void)
{
	uint16_t port;

	CHECK(read(up[0], &port, sizeof(port)) == sizeof(port));
	return port;
}

static void request_messages(enum ibv_wr_opcode op, unsigned long count)
{
	struct { uint64_t addr; uint32_t rkey; } where;
	struct ibv_sge sge;
	struct end e = { .id = ends_open() };

	ends_resolve(&e, read_port());
	ends_connect(&e);
	ends_event(RDMA_CM_EVENT_ESTABLISHED);
	ends_poll_empty(&e);
	CHECK(read(up[0], &where, sizeof(where)) == sizeof(where));
	sge = (struct ibv_sge){ (uintptr_t)e.buf, (uint32_t)ends_shape.bytes, e.mr->lkey };
	send_wr = (struct ibv_send_wr){ .sg_list = &sge, .num_sge = 1, .opcode = op };
	send_wr.wr.rdma.remote_addr = where.addr;
	send_wr.wr.rdma.rkey = where.rkey;
	for (unsigned i = 0; i < UNCOUNTED; i++)
		message(&e, 0);
	for (unsigned long n = 1; n <= count; n++)
		message(&e, n);
	ends_pass(down[1], STOP);
}

/* --- connections --- */

static void serve_connections(unsigned long count)
{
	uint16_t port = ends_listen(ends_open());

	CHECK(write(up[1], &port, sizeof(port)) == sizeof(port));
	while (count--) {
		struct end e;

		ends_accept(&e);
		ends_event(RDMA_CM_EVENT_ESTABLISHED);
	}
	ends_wait(down[0]);
}

static void request_connections(unsigned long count)
{
	uint16_t port = read_port();
	struct end e = { .id = ends_open() };

	for (unsigned long n = 1; n <= count; n++) {
		CALLGRIND_ZERO_STATS;
		ends_resolve(&e, port);
		write_part("resolve", n);
		ends_connect(&e);
		ends_event(RDMA_CM_EVENT_ESTABLISHED);
		write_part("connect", n);
		CHECK(!rdma_create_id(ends_channel, &e.id, NULL, RDMA_PS_TCP));
	}
	ends_pass(down[1], STOP);
}

int main(int argc, char **argv)
{
	unsigned long count;
	int status;
	pid_t child;
	bool connects, writes;

	CHECK(argc == 4);
	connects = !strcmp(argv[1], "connect");
	writes = !strcmp(argv[1], "write");
	CHECK(connects || writes || !strcmp(argv[1], "send"));
	CHECK(!setenv("DAPPLE_SPIN", "0", 1)); /* how long it would spin is the machine's */
	if (!connects) /* the background thread would take over: under valgrind polls are rare */
		CHECK(!setenv("DAPPLE_PROGRESS", "poll", 1));
	ends_shape.bytes = strtoul(argv[2], NULL, 10);
	count = strtoul(argv[3], NULL, 10);
	CHECK(!pipe(down) && !pipe(up));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		connects ? serve_connections(count) : serve_messages(!writes);
		_exit(0);
	}
	connects ? request_connections(count)
		 : request_messages(writes ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, count);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	_exit(0);
}

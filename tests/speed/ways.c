/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way into the other's memory closes while it is in use: at one end or at the other, with
 * requests outstanding. All of them end well, with the right bytes.
 */
#include "speed.h"
#include "refuse.h"

#include <stdlib.h>
#include <sys/wait.h>

enum { BLOCK = 200000, DEEP = 4, TIMES = 60 };

static bool first_closes;

static void close_way(bool mine)
{
	if (mine)
		CF_TRUE(refuse_process_vm());
}

static void begin(bool first)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(!refuse_process_vm());
	CF_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		cf_skip("this machine refuses filters of system calls");
	first_closes = first;
}

/* Writes there, reads back, and sends; several at a time. */
static void connect_and_send(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;

	o.len = 2 * DEEP * BLOCK;
	cf_side(&s, &o);
	to = cf_connect(p, &s);
	for (int n = 0; n < TIMES; n++) {
		cf_fill(s.buf, DEEP * BLOCK, (uint64_t)n);
		for (uint64_t i = 0; i < DEEP; i++) {
			cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 3 * i, .off = i * BLOCK,
				.len = BLOCK, .raddr = to.addr + i * BLOCK, .rkey = to.rkey);
			cf_post(&s, .op = IBV_WR_RDMA_READ, .id = 3 * i + 1, .off = (DEEP + i) * BLOCK,
				.len = BLOCK, .raddr = to.addr + i * BLOCK, .rkey = to.rkey);
			cf_post(&s, .op = IBV_WR_SEND, .id = 3 * i + 2, .off = i * BLOCK, .len = BLOCK);
		}
		if (n == TIMES / 2)
			close_way(first_closes);
		for (uint64_t i = 0; i < 3 * DEEP; i++)
			cf_wc(s.scq, i, SUCCESS);
		cf_verify(s.buf + DEEP * BLOCK, DEEP * BLOCK, (uint64_t)n);
		cf_meet(p);
	}
}

static void listen_to(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = 2 * DEEP * BLOCK;
	cf_side(&s, &o);
	cf_up(&s, IBV_QPS_INIT, NULL);
	for (uint64_t i = 0; i < DEEP; i++)
		cf_recv(&s, i, (DEEP + i) * BLOCK, BLOCK);
	cf_connect(p, &s);
	for (int n = 0; n < TIMES; n++) {
		for (uint64_t i = 0; i < DEEP; i++) {
			if (n == TIMES / 2 && i == 1)
				close_way(!first_closes);
			cf_wc(s.rcq, i, SUCCESS);
		}
		/* one pattern over all of them, which was sent in pieces */
		cf_verify(s.buf + DEEP * BLOCK, DEEP * BLOCK, (uint64_t)n);
		for (uint64_t i = 0; i < DEEP; i++)
			cf_recv(&s, i, (DEEP + i) * BLOCK, BLOCK);
		cf_meet(p);
	}
}

static void closed_by_initiator(void)
{
	begin(true);
	cf_processes(connect_and_send, listen_to);
}

static void closed_by_target(void)
{
	begin(false);
	cf_processes(connect_and_send, listen_to);
}

const struct cf_check cf_checks[] = {
	{ "+", "the initiator may not reach into the target any more", 0, closed_by_initiator },
	{ "+", "the target may not reach into the initiator any more", 0, closed_by_target },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads and Writes that the requester makes alone: while the target stands still, with its rights
 * as they are at that moment, in order with requests that go through the target, and never in a
 * program that took its place. Where processes of a host do not let each other in these are
 * skipped.
 */
#include "speed.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WARM = 20, ROUNDS = 200, MOST = 16384 };
/* Where one process may reach into the other by its number: more than one piece of direct access. */
enum { LONG = 300000, BACK = LONG + 64 };

static char state_of(pid_t pid)
{
	char path[64], text[256] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	return n > 0 && strrchr(text, ')') ? strrchr(text, ')')[2] : '?';
}

static void hold(pid_t pid)
{
	CF_EQ(kill(pid, SIGSTOP), 0);
	SP_UNTIL(state_of(pid) == 'T', "process %d does not stop", (int)pid);
}

static void one_write(struct cf_side *s, const struct cf_addr *to, uint64_t id, uint64_t off,
		      uint32_t len)
{
	cf_post(s, .op = IBV_WR_RDMA_WRITE, .id = id, .off = off, .len = len,
		.raddr = to->addr + off, .rkey = to->rkey);
	cf_wc(s->scq, id, SUCCESS);
}

/* The first ones make the ends known to each other. */
static void warm(struct cf_side *s, const struct cf_addr *to)
{
	if (!cf.forked || getenv("DAPPLE_LOCAL"))
		cf_skip("here the target takes part in every Read and Write");
	if (access("/proc/self/mem", R_OK | W_OK) < 0)
		cf_skip("/proc/self/mem cannot be opened here");
	for (uint64_t i = 0; i < WARM; i++)
		one_write(s, to, i, 0, 8);
}

static struct cf_addr begin(struct cf_party *p, struct cf_side *s, const struct cf_opt *o)
{
	struct cf_addr to;

	cf_side(s, o);
	to = cf_connect(p, s);
	warm(s, &to);
	return to;
}

static uint32_t most_of(pid_t peer, const struct cf_addr *at)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { (void *)(uintptr_t)at->addr, 1 };

	return process_vm_readv(peer, &here, 1, &there, 1, 0) == 1 ? LONG : MOST;
}

/* --- the target stands still --- */

static void makes_alone(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;
	uint32_t most;
	pid_t peer;

	o.len = 2 * BACK;
	cf_side(&s, &o);
	cf_swap(p, &(pid_t){ getpid() }, &peer, sizeof(peer));
	to = cf_connect(p, &s);
	warm(&s, &to);
	cf_meet(p);
	hold(peer);
	most = most_of(peer, &to);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t len = 1 + (i * 7919) % (i % 2 ? most : MOST), off = i % 8;

		cf_fill(s.buf + off, len, i);
		one_write(&s, &to, i, off, len);
		cf_post(&s, .op = IBV_WR_RDMA_READ, .id = i, .off = BACK, .len = len,
			.raddr = to.addr + off, .rkey = to.rkey);
		cf_wc(s.scq, i, SUCCESS);
		cf_verify(s.buf + BACK, len, i);
	}
	cf_fill(s.buf, MOST, 4711);
	one_write(&s, &to, ROUNDS, 0, MOST);
	CF_EQ(kill(peer, SIGCONT), 0);
	cf_meet(p);
}

static void stands_still(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	pid_t peer;

	o.len = 2 * BACK;
	cf_side(&s, &o);
	cf_swap(p, &(pid_t){ getpid() }, &peer, sizeof(peer));
	cf_connect(p, &s);
	cf_meet(p);
	cf_meet(p);
	cf_verify(s.buf, MOST, 4711);
	cf_quiet(s.rcq);
}

static void target_stands_still(void)
{
	cf_processes(makes_alone, stands_still);
}

/* --- rights --- */

static const int rights[] = { 0, IBV_ACCESS_REMOTE_READ };

/* Each round the target takes a right away after it was used. */
static void tries(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	cf_side(&s, &o);
	for (unsigned i = 0; i < 4; i++) {
		struct cf_addr to = cf_connect(p, &s);

		warm(&s, &to);
		cf_meet(p);
		cf_meet(p);
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 99, .len = 8, .raddr = to.addr,
			.rkey = to.rkey);
		if (i < 2) /* the queue pair's right, or the region's */
			cf_wc(s.scq, 99, REM_INV_REQ_ERR);
		else
			cf_wc(s.scq, 99, REM_ACCESS_ERR);
		cf_meet(p);
		cf_move(&s, IBV_QPS_RESET, NULL);
		cf_drop_events(s.ctx);
	}
}

static void withdraws_right(struct cf_side *s, unsigned how)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .qp_access_flags = (unsigned)rights[how % 2] };

	if (how < 2)
		CF_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS));
	else
		CF_OK(ibv_rereg_mr(s->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				   IBV_ACCESS_LOCAL_WRITE | rights[how % 2]));
	memset(s->buf, 0, 8);
}

static void withdraws(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	cf_side(&s, &o);
	for (unsigned i = 0; i < 4; i++) {
		cf_connect(p, &s);
		cf_meet(p);
		withdraws_right(&s, i);
		cf_meet(p);
		cf_meet(p);
		cf_all_zero(s.buf, 8);
		cf_move(&s, IBV_QPS_RESET, NULL);
		cf_drop_events(s.ctx);
		CF_OK(ibv_rereg_mr(s.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, CF_ALL_ACCESS));
	}
}

static void rights_withdrawn(void)
{
	cf_processes(tries, withdraws);
}

/* --- order --- */

/* A Send that waits for its receive holds back the Write behind it. */
static void sends_first(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;

	o.rnr = 7;
	to = begin(p, &s, &o);
	memset(s.buf, 1, 64);
	cf_meet(p);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		cf_post(&s, .op = IBV_WR_SEND, .id = 2 * i, .len = 8);
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 2 * i + 1, .len = 8, .raddr = to.addr,
			.rkey = to.rkey);
		cf_meet(p);
		cf_wc(s.scq, 2 * i, SUCCESS);
		cf_wc(s.scq, 2 * i + 1, SUCCESS);
		cf_meet(p);
	}
}

static void receives_late(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.min_rnr = 1;
	cf_side(&s, &o);
	cf_connect(p, &s);
	cf_meet(p);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		memset(s.buf, 0, 8);
		cf_meet(p);
		cf_all_zero(s.buf, 8);
		cf_recv(&s, i, 64, 8);
		cf_wc(s.rcq, i, SUCCESS);
		cf_meet(p);
		CF_EQ(s.buf[7], 1);
	}
}

static void send_before_write(void)
{
	cf_processes(sends_first, receives_late);
}

/* --- the last byte --- */

static uint32_t size_of(uint32_t i)
{
	return 64 + (i * 7919) % (MOST - 64);
}

static void stores(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;

	o.len = 2 * MOST;
	to = begin(p, &s, &o);
	cf_meet(p);
	for (uint32_t i = 0; i < 10 * ROUNDS; i++) {
		/* No two of the same value follow each other. */
		memset(s.buf, 1 + (int)(i % 255), size_of(i));
		one_write(&s, &to, i, 0, size_of(i));
		SP_UNTIL(((volatile uint8_t *)s.buf)[MOST] == (uint8_t)(1 + i % 255),
			 "Write %u was not seen", i);
	}
}

/* Polls the last byte of each and looks at all others at once; an echo says that it has. */
static void watches(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;

	o.len = 2 * MOST;
	to = begin(p, &s, &o);
	memset(s.buf, 0, MOST);
	cf_meet(p);
	for (uint32_t i = 0; i < 10 * ROUNDS; i++) {
		uint8_t tag = (uint8_t)(1 + i % 255);

		SP_UNTIL(((volatile uint8_t *)s.buf)[size_of(i) - 1] == tag, "no Write %u", i);
		if (!sp_all(s.buf, size_of(i), tag))
			CF_DIE("Write %u of %u bytes showed its last byte first", i, size_of(i));
		s.buf[MOST + 64] = tag;
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = i, .off = MOST + 64, .len = 1,
			.raddr = to.addr + MOST, .rkey = to.rkey);
		cf_wc(s.scq, i, SUCCESS);
	}
}

static void last_byte(void)
{
	cf_processes(stores, watches);
}

/* --- another program in its place --- */

static void outlives(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;
	struct ibv_wc wc;
	uint64_t n = WARM;

	o.timeout = 8;
	o.retry = 1;
	o.len = MOST;
	to = begin(p, &s, &o);
	cf_meet(p);
	do {
		cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = n, .len = n % 2 ? 4096 : MOST,
			.raddr = to.addr, .rkey = to.rkey);
		n++;
		CF_TRUE(cf_poll(s.scq, &wc, CF_WAIT_MS));
	} while (wc.status == IBV_WC_SUCCESS);
	CF_EQ(wc.status, cf_peer_gone());
}

static void becomes_another(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = MOST;
	cf_side(&s, &o);
	cf_connect(p, &s);
	cf_meet(p);
	sp_busy(2000000);
	execl("/bin/true", "true", (char *)NULL);
	CF_DIE("/bin/true is not there");
}

static void target_executes(void)
{
	cf_processes(outlives, becomes_another);
}

const struct cf_check cf_checks[] = {
	{ "+", "the target stands still", 0, target_stands_still },
	{ "+", "rights that were withdrawn", CF_SELF, rights_withdrawn },
	{ "+", "a Send without a receive before a Write", CF_RNR, send_before_write },
	{ "+", "the last byte comes last", 0, last_byte },
	{ "+", "the target becomes another program", 0, target_executes },
	{ 0 },
};

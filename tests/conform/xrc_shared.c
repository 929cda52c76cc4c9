/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An XRC domain shared by two processes through one file: the first has the target, the second a
 * receive queue that messages to that target name. The initiator is in either of them, so
 * that it is reached by packets or by messages.
 */
#include "xrc.h"

#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define DEPTH 16
#define SLOT 65536u

static int file;
static bool sender_first;

/* The objects of a process; to: number and memory of the queues of both. */
struct part {
	struct cf_party *p;
	struct cf_side s, ini, tgt;
	struct ibv_xrcd *x;
	struct ibv_srq *srq;
	struct queue {
		uint32_t num, rkey;
		uint64_t addr;
	} to[2];
};

static bool sends(const struct part *m)
{
	return m->p->first == sender_first;
}

static void tell_queue(struct part *m)
{
	struct queue *mine = &m->to[!m->p->first];

	m->srq = xrc_srq(&m->s, m->x, &mine->num);
	mine->rkey = m->s.mr->rkey;
	mine->addr = (uintptr_t)m->s.buf;
	cf_swap(m->p, mine, &m->to[m->p->first], sizeof(*mine));
}

static void ends(struct part *m)
{
	struct cf_addr pi, pt;

	m->ini = m->tgt = m->s;
	m->ini.o.type = IBV_QPT_XRC_SEND;
	m->tgt.o.type = IBV_QPT_XRC_RECV;
	if (sends(m))
		m->ini.qp = xrc_qp(&m->ini, IBV_QPT_XRC_SEND, NULL);
	if (m->p->first)
		m->tgt.qp = xrc_qp(&m->tgt, IBV_QPT_XRC_RECV, m->x);
	if (m->p->first && sends(m)) {
		pi = cf_addr_of(&m->ini);
		pt = cf_addr_of(&m->tgt);
		cf_up(&m->ini, IBV_QPS_RTS, &pt);
		cf_up(&m->tgt, IBV_QPS_RTS, &pi);
	} else if (!sender_first) {
		cf_connect(m->p, m->p->first ? &m->tgt : &m->ini);
	}
	cf_meet(m->p);
}

static void begin(struct part *m, struct cf_party *p, int domain_file)
{
	struct cf_opt o = cf_opt();

	o.len = 2 * DEPTH * SLOT;
	o.cqe = 4 * DEPTH;
	o.timeout = 18; /* 1 s: a slow machine is no error */
	o.min_rnr = 12;
	*m = (struct part){ .p = p };
	cf_side(&m->s, &o);
	m->x = domain(m->s.ctx, domain_file, O_CREAT);
	tell_queue(m);
	ends(m);
}

/* Into the upper half of the buffer; the lower one holds the bytes to send. */
static void take(struct part *m, uint64_t id, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)m->s.buf + (DEPTH + id % DEPTH) * SLOT, len,
			       m->s.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CF_OK(ibv_post_srq_recv(m->srq, &wr, &bad));
}

static void give(struct part *m, int to, uint64_t id, enum ibv_wr_opcode op, uint32_t len)
{
	cf_post(&m->ini, .op = op, .id = id, .off = id % DEPTH * SLOT, .len = len,
		.srqn = m->to[to].num, .imm = (uint32_t)id, .rkey = m->to[to].rkey,
		.raddr = m->to[to].addr + (DEPTH + id % DEPTH) * SLOT);
}

/* The target's number, for completions. */
static void swap_target(struct part *m, uint32_t *qpn)
{
	uint32_t mine = m->p->first ? m->tgt.qp->qp_num : 0, theirs;

	cf_swap(m->p, &mine, &theirs, sizeof(mine));
	*qpn = m->p->first ? mine : theirs;
}

static const uint32_t sizes[DEPTH] = { 1, 100, 255, 256, 257, 1024, 1025, 4096, 4097, 10000, 16384,
				       30000, 32768, 32769, 65535, 65536 };

static enum ibv_wr_opcode op_of(int i)
{
	return i % 5 == 1 ? IBV_WR_SEND_WITH_IMM : i % 5 == 3 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND;
}

static void check_one(struct part *m, int i, uint32_t qpn)
{
	struct ibv_wc wc = cf_wc(m->s.rcq, i, SUCCESS);

	CF_EQ(wc.byte_len, sizes[i]);
	CF_EQ(wc.qp_num, qpn);
	CF_EQ(wc.opcode, op_of(i) == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM
							       : IBV_WC_RECV);
	CF_EQ(wc.wc_flags & IBV_WC_WITH_IMM, op_of(i) == IBV_WR_SEND ? 0 : IBV_WC_WITH_IMM);
	if (op_of(i) != IBV_WR_SEND)
		CF_EQ(wc.imm_data, i);
	cf_verify(m->s.buf + (DEPTH + i) * SLOT, sizes[i], i);
}

/* Whose queue message i of a round names. */
static int named(int i, int round)
{
	return (i * 5 + round) % 3 != 0;
}

static void deliver(struct cf_party *p)
{
	int me = !p->first;
	struct part m;
	uint32_t qpn;

	begin(&m, p, file);
	swap_target(&m, &qpn);
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < DEPTH; i++) {
			cf_fill(m.s.buf + i * SLOT, sizes[i], i);
			if (named(i, round) == me)
				take(&m, i, SLOT);
		}
		cf_meet(p);
		for (int i = 0; sends(&m) && i < DEPTH; i++)
			give(&m, named(i, round), i, op_of(i), sizes[i]);
		for (int i = 0; sends(&m) && i < DEPTH; i++)
			cf_wc(m.ini.scq, i, SUCCESS);
		for (int i = 0; i < DEPTH; i++)
			if (named(i, round) == me)
				check_one(&m, i, qpn);
		cf_meet(p);
	}
}

/* Thousands, with as many receives as there happen to be. */
static void stream(struct cf_party *p)
{
	enum { N = 4000 };
	int me = !p->first, taken = 0, sent = 0, done = 0, got = 0;
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	struct part m;
	struct ibv_wc wc;

	begin(&m, p, file);
	while (got < N / 2 || (sends(&m) && done < N)) {
		for (; taken < N / 2 && taken - got < 8; taken++)
			take(&m, 2 * taken + me, SLOT);
		for (; sends(&m) && sent < N && sent - done < DEPTH; sent++)
			give(&m, sent % 2, sent, IBV_WR_SEND, 64 + sent % 500);
		if (sends(&m) && ibv_poll_cq(m.ini.scq, 1, &wc) == 1) {
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_EQ(wc.wr_id, done++);
		}
		if (ibv_poll_cq(m.s.rcq, 1, &wc) == 1) {
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_EQ(wc.wr_id, 2 * got + me);
			CF_EQ(wc.byte_len, 64 + (2 * got + me) % 500);
			got++;
		}
		if (cf_ns() > end)
			CF_DIE("%d sent, %d complete, %d received", sent, done, got);
	}
	cf_meet(p);
}

/* No receive: nothing is lost, and nothing completes before it is there. */
static void empty(struct cf_party *p)
{
	struct part m;

	begin(&m, p, file);
	if (sends(&m)) {
		give(&m, 1, 3, IBV_WR_SEND, 5000);
		cf_quiet(m.ini.scq);
	}
	cf_meet(p);
	if (!p->first) {
		take(&m, 9, SLOT);
		cf_wc(m.s.rcq, 9, SUCCESS);
	}
	if (sends(&m))
		cf_wc(m.ini.scq, 3, SUCCESS);
	cf_meet(p);
}

static void too_long(struct cf_party *p)
{
	struct part m;

	begin(&m, p, file);
	if (!p->first)
		take(&m, 9, 100);
	cf_meet(p);
	if (sends(&m)) {
		give(&m, 1, 3, IBV_WR_SEND, 101);
		cf_wc(m.ini.scq, 3, REM_INV_REQ_ERR);
	}
	if (!p->first)
		cf_wc(m.s.rcq, 9, LOC_LEN_ERR);
	if (p->first) {
		cf_await_state(m.tgt.qp, IBV_QPS_ERR);
		cf_event(m.s.ctx, QP_REQ_ERR);
	}
	cf_meet(p);
}

/* The home process may change its queue and its domain at any time. */
static void close_and_open(struct cf_party *p)
{
	struct part m;

	begin(&m, p, file);
	if (!p->first) {
		CF_ERR(ibv_close_xrcd(m.x), EBUSY);
		cf_drop(m.srq);
		cf_drop(m.x);
		m.x = domain(m.s.ctx, file, O_CREAT);
	} else {
		cf_drop(m.srq);
		CF_ERR(ibv_close_xrcd(m.x), EBUSY); /* the target */
	}
	tell_queue(&m);
	if (!p->first)
		take(&m, 9, SLOT);
	cf_meet(p);
	if (sends(&m)) {
		give(&m, 1, 3, IBV_WR_SEND, 5000);
		cf_wc(m.ini.scq, 3, SUCCESS);
	}
	if (!p->first) {
		cf_wc(m.s.rcq, 9, SUCCESS);
		cf_drop(m.srq);
	}
	cf_meet(p);
	if (sends(&m)) {
		give(&m, 1, 4, IBV_WR_SEND, 5000);
		cf_wc(m.ini.scq, 4, REM_INV_REQ_ERR);
	}
	cf_meet(p);
}

/* Whoever has not opened the target's domain gets nothing, whatever the number. */
static void refused(struct cf_party *p, int theirs)
{
	struct part m;

	begin(&m, p, p->first ? file : theirs);
	if (!p->first)
		take(&m, 9, SLOT);
	cf_meet(p);
	if (sends(&m)) {
		give(&m, 1, 3, IBV_WR_SEND, 5000);
		cf_wc(m.ini.scq, 3, REM_INV_REQ_ERR);
	}
	cf_meet(p);
	if (!p->first)
		cf_quiet(m.s.rcq);
	cf_meet(p);
}

static int other_file;

static void stranger(struct cf_party *p)
{
	refused(p, other_file);
}

static void hermit(struct cf_party *p)
{
	refused(p, -1);
}

static void without_messages(struct cf_party *p)
{
	setenv("DAPPLE_LOCAL", "off", 1);
	refused(p, file);
}

/* --- */

static bool messages(void)
{
	const char *local = getenv("DAPPLE_LOCAL"), *weather = getenv("DAPPLE_FAULT");

	return (!local || !*local || !strcmp(local, "messages")) && (!weather || !*weather);
}

static void both(void (*fn)(struct cf_party *))
{
	if (!messages())
		cf_skip("processes share domains by messages, which DAPPLE_LOCAL or DAPPLE_FAULT forbids");
	file = temp_file();
	other_file = temp_file();
	for (int i = 0; i < 2; i++) {
		sender_first = i;
		cf_processes(fn, fn);
		cf_undo_all();
	}
}

#define CHECK_OF(fn) \
	static void check_##fn(void) \
	{ \
		both(fn); \
	}
CHECK_OF(deliver)
CHECK_OF(stream)
CHECK_OF(empty)
CHECK_OF(too_long)
CHECK_OF(close_and_open)
CHECK_OF(stranger)
CHECK_OF(hermit)

static void check_without(void)
{
	file = temp_file();
	sender_first = true;
	cf_processes(without_messages, without_messages);
}

/* --- the owner dies with an answer to give --- */

struct doomed {
	uint32_t num;
	_Atomic int ready;
};

static int doomed_owner(void *arg)
{
	struct doomed *d = arg;
	struct cf_opt o = cf_opt();
	struct part m = { 0 };

	o.len = 2 * DEPTH * SLOT;
	cf_side(&m.s, &o);
	m.x = domain(m.s.ctx, file, O_CREAT);
	m.srq = xrc_srq(&m.s, m.x, &d->num);
	for (int i = 0; i < 4; i++)
		take(&m, i, SLOT);
	d->ready = 1;
	cf_wc(m.s.rcq, 0, SUCCESS);
	raise(SIGSTOP);
	return 1;
}

static void await_ready(struct doomed *d, pid_t pid)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	int status;

	while (!d->ready) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			CF_DIE("the owner ended on its own");
		if (cf_ns() > end)
			CF_DIE("the owner is not ready");
	}
}

static void owner_killed(void)
{
	struct cf_party p = { .first = true };
	struct doomed *d;
	struct part m = { .p = &p };
	struct cf_opt o = cf_opt();
	struct cf_addr pi, pt;
	int status;
	pid_t pid;

	if (!messages())
		cf_skip("processes share domains by messages, which DAPPLE_LOCAL or DAPPLE_FAULT forbids");
	d = cf_pages(4096);
	file = temp_file();
	pid = cf_child(doomed_owner, d);
	await_ready(d, pid);
	o.len = 2 * DEPTH * SLOT;
	o.timeout = 20; /* 4 s, eight times: what ends the request is not that */
	cf_side(&m.s, &o);
	m.x = domain(m.s.ctx, file, O_CREAT);
	sender_first = true;
	m.ini = m.tgt = m.s;
	m.ini.o.type = IBV_QPT_XRC_SEND;
	m.tgt.o.type = IBV_QPT_XRC_RECV;
	m.ini.qp = xrc_qp(&m.ini, IBV_QPT_XRC_SEND, NULL);
	m.tgt.qp = xrc_qp(&m.tgt, IBV_QPT_XRC_RECV, m.x);
	pi = cf_addr_of(&m.ini);
	pt = cf_addr_of(&m.tgt);
	cf_up(&m.ini, IBV_QPS_RTS, &pt);
	cf_up(&m.tgt, IBV_QPS_RTS, &pi);
	m.to[1].num = d->num;
	give(&m, 1, 1, IBV_WR_SEND, 5000);
	cf_wc(m.ini.scq, 1, SUCCESS);
	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		CF_DIE("the owner did not stop: status 0x%x", status);
	give(&m, 1, 2, IBV_WR_SEND, 5000);
	cf_quiet(m.ini.scq); /* no process acknowledges for it */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	cf_wc(m.ini.scq, 2, REM_OP_ERR);
	cf_await_state(m.tgt.qp, IBV_QPS_ERR);
	cf_event(m.s.ctx, QP_FATAL);
}

const struct cf_check cf_checks[] = {
	{ "68", "a queue of another process", CF_XRC, check_deliver },
	{ "68", "two queues of two processes, thousands", CF_XRC, check_stream },
	{ "68 90", "a queue of another process is empty", CF_XRC, check_empty },
	{ "68", "too long for another process", CF_XRC, check_too_long },
	{ "69", "the other process closes and opens the domain", CF_XRC, check_close_and_open },
	{ "68", "another process with another domain", CF_XRC, check_stranger },
	{ "68", "another process with a private domain", CF_XRC, check_hermit },
	{ "68", "another process without messages", CF_XRC, check_without },
	{ "68", "the other process dies", CF_XRC, owner_killed },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An answer overtakes no acknowledgement. Adapters acknowledge a message when it arrives, so programs
 * count on it: when the answer to a Send is there, the Send is complete, and its place in the send
 * queue is free.
 */
#include "xrc.h"

#include <pthread.h>
#include <stdatomic.h>

enum { EXCHANGES = 2000, BYTES = 64, SLOTS = 8, ANSWERS = 4096, SENT = 1 << 30 /* in wr_id */ };

/* How the second process answers. */
static enum ibv_wr_opcode answer;
static bool in_memory; /* the first process looks for the answer in its memory */
static bool over_xrc;
static bool beside; /* the rounds of the second process are those of another thread, which posts nothing */

/* Requests leave by out and arrive by in: one queue pair, or two of XRC with a receive queue. */
struct end {
	struct cf_party *p;
	struct cf_side s, out, in;
	struct ibv_srq *srq;
	struct cf_addr other;
	uint32_t srqn;
};

static void take(struct end *e, uint64_t id)
{
	uint64_t off = id % SLOTS * BYTES;
	struct ibv_sge sge = { (uintptr_t)e->s.buf + off, BYTES, e->s.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (e->srq)
		CF_OK(ibv_post_srq_recv(e->srq, &wr, &bad));
	else
		cf_recv(&e->s, id, off, BYTES);
}

static void connect_xrc(struct end *e)
{
	struct ibv_xrcd *x = domain(e->s.ctx, -1, O_CREAT);
	struct { struct cf_addr out, in; uint32_t srqn; } mine = { 0 }, theirs;

	e->srq = xrc_srq(&e->s, x, &mine.srqn);
	e->out = e->in = e->s;
	e->out.o.type = IBV_QPT_XRC_SEND;
	e->in.o.type = IBV_QPT_XRC_RECV;
	e->out.qp = xrc_qp(&e->out, IBV_QPT_XRC_SEND, NULL);
	e->in.qp = xrc_qp(&e->in, IBV_QPT_XRC_RECV, x);
	mine.out = cf_addr_of(&e->out);
	mine.in = cf_addr_of(&e->in);
	cf_swap(e->p, &mine, &theirs, sizeof(mine));
	cf_up(&e->out, IBV_QPS_RTS, &theirs.in);
	cf_up(&e->in, IBV_QPS_RTS, &theirs.out);
	e->other = theirs.in;
	e->srqn = theirs.srqn;
}

/* Completions of both kinds in one queue, whose order tells what came first. */
static void one_cq(struct cf_side *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = s->o.type, .send_cq = s->rcq, .recv_cq = s->rcq, .cap = { 2 * SLOTS, 2 * SLOTS, 1, 1, 0 },
	};

	cf_drop(s->qp);
	s->scq = s->rcq;
	s->qp = cf_qp(s->pd, &init);
}

static void begin(struct end *e, struct cf_party *p)
{
	struct cf_opt o = cf_opt();

	o.timeout = 18; /* 1 s: a slow machine is no error */
	*e = (struct end){ .p = p };
	cf_side(&e->s, &o);
	one_cq(&e->s);
	if (over_xrc) {
		connect_xrc(e);
	} else {
		e->other = cf_connect(p, &e->s);
		e->out = e->in = e->s;
	}
	for (int i = 0; i < SLOTS; i++)
		take(e, i);
	cf_meet(p);
}

static void put(struct end *e, uint64_t id, enum ibv_wr_opcode op)
{
	cf_post(&e->out, .op = op, .id = SENT | id, .off = (SLOTS + id % SLOTS) * BYTES, .len = BYTES,
		.srqn = e->srqn, .raddr = e->other.addr + ANSWERS, .rkey = e->other.rkey);
}

/* Polls until the answer is there. Returns true if the Send was complete by then. */
static bool see(struct end *e, uint64_t id)
{
	const volatile uint8_t *last = e->s.buf + ANSWERS + BYTES - 1;
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	bool sent = false, there = false;
	struct ibv_wc wc;

	/* What lies in memory is seen before the poll that would find the acknowledgement before it. */
	for (bool stored = false; !there; there |= stored) {
		if (cf_ns() > end)
			CF_DIE("no answer to Send %d", (int)id);
		stored = in_memory && *last == id % 255 + 1;
		if (!ibv_poll_cq(e->s.rcq, 1, &wc))
			continue;
		CF_EQ(wc.status, IBV_WC_SUCCESS);
		CF_EQ(wc.wr_id & ~(uint64_t)SENT, id);
		sent |= wc.wr_id & SENT;
		there = !(wc.wr_id & SENT);
	}
	return sent;
}

static void asks(struct cf_party *p)
{
	struct end e;
	int late = 0;

	begin(&e, p);
	for (int i = 0; i < EXCHANGES; i++) {
		memset(e.s.buf + (SLOTS + i % SLOTS) * BYTES, i % 255 + 1, BYTES);
		put(&e, i, IBV_WR_SEND);
		if (!see(&e, i)) {
			late++;
			cf_wc(e.s.scq, SENT | i, SUCCESS);
		}
		if (!in_memory)
			take(&e, i + SLOTS);
	}
	cf_meet(p);
	/* A poll that meets the background thread in a round finds nothing: the one poll behind a look at memory may. */
	if (late > (in_memory ? EXCHANGES / 100 : 0))
		CF_DIE("%d of %d Sends completed after the answer to them had come", late, EXCHANGES);
}

/* --- rounds of another thread --- */

struct rounds {
	struct ibv_cq *cq;
	_Atomic bool stop;
	pthread_t thread;
};

static void *make_rounds(void *arg)
{
	struct rounds *r = arg;
	struct ibv_wc wc;

	while (!r->stop)
		CF_EQ(ibv_poll_cq(r->cq, 1, &wc), 0);
	return NULL;
}

static void begin_rounds(struct rounds *r, struct end *e)
{
	*r = (struct rounds){ .cq = cf_cq(e->s.ctx, 1, NULL) };
	CF_OK(pthread_create(&r->thread, NULL, make_rounds, r));
}

static void end_rounds(struct rounds *r)
{
	r->stop = true;
	CF_OK(pthread_join(r->thread, NULL));
}

static void answers(struct cf_party *p)
{
	struct rounds other;
	struct end e;

	begin(&e, p);
	if (beside)
		begin_rounds(&other, &e);
	for (int i = 0; i < EXCHANGES; i++) {
		cf_wc(e.s.rcq, i, SUCCESS);
		memcpy(e.s.buf + (SLOTS + i % SLOTS) * BYTES, e.s.buf + i % SLOTS * BYTES, BYTES);
		take(&e, i + SLOTS);
		put(&e, i, answer);
		cf_wc(e.s.scq, SENT | i, SUCCESS);
	}
	if (beside)
		end_rounds(&other);
	cf_meet(p);
}

static void echo(enum ibv_wr_opcode op, bool memory, bool xrc)
{
	answer = op;
	in_memory = memory;
	over_xrc = xrc;
	cf_processes(asks, answers);
}

static void by_send(void)
{
	echo(IBV_WR_SEND, false, false);
}

static void by_immediate(void)
{
	echo(IBV_WR_RDMA_WRITE_WITH_IMM, false, false);
}

static void by_write(void)
{
	echo(IBV_WR_RDMA_WRITE, true, false);
}

static void by_xrc_send(void)
{
	echo(IBV_WR_SEND, false, true);
}

static void beside_rounds(void)
{
	beside = true;
	by_send();
}

static void by_xrc_send_beside_rounds(void)
{
	beside = true;
	by_xrc_send();
}

const struct cf_check cf_checks[] = {
	{ "+", "a Send is complete when a Send has answered it", 0, by_send },
	{ "+", "a Send is complete when a Write with immediate has answered it", 0, by_immediate },
	{ "+", "a Send is complete when a Write has answered it", 0, by_write },
	{ "+", "a Send is complete when a Send of XRC has answered it", CF_XRC, by_xrc_send },
	{ "+", "a Send is complete when a Send has answered it, posted during rounds of another thread", 0, beside_rounds },
	{ "+", "a Send is complete when a Send of XRC has answered it, posted during rounds of another thread", CF_XRC,
	  by_xrc_send_beside_rounds },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One queue pair keeps its order, and holds back no other.
 *
 *	Send without a receive, then Writes on the same QP: no Write lands before the receive has been
 *	posted and has its message.
 *	Many Sends posted in a row behind some polls, and then no call any more: all of them arrive.
 *	A thousand QPs of one pair of processes, of which some never get a receive: all others are
 *	served, and so are they when the receives come at last.
 */
#include "speed.h"

#include <stdlib.h>
#include <string.h>

/* --- a Send that waits, and requests behind it --- */

enum { TIMES = 200, TIMES_FULL = 20000, BEHIND = 8, BULK = 65536, FLAGS = BULK, SINK = 2 * BULK };
#define WATCH_NS 400000 /* at most */

static struct page {
	_Atomic int seen; /* rounds that the target has judged */
	uint64_t seed;
} *page;

static void send_then_write(struct cf_party *p)
{
	struct sp_rng rng = { page->seed };
	struct cf_opt o = cf_opt();
	struct cf_addr to;
	struct cf_side s;

	o.len = 3 * BULK;
	cf_side(&s, &o);
	to = cf_connect(p, &s);
	for (int round = 0; round < sp_times(TIMES, TIMES_FULL); round++) {
		uint32_t len = sp_size(&rng, 8, BULK), n = 1 + sp_below(&rng, BEHIND);
		uint8_t tag = (uint8_t)(1 + round % 250);

		memset(s.buf, tag, BULK + 8 * BEHIND);
		cf_post(&s, .op = IBV_WR_SEND, .id = 0, .len = len);
		for (uint32_t i = 1; i <= n; i++)
			cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = i, .off = FLAGS, .len = 8,
				.raddr = to.addr + FLAGS + 8 * (i - 1), .rkey = to.rkey);
		for (uint32_t i = 0; i <= n; i++)
			cf_wc(s.scq, i, SUCCESS);
		SP_UNTIL(atomic_load(&page->seen) > round, "round %d is not judged", round);
	}
	cf_meet(p);
}

static bool landed(const struct cf_side *s, uint8_t tag)
{
	for (int i = 0; i < BEHIND; i++)
		if (*(volatile uint8_t *)(s->buf + FLAGS + 8 * i) == tag)
			return true;
	return false;
}

static void watch(struct cf_side *s, struct sp_rng *rng, uint8_t tag, int round)
{
	uint64_t end = cf_ns() + sp_below(rng, WATCH_NS);
	bool polls = sp_below(rng, 2);
	struct ibv_wc wc;

	do {
		if (polls)
			CF_EQ(ibv_poll_cq(s->rcq, 1, &wc), 0);
		if (landed(s, tag))
			CF_DIE("round %d: a Write has overtaken a Send without a receive", round);
	} while (cf_ns() < end);
}

static void receives_late(struct cf_party *p)
{
	struct sp_rng rng = { page->seed ^ 1 };
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_wc wc;

	o.len = 3 * BULK;
	o.min_rnr = 1; /* 10 us */
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < sp_times(TIMES, TIMES_FULL); round++) {
		uint8_t tag = (uint8_t)(1 + round % 250);
		uint32_t seen = 0;

		memset(s.buf + SINK, 0, BULK);
		watch(&s, &rng, tag, round);
		cf_recv(&s, (uint64_t)round, SINK, BULK);
		/* Whoever sees the Write sees the message before it. */
		if (sp_below(&rng, 2)) {
			SP_UNTIL(landed(&s, tag), "round %d: no Write", round);
			atomic_thread_fence(memory_order_acquire);
			for (; seen < BULK && s.buf[SINK + seen] == tag; seen++)
				;
		}
		wc = cf_wc(s.rcq, (uint64_t)round, SUCCESS);
		if (seen && seen < wc.byte_len)
			CF_DIE("round %d: the Write came when %u of %u bytes of the Send had", round,
			       seen, wc.byte_len);
		CF_TRUE(sp_all(s.buf + SINK, wc.byte_len, tag));
		SP_UNTIL(landed(&s, tag), "round %d: no Write", round);
		atomic_store(&page->seen, round + 1);
	}
	cf_meet(p);
}

static void overtaking(void)
{
	page = cf_pages(4096);
	page->seed = sp_seed("Send without a receive, then Write");
	cf_processes(send_then_write, receives_late);
}

/* --- many in a row, and silence --- */

enum { ROWS = 100, ROWS_FULL = 5000, ROW = 64 };

static void falls_silent(struct cf_party *p)
{
	struct sp_rng rng = { page->seed };
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_wc wc;

	o.sq = ROW;
	o.cqe = ROW;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < sp_times(ROWS, ROWS_FULL); round++) {
		uint32_t n = 1 + sp_below(&rng, ROW);

		cf_meet(p); /* the receives are there */
		for (int i = 0; i < 100; i++) /* a polling thread, it seems */
			CF_EQ(ibv_poll_cq(s.scq, 1, &wc), 0);
		for (uint32_t i = 0; i < n; i++)
			cf_post(&s, .op = i + 1 < n ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, .id = i, .len = 8);
		SP_UNTIL(atomic_load(&page->seen) > round, "round %d: not all of %u have come", round, n);
		for (uint32_t i = 0; i < n; i++)
			cf_wc(s.scq, i, SUCCESS);
	}
	cf_meet(p);
}

static void counts(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	int used = ROW;
	bool last;

	o.rq = ROW;
	o.cqe = ROW;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < sp_times(ROWS, ROWS_FULL); round++) {
		for (; used; used--)
			cf_recv(&s, 0, 0, 8);
		cf_meet(p);
		do {
			struct ibv_wc wc;

			CF_TRUE(cf_poll(s.rcq, &wc, CF_WAIT_MS));
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			last = wc.wc_flags & IBV_WC_WITH_IMM;
			used++;
		} while (!last);
		atomic_store(&page->seen, round + 1);
	}
	cf_meet(p);
}

static void silence(void)
{
	page = cf_pages(4096);
	page->seed = sp_seed("many in a row, then silence");
	cf_processes(falls_silent, counts);
}

/* --- a thousand, of which three starve --- */

enum { QPS = 1000, STARVE = 3, DEEP = 16, ROUNDS = 3, ROUNDS_FULL = 200 };

static bool starves(int i)
{
	return i == 0 || i == QPS / 2 || i == QPS - 1;
}

/* Many QPs of one side, on its two CQs. */
static struct cf_side *open_many(struct cf_party *p, struct cf_side *base, struct cf_opt *o)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { DEEP, DEEP, 1, 1, 0 } };
	struct cf_addr *mine = calloc(QPS, sizeof(*mine)), *theirs = calloc(QPS, sizeof(*theirs));
	struct cf_side *v = calloc(QPS, sizeof(*v));

	CF_TRUE(v && mine && theirs);
	o->cqe = QPS * DEEP;
	o->min_rnr = 12; /* 640 us */
	cf_side(base, o);
	init.send_cq = base->scq;
	init.recv_cq = base->rcq;
	for (int i = 0; i < QPS; i++) {
		v[i] = *base;
		v[i].qp = cf_qp(base->pd, &init);
		mine[i] = cf_addr_of(&v[i]);
	}
	for (int i = 0; i < QPS; i += 50) /* a socket holds so many */
		cf_swap(p, mine + i, theirs + i, 50 * sizeof(*mine));
	for (int i = 0; i < QPS; i++)
		cf_up(&v[i], IBV_QPS_RTS, &theirs[i]);
	free(mine);
	free(theirs);
	return v;
}

static void feeds(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side base, *v = open_many(p, &base, &o);
	struct ibv_wc wc;

	for (int i = 0; i < QPS; i++)
		for (int k = 0; starves(i) && k < DEEP; k++)
			cf_post(&v[i], .op = k % 4 == 3 ? IBV_WR_RDMA_READ : IBV_WR_SEND,
				.id = (uint64_t)i, .len = 0);
	for (int round = 0; round < sp_times(ROUNDS, ROUNDS_FULL); round++) {
		cf_meet(p); /* the others' receives are there */
		for (int i = 0; i < QPS; i++)
			if (!starves(i))
				cf_post(&v[i], .op = IBV_WR_SEND, .id = (uint64_t)i, .len = 64);
		for (int n = 0; n < QPS - STARVE; n++) {
			if (!cf_poll(base.scq, &wc, CF_WAIT_MS))
				CF_DIE("round %d: %d of %d are served", round, n, QPS - STARVE);
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_TRUE(!starves((int)wc.wr_id));
		}
	}
	cf_quiet(base.scq);
	cf_meet(p);
	for (int n = 0; n < STARVE * DEEP; n++) {
		CF_TRUE(cf_poll(base.scq, &wc, CF_WAIT_MS));
		CF_EQ(wc.status, IBV_WC_SUCCESS);
		CF_TRUE(starves((int)wc.wr_id));
	}
	cf_meet(p);
}

static void eats(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side base, *v = open_many(p, &base, &o);
	struct ibv_wc wc;

	for (int round = 0; round < sp_times(ROUNDS, ROUNDS_FULL); round++) {
		for (int i = 0; i < QPS; i++)
			if (!starves(i))
				cf_recv(&v[i], (uint64_t)i, 0, 64);
		cf_meet(p);
		for (int n = 0; n < QPS - STARVE; n++) {
			if (!cf_poll(base.rcq, &wc, CF_WAIT_MS))
				CF_DIE("round %d: %d of %d have come", round, n, QPS - STARVE);
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_TRUE(!starves((int)wc.wr_id));
		}
	}
	cf_meet(p);
	for (int i = 0; i < QPS; i++)
		for (int k = 0; starves(i) && k < DEEP; k++)
			cf_recv(&v[i], (uint64_t)i, 0, 0);
	for (int n = 0; n < STARVE * DEEP * 3 / 4; n++) {
		CF_TRUE(cf_poll(base.rcq, &wc, CF_WAIT_MS));
		CF_EQ(wc.status, IBV_WC_SUCCESS);
	}
	cf_meet(p);
}

static void starving(void)
{
	cf_processes(feeds, eats);
}

const struct cf_check cf_checks[] = {
	{ "+", "a Write behind a Send without a receive", CF_RNR, overtaking },
	{ "+", "many Sends in a row, then no call", CF_RNR, silence },
	{ "+", "three of a thousand QPs have no receives", CF_RNR, starving },
	{ 0 },
};

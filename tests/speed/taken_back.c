/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that is taken back while it is in use. One end registers, deregisters and unmaps; where
 * the region was, a page of canaries stands at once. None of them ever changes, and none is ever
 * read: requests that completed with success are of the time before. Then both connect again.
 *
 *	target takes back      the other end writes into it and reads it
 *	initiator takes back   its own requests name it: sources, and sinks of Reads
 */
#include "speed.h"

#include <string.h>

enum { AREA = 256 << 10, WINDOW = 16, SHORT = 60, LONG = 5000, OLD = 0x11, CANARY = 0xcc, NEW = 0x22 };
#define MOST_NS 300000 /* of traffic before the memory goes */

static struct page {
	_Atomic int taken;   /* dereg has returned in round n - 1 */
	_Atomic int failed;  /* the initiator has seen its error in round n - 1 */
	uint32_t rkey;
	uint64_t seed;
} *page;

/* Later events there are not checked any more. */
static void canaries(uint8_t *area, uint32_t how)
{
	switch (how) {
	case 0:
		sp_remap(area, AREA, CANARY);
		break;
	case 1: /* the same pages, in other hands */
		memset(area, CANARY, AREA);
		break;
	default:
		sp_remap(area, AREA, 0);
		memset(area, CANARY, AREA);
	}
}

static void unchanged(const uint8_t *area, int round, const char *when)
{
	for (size_t i = 0; i < AREA; i += 4096)
		if (!sp_all(area + i, 4096, CANARY))
			CF_DIE("round %d: page %zu changed %s ibv_dereg_mr had returned", round,
			       i / 4096, when);
}

/* The next life of the same QP is far from the numbers that may still be on their way. */
static void rest(struct cf_side *s)
{
	s->o.psn = (s->o.psn - 0x101000) & 0xffffff;
	cf_move(s, IBV_QPS_RESET, NULL);
	cf_drain(s->scq);
	cf_drain(s->rcq);
	cf_drop_events(s->ctx);
}

/* --- the target takes back --- */

static void lends(struct cf_party *p)
{
	struct sp_rng rng = { page->seed };
	struct cf_opt o = cf_opt();
	uint8_t *area = sp_area(AREA);
	struct cf_side s;

	o.rd = 16;
	cf_side(&s, &o);
	for (int round = 0; round < sp_times(SHORT, LONG); round++) {
		struct ibv_wc wc;
		struct ibv_mr *mr;
		bool polls = sp_below(&rng, 2);
		uint64_t end;

		memset(area, OLD, AREA);
		mr = cf_mr(s.pd, area, AREA, CF_ALL_ACCESS);
		page->rkey = mr->rkey;
		cf_swap(p, &area, &(void *){ 0 }, sizeof(area));
		cf_connect(p, &s);
		end = cf_ns() + sp_below(&rng, MOST_NS);
		while (cf_ns() < end)
			if (polls)
				CF_EQ(ibv_poll_cq(s.rcq, 1, &wc), 0);
		cf_drop(mr);
		canaries(area, sp_below(&rng, 3));
		atomic_store(&page->taken, round + 1);
		SP_UNTIL(atomic_load(&page->failed) == round + 1, "round %d: no error over there", round);
		unchanged(area, round, "after");
		cf_await_state(s.qp, IBV_QPS_ERR);
		rest(&s);
		unchanged(area, round, "long after");
	}
}

static void post_one(struct cf_side *s, struct sp_rng *rng, uint64_t id, uint8_t *area,
		     uint32_t most)
{
	uint32_t len = sp_size(rng, 8, most), at = sp_below(rng, AREA - len + 1);
	uint64_t off = AREA / 2 + (id % WINDOW) * (AREA / 4); /* where a Read puts it */
	bool read = sp_below(rng, 2);

	if (read)
		memset(s->buf + off, 0, len);
	cf_post(s, .op = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .id = id << 32 | (read ? len : 0),
		.off = read ? off : 0, .len = len, .raddr = (uintptr_t)area + at, .rkey = page->rkey);
}

/* A Read that has succeeded brought no byte of the later content. */
static void judge_read(const struct cf_side *s, const struct ibv_wc *wc, int round)
{
	const uint8_t *at = s->buf + AREA / 2 + (wc->wr_id >> 32) % WINDOW * (AREA / 4);
	uint32_t len = (uint32_t)wc->wr_id;

	for (uint32_t i = 0; i < len; i++)
		if (at[i] != OLD && at[i] != NEW)
			CF_DIE("round %d: byte %u of a Read of %u is 0x%02x", round, i, len, at[i]);
}

static bool may_end(enum ibv_wc_status st, bool first)
{
	if (st == IBV_WC_WR_FLUSH_ERR)
		return !first || cf.iwarp; /* the stream has ended with a Terminate */
	/* ... which may name a request behind one that will never be answered: that is flushed first. */
	return (first || cf.iwarp) && st == IBV_WC_REM_ACCESS_ERR;
}

static void access_attached(struct cf_side *s, struct sp_rng *rng, uint8_t *area, int round)
{
	/* Small ones, one after the other, are made by this end alone where there is a way. */
	bool alone = sp_below(rng, 2);
	uint32_t window = alone ? 1 : WINDOW, most = alone ? 4096 : AREA / 4;
	uint64_t posted = 0, done = 0;
	struct cf_timeout p = { 0 };
	bool failed = false;
	struct ibv_wc wc;

	while (!failed || done < posted) {
		/* Not as long as the other takes to come to it. */
		while (!failed && posted - done < window)
			post_one(s, rng, posted++, area, most);
		if (cf_over(&p, CF_WAIT_MS * 1000000ull))
			CF_DIE("round %d: taken back: %s, requests go on", round,
			       atomic_load(&page->taken) > round ? "yes" : "no");
		if (ibv_poll_cq(s->scq, 1, &wc) != 1)
			continue;
		CF_EQ(wc.wr_id >> 32, done);
		done++;
		if (wc.status == IBV_WC_SUCCESS) {
			CF_TRUE(!failed);
			judge_read(s, &wc, round);
		} else {
			if (!may_end(wc.status, !failed))
				CF_DIE("round %d: %s", round, ibv_wc_status_str(wc.status));
			failed = true;
		}
	}
}

static void borrows(struct cf_party *p)
{
	struct sp_rng rng = { page->seed ^ 1 };
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = AREA / 2 + WINDOW * (AREA / 4);
	o.rd = 16;
	cf_side(&s, &o);
	memset(s.buf, NEW, AREA / 2);
	for (int round = 0; round < sp_times(SHORT, LONG); round++) {
		uint8_t *area = NULL;

		cf_swap(p, &(void *){ 0 }, &area, sizeof(area));
		cf_connect(p, &s);
		access_attached(&s, &rng, area, round);
		atomic_store(&page->failed, round + 1);
		rest(&s);
	}
}

static void begin(const char *what)
{
	page = cf_pages(4096);
	page->seed = sp_seed(what);
}

static void target_takes_back(void)
{
	begin("target takes back");
	cf_processes(lends, borrows);
}

/* --- the initiator takes back --- */

static void post_own(struct cf_side *s, struct sp_rng *rng, uint64_t id, uint8_t *area,
		     struct ibv_mr *mr, const struct cf_addr *to, uint32_t *sends)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND };
	/* On a stream each Send must find a receive, and is complete before that. */
	enum ibv_wr_opcode op = ops[sp_below(rng, cf.iwarp && *sends == WINDOW ? 2 : 3)];
	uint32_t len = sp_size(rng, 8, AREA / 4);
	/* sinks in the second half: the bytes sent are always the same */
	uint32_t at = (op == IBV_WR_RDMA_READ ? AREA / 2 : 0) + sp_below(rng, AREA / 2 - len + 1);
	struct ibv_sge sge = { (uintptr_t)area + at, len, mr->lkey };

	*sends += op == IBV_WR_SEND;
	cf_post(s, .op = op, .id = id, .sge = &sge, .n = 1, .raddr = to->addr, .rkey = to->rkey);
}

/* Of the requester whose memory went: those before, the first that met it, and those behind. */
static bool may_end_own(enum ibv_wc_status st, bool first)
{
	if (st == IBV_WC_WR_FLUSH_ERR)
		return !first || cf.iwarp;
	return first && (st == IBV_WC_LOC_PROT_ERR || st == IBV_WC_LOC_ACCESS_ERR);
}

static void withdraw(struct cf_side *s, struct sp_rng *rng, uint8_t *area, int round,
		     const struct cf_addr *to)
{
	struct ibv_mr *mr = cf_mr(s->pd, area, AREA, CF_ALL_ACCESS);
	uint64_t posted = 0, done = 0, stop = cf_ns() + sp_below(rng, MOST_NS);
	uint32_t sends = 0;
	bool failed = false;
	struct ibv_wc wc;

	while (cf_ns() < stop || posted == done) {
		if (posted - done < WINDOW)
			post_own(s, rng, posted++, area, mr, to, &sends);
		if (sp_below(rng, 2) && ibv_poll_cq(s->scq, 1, &wc) == 1) {
			CF_EQ(wc.wr_id, done++);
			CF_EQ(wc.status, IBV_WC_SUCCESS);
		}
	}
	cf_drop(mr);
	canaries(area, sp_below(rng, 3));
	while (done < posted) {
		CF_TRUE(cf_poll(s->scq, &wc, CF_WAIT_MS));
		CF_EQ(wc.wr_id, done++);
		if (wc.status != IBV_WC_SUCCESS && !may_end_own(wc.status, !failed))
			CF_DIE("round %d: %s", round, ibv_wc_status_str(wc.status));
		CF_TRUE(wc.status != IBV_WC_SUCCESS || !failed);
		failed |= wc.status != IBV_WC_SUCCESS;
		unchanged(area, round, "after");
	}
}

static void withdraws(struct cf_party *p)
{
	struct sp_rng rng = { page->seed ^ 2 };
	struct cf_opt o = cf_opt();
	uint8_t *area = sp_area(AREA);
	struct cf_side s;

	o.rd = 16;
	cf_side(&s, &o);
	for (int round = 0; round < sp_times(SHORT, LONG); round++) {
		struct cf_addr to = cf_connect(p, &s);

		memset(area, OLD, AREA);
		withdraw(&s, &rng, area, round, &to);
		atomic_store(&page->taken, round + 1);
		cf_meet(p);
		unchanged(area, round, "long after");
		rest(&s);
	}
}

/* A message received with success was sent before. */
static void receive(struct cf_side *s, int round)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(s->rcq, 1, &wc) == 1) {
		const uint8_t *at = s->buf + AREA * wc.wr_id;

		for (uint32_t i = 0; wc.status == IBV_WC_SUCCESS && i < wc.byte_len; i++)
			if (at[i] != OLD)
				CF_DIE("round %d: byte %u of a message of %u is 0x%02x", round, i,
				       wc.byte_len, at[i]);
		if (wc.status == IBV_WC_SUCCESS)
			cf_recv(s, wc.wr_id, AREA * wc.wr_id, AREA / 4);
	}
}

static void takes(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.len = AREA * (WINDOW + 1);
	o.rd = 16;
	cf_side(&s, &o);
	for (int round = 0; round < sp_times(SHORT, LONG); round++) {
		cf_up(&s, IBV_QPS_INIT, NULL);
		for (uint64_t i = 1; i <= WINDOW; i++)
			cf_recv(&s, i, AREA * i, AREA / 4);
		cf_connect(p, &s);
		SP_UNTIL((receive(&s, round), atomic_load(&page->taken) == round + 1),
			 "round %d does not end", round);
		cf_meet(p);
		rest(&s);
	}
}

static void initiator_takes_back(void)
{
	begin("initiator takes back");
	cf_processes(withdraws, takes);
}

const struct cf_check cf_checks[] = {
	{ "+", "the target takes memory back", 0, target_takes_back },
	{ "+", "the initiator takes memory back", 0, initiator_takes_back },
	{ 0 },
};

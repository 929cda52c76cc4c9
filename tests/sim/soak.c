/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data integrity under a bad network: random operations of random sizes and gather lists over RC
 * while the path loses, doubles, reorders and damages packets. Every byte, every completion and
 * every result is compared with what a perfect network would have given. The seed replays a run:
 *
 * Of 1000 tries of a READ at 50 per mille of everything about 160 fail, so eight in a row
 * (retry_cnt is 7) occur once in a hundred runs, and the QP then fails by the rules. So that no run
 * ends by this chance, the last two tries meet no faults.
 *
 * After each round the bits of proto/ib/slow.h are held against the state that they follow from. On
 * one host the pairs share trains, and an application's threads make the progress.
 *
 *	soak [--seed N] [--messages N] [--rate PERMILLE] [--pairs N] [--one-host | --local]
 */
#include "engine/mr.h"
#include "engine/post.h"
#include "proto/ib/port.h"
#include "support/check.h"
#include "support/simhost.h"
#include "support/slow.h"
#include "util/clock.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 32          /* operations in flight per pair */
#define SLOT_BYTES 40960u /* room of one operation at either end */
#define PAIRS 8

enum op { SEND, SEND_IMM, SEND_INLINE, WRITE, WRITE_IMM, READ, CAS, FAA, OPS };

struct job {
	enum op op;
	uint32_t len;
	uint64_t nr;      /* number of the operation in its pair */
	uint64_t expect;  /* old value an atomic must return */
	uint64_t recv_nr; /* receive it consumes, if any */
};

struct pair {
	struct sim_end a, b;
	uint8_t *mem_a, *mem_b;
	struct eng_mkey *mr_a, *mr_b;
	struct job jobs[SLOTS];
	uint64_t posted, completed;       /* send requests */
	uint64_t recv_posted, recv_done;  /* receives at b */
	uint64_t recv_used;               /* receives the posted jobs consume */
	struct job recv_jobs[SLOTS * 2];  /* by receive number */
	uint64_t counter;                 /* shadow of the word that atomics change */
};

static struct sim_world world;
static struct pair pairs[PAIRS];
static struct ut_rng rng;
static int n_pairs = 2;
static uint64_t messages = 20000, done_messages;
static struct link_fault_rates rates;
static bool clear; /* none of them apply now */
static unsigned cleared;

static uint8_t pattern(uint64_t nr, uint32_t i)
{
	return (uint8_t)((nr * 131 + i * 7 + (i >> 8)) ^ (nr >> 3));
}

static void fill(uint8_t *p, uint64_t nr, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		p[i] = pattern(nr, i);
}

static void verify(const uint8_t *p, uint64_t nr, uint32_t len, const char *what)
{
	for (uint32_t i = 0; i < len; i++)
		if (p[i] != pattern(nr, i)) {
			fprintf(stderr, "%s %" PRIu64 ": byte %u of %u is %02x, not %02x\n", what,
				nr, i, len, p[i], pattern(nr, i));
			exit(1);
		}
}

static uint8_t *slot(uint8_t *mem, uint64_t nr)
{
	return mem + (nr % SLOTS) * SLOT_BYTES;
}

/* The word for atomics lies behind the slots. */
static uint64_t *word(uint8_t *mem)
{
	return (uint64_t *)(mem + SLOTS * SLOT_BYTES);
}

static uint32_t random_len(enum op op)
{
	uint32_t r = ut_rng_below(&rng, 100);

	if (op == CAS || op == FAA)
		return 8;
	if (op == SEND_INLINE)
		return ut_rng_below(&rng, 65);
	if (r < 5)
		return 0;
	if (r < 85)
		return ut_rng_below(&rng, 300);
	if (r < 97)
		return ut_rng_below(&rng, 4 * 1024);
	return ut_rng_below(&rng, SLOT_BYTES);
}

/* Cuts [p, p+len) into 1..4 pieces, empty ones among them. */
static int cut(struct ibv_sge *sge, uint8_t *p, uint32_t len, uint32_t key)
{
	int n = 1 + (int)ut_rng_below(&rng, 4);

	for (int i = 0; i < n; i++) {
		uint32_t part = i == n - 1 ? len : ut_rng_below(&rng, len + 1);

		sge[i] = (struct ibv_sge){ (uintptr_t)p, part, part ? key : 0xdead };
		p += part;
		len -= part;
	}
	return n;
}

static bool takes_receive(enum op op)
{
	return op == SEND || op == SEND_IMM || op == SEND_INLINE || op == WRITE_IMM;
}

static void post_receives(struct pair *p)
{
	while (p->recv_posted < p->recv_done + SLOTS) {
		/* The buffer of receive k is slot k of a second area. */
		uint8_t *at = p->mem_b + SLOTS * SLOT_BYTES + 64 +
			      (p->recv_posted % SLOTS) * SLOT_BYTES;
		struct ibv_sge sge[4];
		struct ibv_recv_wr wr = { .wr_id = p->recv_posted, .sg_list = sge }, *bad;

		/* Now and then the peer must run into RNR. */
		if (p->recv_posted > p->recv_done && ut_rng_below(&rng, 10) == 0)
			return;
		wr.num_sge = cut(sge, at, SLOT_BYTES, p->mr_b->key);
		CHECK(eng_post_recv(p->b.qp, &wr, &bad) == 0);
		p->recv_posted++;
	}
}

static const enum ibv_wr_opcode opcodes[OPS] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD,
};

static void prepare_atomic(struct pair *p, struct job *j, struct ibv_send_wr *wr)
{
	wr->wr.atomic.remote_addr = (uintptr_t)word(p->mem_b);
	wr->wr.atomic.rkey = p->mr_b->key;
	j->expect = p->counter;
	if (j->op == FAA) {
		wr->wr.atomic.compare_add = ut_rng_u64(&rng);
		p->counter += wr->wr.atomic.compare_add;
		return;
	}
	wr->wr.atomic.compare_add = ut_rng_below(&rng, 2) ? p->counter : ~p->counter;
	wr->wr.atomic.swap = ut_rng_u64(&rng);
	if (wr->wr.atomic.compare_add == p->counter)
		p->counter = wr->wr.atomic.swap;
}

static void post_one(struct pair *p)
{
	struct job *j = &p->jobs[p->posted % SLOTS];
	uint8_t *at = slot(p->mem_a, p->posted), *remote = slot(p->mem_b, p->posted);
	struct ibv_sge sge[4];
	struct ibv_send_wr wr = { .wr_id = p->posted, .sg_list = sge }, *bad;

	*j = (struct job){ .op = ut_rng_below(&rng, OPS), .nr = p->posted };
	j->len = random_len(j->op);
	wr.opcode = opcodes[j->op];
	wr.send_flags = IBV_SEND_SIGNALED | (j->op == SEND_INLINE ? IBV_SEND_INLINE : 0) |
			(ut_rng_below(&rng, 20) ? 0 : IBV_SEND_FENCE);
	wr.imm_data = (uint32_t)j->nr;
	wr.wr.rdma.remote_addr = (uintptr_t)remote;
	wr.wr.rdma.rkey = p->mr_b->key;
	wr.num_sge = cut(sge, at, j->len, p->mr_a->key);
	if (j->op == READ)
		fill(remote, j->nr, j->len);
	else if (j->op == CAS || j->op == FAA)
		prepare_atomic(p, j, &wr);
	else
		fill(at, j->nr, j->len);
	if (takes_receive(j->op)) {
		j->recv_nr = p->recv_used++;
		p->recv_jobs[j->recv_nr % (2 * SLOTS)] = *j;
	}
	CHECK(eng_post_send(p->a.qp, &wr, &bad) == 0);
	if (j->op == SEND_INLINE)
		memset(at, 0xee, j->len); /* the buffer is ours again at once */
	p->posted++;
}

static void check_send(struct pair *p, const struct ibv_wc *wc)
{
	struct job *j = &p->jobs[p->completed % SLOTS];
	uint64_t old;

	CHECK_MSG(wc->status == IBV_WC_SUCCESS, "status %d of request %" PRIu64, wc->status, wc->wr_id);
	CHECK(wc->wr_id == p->completed);
	if (j->op == WRITE || j->op == WRITE_IMM) {
		verify(slot(p->mem_b, j->nr), j->nr, j->len, "write");
	} else if (j->op == READ) {
		verify(slot(p->mem_a, j->nr), j->nr, j->len, "read");
	} else if (j->op == CAS || j->op == FAA) {
		memcpy(&old, slot(p->mem_a, j->nr), 8);
		CHECK(old == j->expect);
	}
	p->completed++;
	done_messages++;
}

static void check_recv(struct pair *p, const struct ibv_wc *wc)
{
	struct job *j = &p->recv_jobs[p->recv_done % (2 * SLOTS)];
	uint8_t *at = p->mem_b + SLOTS * SLOT_BYTES + 64 + (p->recv_done % SLOTS) * SLOT_BYTES;

	CHECK_MSG(wc->status == IBV_WC_SUCCESS, "status %d of receive %" PRIu64, wc->status, wc->wr_id);
	CHECK(wc->wr_id == p->recv_done && wc->byte_len == j->len);
	if (j->op == WRITE_IMM) {
		CHECK(wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM);
		/* The slot may be written again only after the sender's completion. */
		verify(slot(p->mem_b, j->nr), j->nr, j->len, "write with immediate");
	} else {
		CHECK(wc->opcode == IBV_WC_RECV);
		verify(at, j->nr, j->len, "send");
	}
	CHECK(!!(wc->wc_flags & IBV_WC_WITH_IMM) == (j->op == SEND_IMM || j->op == WRITE_IMM));
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		CHECK(wc->imm_data == (uint32_t)j->nr);
	p->recv_done++;
}

static void serve(struct pair *p)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = eng_cq_poll(p->b.rcq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			check_recv(p, &wc[i]);
	while ((n = eng_cq_poll(p->a.scq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			check_send(p, &wc[i]);
	post_receives(p);
	/* A receive's job record and a slot may be reused only after both ends
	 * have looked at them. */
	while (p->posted < p->completed + SLOTS && p->recv_used < p->recv_done + SLOTS &&
	       done_messages + (p->posted - p->completed) < messages)
		post_one(p);
}

static void clear_weather(void)
{
	static const struct link_fault_rates none;
	bool last = false;

	for (int i = 0; i < n_pairs; i++)
		last |= ibp_qp(pairs[i].a.qp)->conn.req.retry_left < 3;
	if (last == clear)
		return;
	clear = last;
	cleared += last;
	sim_net_rates(world.net, last ? &none : &rates);
}

static bool all_done(void *arg)
{
	bool idle = true;

	(void)arg;
	clear_weather();
	for (int i = 0; i < n_pairs; i++) {
		serve(&pairs[i]);
		idle &= pairs[i].posted == pairs[i].completed &&
			pairs[i].recv_used == pairs[i].recv_done;
	}
	return idle && done_messages >= messages;
}

static void open_pair(struct pair *p, uint64_t seed)
{
	size_t len = 2 * SLOTS * SLOT_BYTES + 64;
	struct sim_qp_options o = {
		.depth = 2 * SLOTS, .mtu = IBV_MTU_256 + (int)ut_rng_below(&rng, 3),
		.psn_a = (uint32_t)(0xfffff0 - (seed & 0xff)), .psn_b = (uint32_t)(seed & 0xffffff),
		.timeout = 10,
	};

	p->mem_a = aligned_alloc(4096, (len + 4095) & ~4095ull);
	p->mem_b = aligned_alloc(4096, (len + 4095) & ~4095ull);
	memset(p->mem_a, 0, len);
	memset(p->mem_b, 0, len);
	sim_pair(&p->a, &world.host[0], &p->b, &world.host[world.n - 1], &o);
	p->mr_a = sim_reg(&world.host[0], p->mem_a, len);
	p->mr_b = sim_reg(&world.host[world.n - 1], p->mem_b, len);
}

static void close_pair(struct pair *p)
{
	CHECK(*word(p->mem_b) == p->counter);
	sim_end_close(&p->a);
	sim_end_close(&p->b);
	CHECK(eng_mr_dereg(p->mr_a) == 0);
	CHECK(eng_mr_dereg(p->mr_b) == 0);
	free(p->mem_a);
	free(p->mem_b);
}

static void check_slow(void *arg)
{
	for (int i = 0; i < n_pairs; i++) {
		slow_check(pairs[i].a.qp);
		slow_check(pairs[i].b.qp);
	}
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "seed", 1, NULL, 's' }, { "messages", 1, NULL, 'm' },
		{ "rate", 1, NULL, 'r' }, { "pairs", 1, NULL, 'p' },
		{ "one-host", 0, NULL, 'o' }, { "local", 0, NULL, 'l' }, { 0 },
	};
	uint64_t seed = ut_rng_seed() & 0xffffffff;
	bool one_host = false, local = false;
	unsigned rate = 30;
	struct sim_stats st;
	int c;

	while ((c = getopt_long(argc, argv, "s:m:r:p:ol", opts, NULL)) >= 0) {
		uint64_t v = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (c == 's')
			seed = v;
		else if (c == 'm')
			messages = v;
		else if (c == 'r')
			rate = (unsigned)v;
		else if (c == 'o')
			one_host = true;
		else if (c == 'l')
			local = true;
		else if (c == 'p' && v >= 1 && v <= PAIRS)
			n_pairs = (int)v;
		else
			return 2;
	}
	printf("soak --seed %" PRIu64 " --messages %" PRIu64 " --rate %u --pairs %d%s%s\n", seed,
	       messages, rate, n_pairs, one_host ? " --one-host" : "", local ? " --local" : "");
	fflush(stdout);
	rng.state = seed;
	rates = (struct link_fault_rates){ .loss = rate, .dup = rate, .reorder = rate,
					   .corrupt = rate, .seed = seed };
	sim_world_open(&world, &(struct sim_options){ .hosts = one_host ? 1 : 2, .own = one_host,
		.messages = local, .seed = seed, .net = { .rates = rates, .jitter = 3000 } });
	for (int i = 0; i < n_pairs; i++)
		open_pair(&pairs[i], seed + (uint64_t)i);
	world.each_round = check_slow;
	CHECK_MSG(sim_run(&world, 1000000 * UT_S, all_done, NULL), "stuck after %" PRIu64,
		  done_messages);
	world.each_round = NULL;
	sim_net_stats(world.net, &st);
	printf("%" PRIu64 " messages; %" PRIu64 " packets, %" PRIu64 " lost, %" PRIu64
	       " doubled, %" PRIu64 " delayed, %" PRIu64 " damaged, cleared %u times, virtual %" PRIu64
	       " ms\n",
	       done_messages, st.sent, st.lost, st.doubled, st.delayed, st.damaged, cleared,
	       (uint64_t)((world.now - 1000 * UT_S) / UT_MS));
	for (int i = 0; i < n_pairs; i++)
		close_pair(&pairs[i]);
	sim_world_close(&world);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A target QP of one process serves receive queues of its siblings (proto/ib/xrc/forward.h): every
 * message arrives once, in order, at the queue it names, and is acknowledged after that.
 */
#include "sim/xrc_world.h"
#include "support/cases.h"
#include "support/engine.h"
#include "util/clock.h"
#include "util/rng.h"

static const uint32_t sizes[] = { 0, 1, 64, 1023, 1024, 1025, 4096, 32768, 32769, 65536, 262144,
				  262145, 700001 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void one_send(int to, uint32_t len, enum ibv_wr_opcode code)
{
	bool write = code == IBV_WR_RDMA_WRITE_WITH_IMM;
	struct ibv_wc wc;

	pattern_fill(x.a.mem, len, len + (uint32_t)to);
	memset(x.q[to].mem, 0, XW_BUF);
	xw_recv(to, 7, write ? XW_BUF - 8 : 0, write ? 8 : XW_BUF);
	xw_send_to(x.q[to].srq->number, 9, code, 0, len, to);
	CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == 9);
	wc = xw_got(to, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 7 && wc.byte_len == len);
	CHECK(wc.opcode == (write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV));
	if (code != IBV_WR_SEND)
		CHECK(wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == 609);
	CHECK(!memcmp(x.q[to].mem, x.a.mem, len) && !x.q[to].mem[len]);
}

static void one_write(int to, uint32_t len)
{
	memset(x.q[to].mem, 0, XW_BUF);
	xw_send_to(x.q[to].srq->number, 9, IBV_WR_RDMA_WRITE, 0, len, to);
	sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
	CHECK(!memcmp(x.q[to].mem, x.a.mem, len) && !x.q[to].mem[len]);
}

static void all_sizes(bool apart)
{
	xw_open(apart);
	for (size_t i = 0; i < SIZES; i++)
		for (int to = 1; to < 4; to++) {
			one_send(to, sizes[i], IBV_WR_SEND);
			one_send(to, sizes[i], IBV_WR_SEND_WITH_IMM);
			one_send(to, sizes[i], IBV_WR_RDMA_WRITE_WITH_IMM);
			one_write(to, sizes[i]);
		}
	CHECK(sim_counter(x.a.h, ENG_C_retransmits) == 0);
	CHECK(sim_counter(x.a.h, ENG_C_local_ack_timeout_err) == 0);
	xw_close();
}

static void by_messages(void)
{
	all_sizes(false);
}

static void by_packets(void)
{
	all_sizes(true);
}

/* Queues of three processes in turn and all at once: deferred requests are asked for once. */
static void mixed(bool apart)
{
	static const int to[8] = { 2, 1, 3, 3, 1, 2, 2, 2 };
	unsigned seen[4] = { 0 };

	xw_open(apart);
	for (int i = 0; i < 8 * 8; i++) {
		pattern_fill(x.a.mem + i * 4096, 4096, i);
		xw_recv(to[i % 8], i, i * 4096, 4096);
	}
	for (int i = 0; i < 8 * 8; i++)
		xw_send(to[i % 8], i, i * 4096, 100 + 50 * i);
	for (int i = 0; i < 8 * 8; i++)
		CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
	for (int i = 0; i < 8 * 8; i++) {
		struct ibv_wc wc = xw_got(to[i % 8], IBV_WC_SUCCESS);

		CHECK(wc.wr_id == (uint64_t)i && wc.byte_len == 100 + 50u * i);
		CHECK(!memcmp(x.q[to[i % 8]].mem + i * 4096, x.a.mem + i * 4096, wc.byte_len));
		seen[to[i % 8]]++;
	}
	for (int i = 1; i < 4; i++)
		sim_no_wc(&x.w, x.q[i].cq, UT_S);
	CHECK(sim_counter(x.a.h, ENG_C_local_ack_timeout_err) == 0);
	/* Of 64 messages 48 name another owner than the one before. */
	CHECK(sim_counter(x.a.h, ENG_C_packet_seq_err) <= 48);
	xw_close();
}

static void mixed_messages(void)
{
	mixed(false);
}

static void mixed_packets(void)
{
	mixed(true);
}

/* No message is acknowledged before it is placed, and a request that the timer repeats is not
 * executed twice. */
static void slow_owner(void)
{
	struct sim_qp_options o = { .timeout = 12 }; /* 16 ms */
	static const struct sim_options net;

	for (int apart = 0; apart < 2; apart++) {
		xw_open_with(apart, &net, &o, 0);
		x.w.host[2].stopped = true;
		for (int i = 0; i < 5; i++) {
			xw_recv(2, i, 0, 8192);
			xw_send(2, i, 0, 3000);
		}
		sim_no_wc(&x.w, x.a.scq, 40 * UT_MS);
		CHECK(sim_counter(x.a.h, ENG_C_local_ack_timeout_err) > 0);
		x.w.host[2].stopped = false;
		for (int i = 0; i < 5; i++)
			CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
		for (int i = 0; i < 5; i++)
			CHECK(xw_got(2, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
		CHECK(eng_cq_held(x.q[2].cq) == 0);
		xw_close();
	}
}

static void no_receive(void)
{
	for (int apart = 0; apart < 2; apart++) {
		xw_open(apart);
		xw_recv(2, 1, 0, 8192);
		for (int i = 1; i < 4; i++)
			xw_send(2, i, 0, 3000);
		xw_send_to(x.q[2].srq->number, 4, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 5000, 2);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
		sim_no_wc(&x.w, x.a.scq, 2 * UT_MS);
		CHECK(sim_counter(x.t.h, ENG_C_rnr_nak_sent) > 1);
		for (int i = 2; i < 5; i++) {
			xw_recv(2, i, 0, 8192);
			CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
			sim_no_wc(&x.w, x.a.scq, 2 * UT_MS);
		}
		for (int i = 1; i < 5; i++)
			CHECK(xw_got(2, IBV_WC_SUCCESS).wr_id == (uint64_t)i);
		CHECK(eng_cq_held(x.q[2].cq) == 0);
		xw_close();
	}
}

static void retries_end(void)
{
	struct sim_qp_options o = { .rnr_retry = 2 };
	static const struct sim_options net;

	xw_open_with(true, &net, &o, 0);
	xw_send(3, 1, 0, 10);
	sim_wc_is(&x.w, x.a.scq, IBV_WC_RNR_RETRY_EXC_ERR);
	xw_close();
}

/* The way to the owner is not known at once. */
static void asked_first(void)
{
	for (int apart = 0; apart < 2; apart++) {
		xw_open(apart);
		one_send(1, 8, IBV_WR_SEND); /* the sender knows its own way */
		x.w.local->asked_until = x.w.now + 7 * UT_MS;
		xw_recv(2, 1, 0, 8192);
		xw_recv(1, 2, 0, 8192);
		xw_send(2, 1, 0, 3000);
		xw_send(1, 2, 0, 3000);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
		sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
		CHECK(xw_got(2, IBV_WC_SUCCESS).wr_id == 1);
		CHECK(xw_got(1, IBV_WC_SUCCESS).wr_id == 2);
		xw_close();
	}
}

/* More than the ring between the two holds: the sender is asked again, and all arrives. */
static void more_than_the_ring(void)
{
	xw_open(false);
	pattern_fill(x.a.mem, XW_BUF, 3);
	for (int i = 0; i < 12; i++) {
		xw_recv(2, i, 0, XW_BUF);
		xw_send(2, i, 0, 900000);
	}
	for (int i = 0; i < 12; i++)
		sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
	for (int i = 0; i < 12; i++)
		CHECK(xw_got(2, IBV_WC_SUCCESS).byte_len == 900000);
	CHECK(!memcmp(x.q[2].mem, x.a.mem, 900000));
	xw_close();
}

/* Reads of the target's own queues go in between, in their order. */
static void reads_between(void)
{
	for (int apart = 0; apart < 2; apart++) {
		xw_open(apart);
		pattern_fill(x.q[1].mem, 5000, 8);
		for (int i = 0; i < 4; i++) {
			xw_recv(2, i, 0, 8192);
			xw_send(2, i, 0, 3000);
			xw_send_to(x.q[1].srq->number, 50 + i, IBV_WR_RDMA_READ,
				   100000 + 10000 * i, 5000, 1);
		}
		for (int i = 0; i < 8; i++)
			sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS);
		for (int i = 0; i < 4; i++) {
			pattern_check(x.a.mem + 100000 + 10000 * i, 5000, 8);
			xw_got(2, IBV_WC_SUCCESS);
		}
		CHECK(sim_counter(x.a.h, ENG_C_local_ack_timeout_err) == 0);
		xw_close();
	}
}

/* --- bad weather between the hosts of sender and target --- */

struct flight {
	int to;
	uint32_t len;
	unsigned seed;
};

static void take_one(struct flight *f, int i, unsigned *next)
{
	struct ibv_wc wc = xw_got(i, IBV_WC_SUCCESS);

	while (f[*next].to != i)
		++*next;
	CHECK(wc.wr_id == *next && wc.byte_len == f[*next].len);
	pattern_check(x.q[i].mem + *next % XW_DEPTH * 8192, wc.byte_len, f[*next].seed);
	++*next;
}

static void batch(struct ut_rng *rng)
{
	struct flight f[XW_DEPTH];
	unsigned next[4] = { 0 };

	for (unsigned i = 0; i < XW_DEPTH; i++) {
		f[i] = (struct flight){ 1 + (int)ut_rng_below(rng, 3), ut_rng_below(rng, 8000), i };
		pattern_fill(x.a.mem + i * 8192, f[i].len, i);
		xw_send(f[i].to, i, i * 8192, f[i].len);
		/* Some come late, owners stop for a while, and rings are full. */
		x.w.local->full = ut_rng_below(rng, 8) == 0;
		x.w.host[2 + ut_rng_below(rng, 2)].stopped = ut_rng_below(rng, 3) == 0;
		for (uint32_t k = ut_rng_below(rng, 4); k; k--)
			sim_round(&x.w);
		if (ut_rng_below(rng, 4) == 0)
			sim_run(&x.w, ut_rng_below(rng, 3 * UT_MS), NULL, NULL);
		xw_recv(f[i].to, i, i * 8192, 8192);
	}
	x.w.local->full = x.w.host[2].stopped = x.w.host[3].stopped = false;
	for (unsigned i = 0; i < XW_DEPTH; i++)
		CHECK(sim_wc_is(&x.w, x.a.scq, IBV_WC_SUCCESS).wr_id == i);
	for (unsigned i = 0; i < XW_DEPTH; i++)
		take_one(f, f[i].to, &next[f[i].to]);
	for (int i = 1; i < 4; i++)
		CHECK(eng_cq_held(x.q[i].cq) == 0);
}

static void weather(void)
{
	struct sim_qp_options o = { .timeout = 10 };

	for (unsigned seed = 1; seed < 13; seed++) {
		struct sim_options net = {
			.seed = seed,
			.net = { .rates = { .seed = seed, .loss = 20, .dup = 20,
					    .reorder = 20, .corrupt = 10 },
				 .jitter = 20000 },
		};
		struct ut_rng rng = { .state = seed };

		fprintf(stderr, "# seed %u\n", seed);
		xw_open_with(true, &net, &o, 0);
		for (int i = 0; i < 25; i++)
			batch(&rng);
		xw_close();
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "68", "all kinds and sizes, by messages", by_messages },
		{ "68", "all kinds and sizes, by packets", by_packets },
		{ "68", "queues of three processes in turn, by messages", mixed_messages },
		{ "68", "queues of three processes in turn, by packets", mixed_packets },
		{ "68", "acknowledged when it is placed, and once", slow_owner },
		{ "68", "no receive: RNR, and on", no_receive },
		{ "68", "no receive: retries end", retries_end },
		{ "68", "the way is asked for first", asked_first },
		{ "68", "more than a ring holds", more_than_the_ring },
		{ "68", "reads of the target in between", reads_between },
		{ "68", "loss, doubling, disorder, damage", weather },
	};

	return RUN_CASES(cases, argc, argv);
}

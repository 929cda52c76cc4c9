/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Timeouts and retry counters, to the nanosecond, against a hand-made responder. */
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/engine.h"
#include "support/tape.h"

#include "proto/ib/port.h"
#include "proto/ib/retry.h"
#include "util/clock.h"

#define MTU 1024u
#define P0 HOST_PSN
#define T(code) (4096ull << (code))

static void post(struct crafted *c, enum ibv_wr_opcode code, uint64_t id, uint32_t len)
{
	struct sim_op o = { .code = code, .id = id, .at = c->e.mem, .len = len,
			    .remote = (void *)0x10000, .rkey = 0x1234 };

	CHECK(sim_post(&c->e, &o) == 0);
}

static void answer(struct crafted *c, uint8_t syndrome, uint32_t psn)
{
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome);
}

static uint64_t needs(struct crafted *c, enum ibv_wc_status status)
{
	uint64_t start = c->w.now;

	sim_wc_is(&c->w, c->e.scq, status);
	return c->w.now - start;
}

static void silence(void)
{
	static const uint8_t timeouts[] = { 1, 8, 14, 19 };

	for (size_t i = 0; i < sizeof(timeouts); i++)
		for (uint8_t retry = 0; retry <= 7; retry++) {
			struct crafted *c = crafted_open(&(struct sim_qp_options){
				.timeout = timeouts[i], .retry = retry, .retry_zero = !retry });
			uint64_t t = T(timeouts[i]), took;

			post(c, IBV_WR_SEND, 0, 8);
			took = needs(c, IBV_WC_RETRY_EXC_ERR);
			CHECK_MSG(took >= (retry + 1) * t && took <= (retry + 1) * 4 * t,
				  "retry_cnt %u: %llu ns", retry, (unsigned long long)took);
			crafted_run(c, 2 * SIM_DELAY);
			CHECK_MSG(c->n == retry + 1, "%d transmissions", c->n);
			for (int k = 1; k < c->n; k++) {
				uint64_t gap = c->v[k].at - c->v[k - 1].at;

				CHECK(gap >= t && gap <= 4 * t && c->v[k].p.psn == P0);
				/* the last ones wait as long as they may, or a second */
				CHECK(k < 3 || gap >= (4 * t < UT_S ? 4 * t : t > UT_S ? t : UT_S));
				CHECK(t < UT_S || gap < t + t / 2);
			}
			CHECK(crafted_state(c) == IBV_QPS_ERR);
			CHECK(crafted_counter(c, ENG_C_local_ack_timeout_err) == retry + 1u);
			crafted_close(c);
		}
}

static void never(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){
		.timeout_zero = true, .retry_zero = true });

	post(c, IBV_WR_SEND, 0, 8);
	sim_no_wc(&c->w, c->e.scq, 1000 * UT_S);
	crafted_run(c, UT_S);
	CHECK(c->n == 1);
	answer(c, 0x1f, P0);
	sim_wc_is(&c->w, c->e.scq, IBV_WC_SUCCESS);
	crafted_close(c);
}

/* The timer belongs to requests that are outstanding now, not to those answered long ago. */
static void restarts(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout = 10 });
	uint64_t t = T(10), start;

	post(c, IBV_WR_SEND, 0, 8);
	crafted_run(c, t / 2);
	answer(c, 0x1f, P0);
	sim_wc_is(&c->w, c->e.scq, IBV_WC_SUCCESS);
	post(c, IBV_WR_SEND, 1, 8);
	start = c->w.now;
	crafted_run(c, 9 * t / 10);
	CHECK(c->n == 2);
	crafted_run(c, 2 * t);
	CHECK(c->n >= 3 && c->v[2].at - start >= t && c->v[2].at - start <= 4 * t);
	crafted_close(c);
}

static void restored(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout = 8, .retry = 3 });

	for (uint32_t i = 0; i < 5; i++) {
		post(c, IBV_WR_SEND, i, 8);
		for (int lost = 0; lost < 3; lost++)
			crafted_run(c, T(8) << lost);
		answer(c, 0x1f, P0 + i);
		CHECK(sim_wc_is(&c->w, c->e.scq, IBV_WC_SUCCESS).wr_id == i);
	}
	CHECK(crafted_counter(c, ENG_C_local_ack_timeout_err) == 15);
	crafted_close(c);
}

/* A path that loses packets while the peer has no receive: each RNR NAK proves that the peer lives. */
static void restored_by_rnr(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout = 8, .retry = 3, .rnr_retry = 7 });

	post(c, IBV_WR_SEND, 0, 8);
	for (int i = 0; i < 5; i++) {
		for (int lost = 0; lost < 3; lost++)
			crafted_run(c, T(8) << lost);
		answer(c, 0x20 | 1, P0);
		crafted_run(c, ibp_rnr_ns(1) + 4 * SIM_DELAY);
		CHECK(crafted_state(c) == IBV_QPS_RTS);
	}
	CHECK(crafted_counter(c, ENG_C_local_ack_timeout_err) == 15);
	answer(c, 0x1f, P0);
	sim_wc_is(&c->w, c->e.scq, IBV_WC_SUCCESS);
	crafted_close(c);
}

/* Each RNR NAK is answered by a wait and the same PSN. */
static int rnr_rounds(struct crafted *c, int max, uint8_t code)
{
	int n = 0;

	while (n < max && !eng_cq_held(c->e.scq)) {
		answer(c, 0x20 | code, P0);
		n++;
		crafted_run(c, ibp_rnr_ns(code) + 4 * SIM_DELAY);
	}
	return n;
}

static void rnr_retries(void)
{
	for (uint8_t retry = 0; retry <= 7; retry++) {
		struct crafted *c = crafted_open(&(struct sim_qp_options){
			.timeout = 18, .rnr_retry = retry, .rnr_zero = !retry });
		int n;

		post(c, IBV_WR_SEND, 0, 8);
		crafted_run(c, 2 * SIM_DELAY);
		n = rnr_rounds(c, 20, 1);
		if (retry == 7) {
			CHECK(n == 20);
			answer(c, 0x1f, P0);
			sim_wc_is(&c->w, c->e.scq, IBV_WC_SUCCESS);
		} else {
			CHECK_MSG(n == retry + 1, "rnr_retry %u: %d NAKs", retry, n);
			sim_wc_is(&c->w, c->e.scq, IBV_WC_RNR_RETRY_EXC_ERR);
		}
		crafted_close(c);
	}
}

static void rnr_waits(void)
{
	static const struct {
		uint8_t code;
		uint64_t us;
	} rows[] = { { 1, 10 }, { 2, 20 }, { 5, 60 }, { 12, 640 }, { 14, 1280 }, { 25, 61440 },
		     { 31, 491520 }, { 0, 655360 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* A sequence NAK and a stale RNR NAK right behind change nothing (30). */
		for (int noise = 0; noise < 2; noise++) {
			struct crafted *c = crafted_open(NULL);
			uint64_t naked, gap;

			post(c, IBV_WR_SEND, 0, 8);
			crafted_run(c, 2 * SIM_DELAY);
			c->delayed = true;
			naked = c->w.now + SIM_DELAY;
			answer(c, 0x20 | rows[i].code, P0);
			if (noise) {
				c->delayed = true;
				answer(c, 0x60, P0);
				c->delayed = true;
				answer(c, 0x21, P0);
			}
			crafted_run(c, rows[i].us * 1000 + 2 * SIM_DELAY);
			CHECK(c->n == 2);
			gap = c->v[1].at - SIM_DELAY - naked;
			CHECK_MSG(gap >= rows[i].us * 1000 && gap < rows[i].us * 1010,
				  "code %u: %llu ns", rows[i].code, (unsigned long long)gap);
			crafted_close(c);
		}
	}
}

/* During an RNR wait the ACK timer rests, and new work does not slip past. */
static void rnr_holds_all(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout = 1, .retry = 1 });

	post(c, IBV_WR_SEND, 0, 8);
	answer(c, 0x20 | 14, P0);
	post(c, IBV_WR_SEND, 1, 8);
	post(c, IBV_WR_RDMA_WRITE, 2, 8);
	crafted_run(c, UT_MS);
	CHECK_MSG(c->v[c->n - 1].p.psn == P0, "psn %06x", c->v[c->n - 1].p.psn);
	CHECK(eng_cq_held(c->e.scq) == 0);
	crafted_close(c);
}

/* 31: a real responder runs dry in the middle of a stream. */
static void rnr_in_stream(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .timeout = 12 }, 1 << 16);

	for (uint64_t i = 0; i < 40; i++) {
		pattern_fill(r->a.mem + i * 512, 512, (unsigned)i);
		rig_op(r, i % 3 == 2 ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_SEND, i, i * 512,
		       32768 + i * 512, 512, 0);
		if (i % 5 == 4)
			rig_recv(r, i / 5, i / 5 * 512, 512);
	}
	for (uint64_t i = 0; i < 40; i++) {
		struct ibv_wc wc;

		if (i >= 8)
			rig_recv(r, i, i % 16 * 512, 512);
		wc = sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS);
		CHECK(wc.wr_id == i && wc.byte_len == 512);
		if (i % 3 == 2)
			pattern_check(r->b.mem + 32768 + i * 512, 512, (unsigned)i);
		else
			pattern_check(r->b.mem + i % 16 * 512, 512, (unsigned)i);
	}
	for (uint64_t i = 0; i < 40; i++)
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
	CHECK(tape_syndromes(&r->tape, 0x21) > 3);
	sim_no_wc(&r->w, r->b.rcq, UT_S);
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "25 26", "silence: retry_cnt + 1 transmissions, T to 4 T apart", silence },
	{ "26", "timeout 0 waits for ever", never },
	{ "25", "the timer restarts with the oldest request", restarts },
	{ "27", "progress restores the retry counter", restored },
	{ "27", "an RNR NAK restores the retry counter", restored_by_rnr },
	{ "28", "rnr_retry + 1 RNR NAKs; 7 is for ever", rnr_retries },
	{ "29 30", "RNR waits; a sequence NAK does not shorten them", rnr_waits },
	{ "29", "nothing passes an RNR wait", rnr_holds_all },
	{ "31", "RNR in the middle of a stream", rnr_in_stream },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

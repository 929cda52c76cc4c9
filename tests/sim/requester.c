/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The requester against a hand-made responder: the order of completions, repeated requests, and
 * ignored answers. */
#include "engine/qp_state.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/engine.h"
#include "support/tape.h"

#include "util/clock.h"

#define MTU 1024u
#define P0 HOST_PSN

static uint8_t data[8192];

static void post(struct crafted *c, enum ibv_wr_opcode code, uint64_t id, uint32_t len,
		 unsigned flags)
{
	struct sim_op o = { .code = code, .id = id, .at = c->e.mem + 4096 * id, .len = len,
			    .remote = (void *)0x10000, .rkey = 0x1234, .flags = flags };

	CHECK(sim_post(&c->e, &o) == 0);
	crafted_run(c, 2 * SIM_DELAY);
}

static void answer(struct crafted *c, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome,
	      .msn = msn, .dest_qpn = 0);
}

static void read_answer(struct crafted *c, uint8_t opcode, uint32_t psn, uint32_t len)
{
	CRAFT(c, data, len, .opcode = opcode, .psn = psn, .syndrome = 0x1f, .msn = 1);
}

static void completes(struct crafted *c, uint64_t id)
{
	struct ibv_wc wc;

	CHECK_MSG(eng_cq_poll(c->e.scq, 1, &wc) == 1, "request %llu is not complete",
		  (unsigned long long)id);
	CHECK_MSG(wc.status == IBV_WC_SUCCESS && wc.wr_id == id, "status %d id %llu", wc.status,
		  (unsigned long long)wc.wr_id);
}

static void nothing_completes(struct crafted *c)
{
	CHECK(eng_cq_held(c->e.scq) == 0);
}

static void sink(struct crafted *c)
{
	while (crafted_next(c))
		;
}

static void coalesced_acks(void)
{
	struct crafted *c = crafted_open(NULL);

	for (uint32_t i = 0; i < 3; i++)
		post(c, IBV_WR_SEND, i, 8, 0);
	post(c, IBV_WR_SEND, 3, 3 * MTU, 0);
	nothing_completes(c);
	answer(c, 0x1f, P0 + 1, 2);
	completes(c, 0);
	completes(c, 1);
	nothing_completes(c);
	answer(c, 0x1f, P0 + 4, 3); /* inside request 3 */
	completes(c, 2);
	nothing_completes(c);
	answer(c, 0x1f, P0 + 5, 4);
	completes(c, 3);
	crafted_close(c);
}

static void ignored_answers(void)
{
	static const uint8_t reserved[] = { 0x40, 0x5f, 0x80, 0xa0, 0xc0, 0xff, 0x64, 0x65, 0x7f };
	struct crafted *c = crafted_open(NULL);

	post(c, IBV_WR_SEND, 0, 8, 0);
	post(c, IBV_WR_SEND, 1, 8, 0);
	answer(c, 0x1f, P0, 1);
	completes(c, 0);
	sink(c);
	answer(c, 0x1f, P0 + 2, 3);         /* never sent */
	answer(c, 0x1f, P0 + 0x7ffff0, 3);
	answer(c, 0x1f, P0 - 1, 1);         /* long ago */
	answer(c, 0x61, P0, 1);
	answer(c, 0x60, P0, 1);
	answer(c, 0x21, P0 - 5, 1);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, P0, 8);
	for (size_t i = 0; i < sizeof(reserved); i++)
		answer(c, reserved[i], P0 + 1, 2);
	nothing_completes(c);
	crafted_want_nothing(c);
	CHECK(crafted_state(c) == IBV_QPS_RTS);
	answer(c, 0x1f, P0 + 1, 2);
	completes(c, 1);
	crafted_close(c);
}

static void naks(void)
{
	static const struct {
		uint8_t syndrome;
		enum ibv_wc_status status;
	} rows[] = { { 0x61, IBV_WC_REM_INV_REQ_ERR }, { 0x62, IBV_WC_REM_ACCESS_ERR },
		     { 0x63, IBV_WC_REM_OP_ERR } };

	for (int i = 0; i < 3; i++) {
		struct crafted *c = crafted_open(NULL);

		for (uint32_t k = 0; k < 4; k++)
			post(c, k == 2 ? IBV_WR_RDMA_READ : IBV_WR_SEND, k, 8, 0);
		answer(c, rows[i].syndrome, P0 + 1, 1);
		completes(c, 0); /* requests before it are acknowledged */
		CHECK(sim_wc_is(&c->w, c->e.scq, rows[i].status).wr_id == 1);
		CHECK(sim_wc_is(&c->w, c->e.scq, IBV_WC_WR_FLUSH_ERR).wr_id == 2);
		CHECK(sim_wc_is(&c->w, c->e.scq, IBV_WC_WR_FLUSH_ERR).wr_id == 3);
		CHECK(crafted_state(c) == IBV_QPS_ERR);
		crafted_close(c);
	}
}

static void nak_in_place_of_read_response(void)
{
	struct crafted *c = crafted_open(NULL);

	post(c, IBV_WR_RDMA_READ, 0, 3 * MTU, 0);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_FIRST, P0, MTU);
	answer(c, 0x62, P0 + 1, 1);
	sim_wc_is(&c->w, c->e.scq, IBV_WC_REM_ACCESS_ERR);
	crafted_close(c);
}

static void implied_nak(void)
{
	struct crafted *c = crafted_open(NULL);
	const struct crafted_rx *x;

	pattern_fill(data, sizeof(data), 4);
	post(c, IBV_WR_RDMA_READ, 0, 3 * MTU, 0);
	post(c, IBV_WR_SEND, 1, 8, 0);
	sink(c);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_FIRST, P0, MTU);
	answer(c, 0x1f, P0 + 3, 2); /* for the SEND: the rest of the READ is lost */
	nothing_completes(c);
	x = crafted_want(c, WIRE_RC_RDMA_READ_REQUEST, P0 + 1);
	CHECK(x->p.va == 0x10000 + MTU && x->p.dma_len == 2 * MTU);
	crafted_want(c, WIRE_RC_SEND_ONLY, P0 + 3);
	answer(c, 0x1f, P0 + 3, 2); /* again, and no second retry for it */
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_LAST, P0 + 2, MTU);
	crafted_want_nothing(c);
	nothing_completes(c);
	CRAFT(c, data + MTU, MTU, .opcode = WIRE_RC_RDMA_READ_RESPONSE_FIRST, .psn = P0 + 1,
	      .syndrome = 0x1f);
	CRAFT(c, data + 2 * MTU, MTU, .opcode = WIRE_RC_RDMA_READ_RESPONSE_LAST, .psn = P0 + 2,
	      .syndrome = 0x1f);
	completes(c, 0);
	pattern_check(c->e.mem, 3 * MTU, 4);
	nothing_completes(c);
	answer(c, 0x1f, P0 + 3, 2);
	completes(c, 1);
	crafted_close(c);
}

static void read_retry_by_timeout(void)
{
	struct crafted *c = crafted_open(NULL);
	const struct crafted_rx *x;

	post(c, IBV_WR_RDMA_READ, 0, 5 * MTU + 7, 0);
	crafted_want(c, WIRE_RC_RDMA_READ_REQUEST, P0);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_FIRST, P0, MTU);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, P0 + 1, MTU);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, P0 + 2, MTU);
	crafted_want_nothing(c);
	crafted_run(c, 3 * UT_MS / 2);
	x = crafted_want(c, WIRE_RC_RDMA_READ_REQUEST, P0 + 3);
	CHECK(x->p.va == 0x10000 + 3 * MTU && x->p.dma_len == 2 * MTU + 7);
	CHECK(x->p.rkey == 0x1234);
	crafted_want_nothing(c);
	crafted_close(c);
}

static void bad_responses(void)
{
	static const struct {
		enum ibv_wr_opcode code;
		uint8_t opcode;
		uint32_t len;
	} rows[] = {
		{ IBV_WR_SEND, WIRE_RC_RDMA_READ_RESPONSE_ONLY, 8 },
		{ IBV_WR_SEND, WIRE_RC_ATOMIC_ACKNOWLEDGE, 0 },
		{ IBV_WR_RDMA_WRITE, WIRE_RC_RDMA_READ_RESPONSE_FIRST, MTU },
		{ IBV_WR_RDMA_READ, WIRE_RC_ATOMIC_ACKNOWLEDGE, 0 },
		{ IBV_WR_RDMA_READ, WIRE_RC_RDMA_READ_RESPONSE_FIRST, MTU - 4 },
		{ IBV_WR_RDMA_READ, WIRE_RC_RDMA_READ_RESPONSE_FIRST, MTU + 4 },
		{ IBV_WR_RDMA_READ, WIRE_RC_RDMA_READ_RESPONSE_ONLY, 0 },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, WIRE_RC_RDMA_READ_RESPONSE_ONLY, 8 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct crafted *c = crafted_open(NULL);
		uint32_t len = rows[i].code == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : 2 * MTU;

		memset(data, 0x5a, sizeof(data));
		fprintf(stderr, "# row %zu\n", i);
		post(c, rows[i].code, 0, len, 0);
		read_answer(c, rows[i].opcode, P0, rows[i].len);
		sim_wc_is(&c->w, c->e.scq, IBV_WC_BAD_RESP_ERR);
		CHECK(crafted_state(c) == IBV_QPS_ERR);
		bytes_are(c->e.mem, 4 * MTU, 0);
		crafted_close(c);
	}
}

static int requests(struct crafted *c, uint8_t opcode)
{
	const struct crafted_rx *x;
	int n = 0;

	while ((x = crafted_next(c)))
		n += x->p.opcode == opcode;
	return n;
}

static void read_depth(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .rd_atomic = 3 });

	for (uint64_t i = 0; i < 8; i++)
		post(c, i & 1 ? IBV_WR_ATOMIC_FETCH_AND_ADD : IBV_WR_RDMA_READ, i, 8, 0);
	post(c, IBV_WR_SEND, 8, 8, 0);
	CHECK(requests(c, WIRE_RC_FETCH_ADD) == 1);
	CHECK(c->n == 3); /* 2 reads, 1 atomic; the SEND waits behind */
	for (uint32_t i = 0; i < 8; i++) {
		if (i & 1)
			CRAFT(c, NULL, 0, .opcode = WIRE_RC_ATOMIC_ACKNOWLEDGE, .psn = P0 + i,
			      .syndrome = 0x1f, .orig = 0x1122334455667788);
		else
			read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, P0 + i, 8);
		completes(c, i);
		CHECK(c->n == (i < 4 ? 4 + (int)i : 9));
	}
	crafted_close(c);
}

static void fences_and_order(void)
{
	struct crafted *c = crafted_open(NULL);

	post(c, IBV_WR_RDMA_READ, 0, 8, 0);
	post(c, IBV_WR_RDMA_WRITE, 1, 8, 0);
	CHECK(c->n == 2);
	post(c, IBV_WR_RDMA_WRITE, 2, 8, IBV_SEND_FENCE);
	post(c, IBV_WR_SEND, 3, 8, 0);
	CHECK(c->n == 2);
	nothing_completes(c);
	read_answer(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, P0, 8);
	completes(c, 0);
	CHECK(c->n == 4);
	answer(c, 0x1f, P0 + 3, 4);
	completes(c, 1);
	completes(c, 2);
	completes(c, 3);
	crafted_close(c);
}

static void credit_codes(void)
{
	static const int worth[] = { 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 };

	for (uint8_t code = 0; code < sizeof(worth) / sizeof(*worth); code++) {
		struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout_zero = true });

		post(c, IBV_WR_SEND, 0, 0, 0);
		answer(c, code, P0, 1);
		completes(c, 0);
		for (uint32_t i = 1; i < 60; i++)
			post(c, IBV_WR_SEND, i, 0, 0);
		/* One beyond the limit probes; the window of packets is 32 at first. */
		CHECK_MSG(c->n == 1 + (worth[code] + 1 < 33 ? worth[code] + 1 : c->n - 1),
			  "code %u: %d sends", code, c->n - 1);
		crafted_close(c);
	}
}

static void credits(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .timeout_zero = true });

	post(c, IBV_WR_SEND, 0, 8, 0);
	answer(c, 0x00, P0, 1);
	for (uint64_t i = 1; i < 5; i++)
		post(c, IBV_WR_RDMA_WRITE, i, 8, 0); /* never wait */
	CHECK(c->n == 5);
	answer(c, 0x00, P0 + 4, 5);
	for (uint64_t i = 5; i < 10; i++)
		post(c, IBV_WR_SEND, i, 8, 0);
	CHECK(c->n == 6);
	answer(c, 0x00, P0 + 5, 6); /* the probe was taken, no more room */
	CHECK(c->n == 7);
	answer(c, 0x00, P0 + 6, 7);
	CHECK(c->n == 8);
	answer(c, 0x00, P0 + 7, 8);
	CHECK(c->n == 9);
	answer(c, 0x05, P0 + 7, 8); /* a repeated ACK: the same PSN, new credits */
	CHECK(c->n == 10);
	answer(c, 0x1f, P0 + 9, 10);
	for (uint64_t i = 10; i < 20; i++)
		post(c, IBV_WR_SEND, i, 8, 0);
	CHECK(c->n == 20);
	crafted_close(c);
}

static void chatty_peer(void)
{
	struct crafted *c = crafted_open(NULL);

	for (uint64_t i = 0; i < 4; i++)
		post(c, IBV_WR_SEND, i, 8, 0);
	for (int i = 0; i < 5; i++)
		answer(c, 0x1f, P0 + 1, 2); /* one for each duplicate, as rxe sends them */
	sink(c);
	answer(c, 0x21, P0 + 2, 2);
	answer(c, 0x60, P0 + 2, 2);
	answer(c, 0x60, P0 + 2, 2);
	crafted_run(c, 10 * UT_MS / 1000);
	for (int i = 0; i < 3; i++)
		answer(c, 0x1f, P0 + 3, 4);
	for (uint64_t i = 0; i < 4; i++)
		completes(c, i);
	nothing_completes(c);
	crafted_run(c, 100 * UT_MS);
	CHECK(crafted_state(c) == IBV_QPS_RTS);
	post(c, IBV_WR_SEND, 4, 8, 0);
	answer(c, 0x1f, P0 + 4, 5);
	completes(c, 4);
	crafted_close(c);
}

static void drain(void)
{
	struct crafted *c = crafted_open(NULL);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	post(c, IBV_WR_SEND, 0, 8, 0);
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	post(c, IBV_WR_SEND, 1, 8, 0);
	CHECK(c->n == 1 && !sim_event(c->e.h, IBV_EVENT_SQ_DRAINED));
	answer(c, 0x1f, P0, 1);
	completes(c, 0);
	CHECK(sim_event(c->e.h, IBV_EVENT_SQ_DRAINED) && c->n == 1);
	a.qp_state = IBV_QPS_RTS;
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE) == 0);
	crafted_run(c, 2 * SIM_DELAY);
	CHECK(c->n == 2); /* by itself, without another post */
	answer(c, 0x1f, P0 + 1, 2);
	completes(c, 1);
	crafted_close(c);
}

/* A bad source behind good requests: those are repaired first. */
static void local_error_behind_loss(void)
{
	struct crafted *c = crafted_open(NULL);
	struct sim_op bad = { .code = IBV_WR_SEND, .id = 2, .at = c->e.mem, .len = 8, .lkey = 1 };

	post(c, IBV_WR_SEND, 0, 8, 0);
	post(c, IBV_WR_SEND, 1, 8, 0);
	CHECK(sim_post(&c->e, &bad) == 0);
	crafted_run(c, 3 * UT_MS / 2); /* both are lost: a timeout */
	nothing_completes(c);
	CHECK(c->n == 4);
	answer(c, 0x60, P0, 0);
	answer(c, 0x1f, P0 + 1, 2);
	completes(c, 0);
	completes(c, 1);
	CHECK(sim_wc_is(&c->w, c->e.scq, IBV_WC_LOC_PROT_ERR).wr_id == 2);
	crafted_close(c);
}

static const struct test_case cases[] = {
	{ "32", "an acknowledgement covers all before it", coalesced_acks },
	{ "42", "old, future and reserved answers are ignored", ignored_answers },
	{ "44-51", "NAK codes become statuses", naks },
	{ "47", "NAK in place of a read response", nak_in_place_of_read_response },
	{ "33", "implied NAK: read asked again from the gap", implied_nak },
	{ "34", "read asked again after a timeout: address and length adjusted", read_retry_by_timeout },
	{ "43", "answers that fit no request", bad_responses },
	{ "37", "never more than max_rd_atomic in flight", read_depth },
	{ "38 39", "fences; completions in posting order", fences_and_order },
	{ "40", "credit codes", credit_codes },
	{ "40 41", "credits: writes free, repeated acknowledgements", credits },
	{ "98", "a peer that repeats itself", chatty_peer },
	{ "14 15", "drain", drain },
	{ "46", "a local error behind lost requests", local_error_behind_loss },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

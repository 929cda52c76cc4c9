/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The responder's PSN rules, duplicates, acknowledgements and silent drops, asked by a
 * hand-made peer. */
#include "engine/chan.h"
#include "engine/mr.h"
#include "engine/qp_state.h"
#include "proto/ib/ibp.h"
#include "proto/ib/port.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/engine.h"
#include "support/tape.h"
#include "util/clock.h"

#define MTU 1024u

static uint8_t data[4096];

static void send_only(struct crafted *c, uint32_t psn, uint32_t len)
{
	CRAFT(c, data, len, .opcode = WIRE_RC_SEND_ONLY, .psn = psn, .ack_req = true);
}

static void receives(struct crafted *c, int n)
{
	for (int i = 0; i < n; i++)
		CHECK(sim_post_recv(&c->e, (uint64_t)i, c->e.mem + i * 64, 64) == 0);
}

static void read_request(struct crafted *c, uint32_t psn, uint8_t *at, uint32_t len)
{
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_READ_REQUEST, .psn = psn, .va = (uintptr_t)at,
	      .rkey = c->e.mr->key, .dma_len = len);
}

static void fetch_add(struct crafted *c, uint32_t psn, uint8_t *at, uint64_t add)
{
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_FETCH_ADD, .psn = psn, .va = (uintptr_t)at,
	      .rkey = c->e.mr->key, .swap_add = add);
}

static void one_nak_per_gap(void)
{
	struct crafted *c = crafted_open(NULL);
	uint32_t e = c->epsn;

	receives(c, 8);
	send_only(c, e + 1, 8);
	crafted_want_aeth(c, 0x60, e, 0);
	for (uint32_t i = 2; i < 6; i++)
		send_only(c, e + i, 8);
	read_request(c, e + 3, c->e.mem, 8);
	crafted_want_nothing(c);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e, 1);
	send_only(c, e, 8); /* duplicates are answered during a gap too */
	crafted_want_aeth(c, 0x1f, e, 1);
	send_only(c, e + 2, 8);
	crafted_want_aeth(c, 0x60, e + 1, 1);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e, 1);
	send_only(c, e + 3, 8);
	crafted_want_nothing(c);
	CHECK(eng_cq_held(c->e.rcq) == 1);
	crafted_close(c);
}

static void duplicate_sends(void)
{
	struct crafted *c = crafted_open(NULL);
	uint32_t e = c->epsn;

	receives(c, 8);
	for (uint32_t i = 0; i < 3; i++) {
		send_only(c, e + i, 8);
		crafted_want_aeth(c, 0x1f, e + i, i + 1);
	}
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e + 2, 3); /* with the newest PSN */
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = e);
	crafted_want_nothing(c);
	CRAFT(c, data, 3, .opcode = WIRE_RC_SEND_FIRST, .psn = e + 1); /* malformed */
	crafted_want_nothing(c);
	send_only(c, (e - 0x7ffff0) & 0xffffff, 8); /* still behind, modulo 2^24 */
	crafted_want_aeth(c, 0x1f, e + 2, 3);
	CHECK(eng_cq_held(c->e.rcq) == 3 && crafted_state(c) == IBV_QPS_RTS);
	CHECK(crafted_counter(c, ENG_C_duplicate_request) == 4);
	crafted_close(c);
}

static void read_bytes(struct crafted *c, uint32_t psn, uint32_t len, const uint8_t *want)
{
	uint32_t n = len ? (len + MTU - 1) / MTU : 1;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t op = n == 1 ? WIRE_RC_RDMA_READ_RESPONSE_ONLY
			     : i == 0 ? WIRE_RC_RDMA_READ_RESPONSE_FIRST
			     : i == n - 1 ? WIRE_RC_RDMA_READ_RESPONSE_LAST
					  : WIRE_RC_RDMA_READ_RESPONSE_MIDDLE;
		const struct crafted_rx *x = crafted_want(c, op, psn + i);
		uint32_t part = i == n - 1 ? len - i * MTU : MTU;

		CHECK_MSG(x->p.payload_len == part, "%u bytes, not %u", x->p.payload_len, part);
		CHECK(memcmp(x->p.payload, want + i * MTU, part) == 0);
	}
	crafted_want_nothing(c);
}

static void duplicate_reads(void)
{
	struct crafted *c = crafted_open(NULL);
	uint8_t *at = c->e.mem + 4096;
	uint32_t e = c->epsn, len = 3 * MTU + 5;
	struct eng_mkey *mr = sim_reg(c->e.h, at, 8192);
	uint32_t key = mr->key;

	pattern_fill(at, 8192, 1);
	read_request(c, e, at, len);
	read_bytes(c, e, len, at);
	pattern_fill(at, 8192, 2);
	read_request(c, e, at, len); /* reads the memory again */
	read_bytes(c, e, len, at);
	read_request(c, e + 1, at + MTU, len - MTU);
	read_bytes(c, e + 1, len - MTU, at + MTU);
	read_request(c, e + 1, at + MTU, 2 * MTU); /* part of the rest */
	read_bytes(c, e + 1, 2 * MTU, at + MTU);
	read_request(c, e + 1, at + MTU, 100);
	read_bytes(c, e + 1, 100, at + MTU);
	read_request(c, e + 3, at + 3 * MTU, 5);
	read_bytes(c, e + 3, 5, at + 3 * MTU);
	/* Outside of the range, or not the same memory: silence. */
	read_request(c, e, at, len + 1);
	read_request(c, e, at - 8, len);
	read_request(c, e, at + 8, len - 8);
	read_request(c, e + 1, at, len);
	read_request(c, e + 3, at + 3 * MTU, MTU);
	read_request(c, e - 1, at, 8);
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_READ_REQUEST, .psn = e, .va = (uintptr_t)at,
	      .rkey = key, .dma_len = len);
	crafted_want_nothing(c);
	/* The key is gone: a first READ is refused, a repeated one stays without data. */
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_READ_REQUEST, .psn = e + 4, .va = (uintptr_t)at,
	      .rkey = key, .dma_len = 8);
	read_bytes(c, e + 4, 8, at);
	CHECK(eng_mr_dereg(mr) == 0);
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_READ_REQUEST, .psn = e + 4, .va = (uintptr_t)at,
	      .rkey = key, .dma_len = 8);
	crafted_want_nothing(c);
	CHECK(crafted_state(c) == IBV_QPS_RTS);
	crafted_close(c);
}

static void atomic_replay(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .rd_atomic = 4 });
	uint8_t *at = c->e.mem + 64;
	uint32_t e = c->epsn;
	uint64_t now;

	for (uint32_t i = 0; i < 4; i++) {
		fetch_add(c, e + i, at, 10);
		CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + i)->p.orig == 10u * i);
	}
	for (uint32_t i = 0; i < 4; i++) {
		fetch_add(c, e + i, at, 10);
		CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + i)->p.orig == 10u * i);
	}
	fetch_add(c, e + 4, at, 1);
	CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 4)->p.orig == 40);
	fetch_add(c, e, at, 10); /* its entry serves another one now */
	crafted_want_nothing(c);
	fetch_add(c, e + 1, at, 10);
	CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 1)->p.orig == 10);
	memcpy(&now, at, 8);
	CHECK(now == 41);
	crafted_close(c);
}

static void read_depth(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .rd_atomic_zero = true });

	read_request(c, c->epsn, c->e.mem, 8);
	crafted_want_aeth(c, 0x61, c->epsn, 0);
	crafted_close(c);
	c = crafted_open(&(struct sim_qp_options){ .rd_atomic = 2 });
	for (uint32_t i = 0; i < 3; i++) {
		c->delayed = true; /* three before one could be answered */
		read_request(c, c->epsn + i, c->e.mem, 8);
	}
	crafted_run(c, 2 * SIM_DELAY);
	crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, c->epsn);
	crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, c->epsn + 1);
	crafted_want_aeth(c, 0x61, c->epsn + 2, 2);
	crafted_close(c);
}

static void message_numbers(void)
{
	struct crafted *c = crafted_open(NULL);
	uint32_t e = c->epsn;

	receives(c, 4);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e, 1);
	read_request(c, e + 1, c->e.mem, 3 * MTU);
	CHECK(crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_FIRST, e + 1)->p.msn == 2);
	crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_MIDDLE, e + 2);
	CHECK(crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_LAST, e + 3)->p.msn == 2);
	CRAFT(c, data, MTU, .opcode = WIRE_RC_RDMA_WRITE_FIRST, .psn = e + 4, .ack_req = true,
	      .va = (uintptr_t)c->e.mem, .rkey = c->e.mr->key, .dma_len = MTU + 4);
	crafted_want_aeth(c, 0x1f, e + 4, 2); /* not complete yet */
	CRAFT(c, data, 4, .opcode = WIRE_RC_RDMA_WRITE_LAST, .psn = e + 5, .ack_req = true);
	crafted_want_aeth(c, 0x1f, e + 5, 3);
	fetch_add(c, e + 6, c->e.mem, 1);
	CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 6)->p.msn == 4);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e + 6, 4);
	fetch_add(c, e + 6, c->e.mem, 1);
	CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 6)->p.msn == 4);
	send_only(c, e + 7, 8);
	crafted_want_aeth(c, 0x1f, e + 7, 5);
	crafted_close(c);
}

static void order_of_answers(void)
{
	struct crafted *c = crafted_open(NULL);
	uint32_t e = c->epsn;

	receives(c, 4);
	c->delayed = true;
	read_request(c, e, c->e.mem, 2 * MTU);
	c->delayed = true;
	send_only(c, e + 2, 8);
	c->delayed = true;
	fetch_add(c, e + 3, c->e.mem, 1);
	c->delayed = true;
	send_only(c, e + 4, 8);
	send_only(c, e + 5, 8);
	crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_FIRST, e);
	crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_LAST, e + 1);
	crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 3);
	crafted_want_aeth(c, 0x1f, e + 5, 5); /* one for all */
	crafted_want_nothing(c);
	crafted_close(c);
}

static void rnr(void)
{
	struct crafted *c = crafted_open(&(struct sim_qp_options){ .min_rnr = 14 });
	uint32_t e = c->epsn;

	send_only(c, e, 8);
	crafted_want_aeth(c, 0x20 | 14, e, 0);
	send_only(c, e + 1, 8); /* behind it: the peer knows already */
	crafted_want_nothing(c);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x20 | 14, e, 0);
	receives(c, 2);
	send_only(c, e, 8);
	crafted_want_aeth(c, 0x1f, e, 1);
	send_only(c, e + 1, 8);
	crafted_want_aeth(c, 0x1f, e + 1, 2);
	crafted_close(c);
}

static void srq_empty(void)
{
	struct crafted *c = crafted_open(NULL);
	struct eng_srq_spec s = { .pd = c->e.h->pd, .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_sge sge = { (uintptr_t)c->e.mem, 64, c->e.mr->key };
	struct ibv_recv_wr wr = { .wr_id = 42, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct sim_qp_options o = { 0 };
	struct sim_end e;

	CHECK(eng_srq_create(c->e.h->ctx, &s, &o.srq) == 0);
	sim_end_create(&e, c->e.h, &o);
	sim_end_aim(&e, c->addr, CRAFTED_QPN, HOST_PSN, 7, &o);
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = 7, .ack_req = true,
	      .dest_qpn = e.qp->qpn);
	crafted_want_aeth(c, 0x21, 7, 0);
	CHECK(eng_srq_post(o.srq, &wr, &bad) == 0);
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = 7, .ack_req = true,
	      .dest_qpn = e.qp->qpn);
	crafted_want_aeth(c, 0x1f, 7, 1); /* no credits with an SRQ */
	CHECK(sim_wc_is(&c->w, e.rcq, IBV_WC_SUCCESS).wr_id == 42);
	sim_end_close(&e);
	CHECK(eng_srq_destroy(o.srq) == 0);
	crafted_close(c);
}

/* 57: each drop is silent, counted, and leaves the QP as it was. */
static void dropped(struct crafted *c, enum eng_counter k, struct wire_ib_packet p)
{
	uint64_t before = crafted_counter(c, k);

	p.psn = c->epsn;
	p.ack_req = true;
	if (!p.opcode)
		p.opcode = WIRE_RC_SEND_ONLY;
	crafted_tx(c, p, data, 8);
	crafted_want_nothing(c);
	CHECK_MSG(crafted_counter(c, k) == before + 1, "counter %s", eng_counter_rows[k].name);
	CHECK(eng_cq_held(c->e.rcq) == 0);
}

static void silent_drops(void)
{
	static const uint8_t stranger[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 98 };
	struct crafted *c = crafted_open(NULL);
	struct wire_ib_packet plain = { 0 };

	receives(c, 4);
	CHECK(c->link->ops->add_addr(c->link, stranger, 1) == 0);
	for (int i = 0; i < 8; i++) {
		c->flip_icrc = 1u << i;
		dropped(c, ENG_C_rx_icrc_errors, plain);
	}
	dropped(c, ENG_C_rx_short, (struct wire_ib_packet){ .tver = 1 });
	c->opcode = 1 + 0x15;
	dropped(c, ENG_C_rx_short, plain);
	c->opcode = 1 + 0x80;
	dropped(c, ENG_C_rx_short, plain);
	c->cut = 16; /* 12 bytes are left */
	dropped(c, ENG_C_rx_short, plain);
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .dest_qpn = 1u << 24 }); /* 0 */
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .dest_qpn = c->e.qp->qpn ^ 0x40 });
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .opcode = WIRE_UC_SEND_ONLY });
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .opcode = WIRE_XRC_SEND_ONLY });
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .opcode = WIRE_UD_SEND_ONLY });
	dropped(c, ENG_C_rx_no_qp, (struct wire_ib_packet){ .opcode = WIRE_RD_SEND_ONLY });
	dropped(c, ENG_C_rx_bad_pkey, (struct wire_ib_packet){ .pkey = 0x7ffe });
	c->from = stranger;
	dropped(c, ENG_C_rx_bad_source, plain);
	send_only(c, c->epsn, 8);
	crafted_want_aeth(c, 0x1f, c->epsn, 1);
	crafted_close(c);
}

static void states(void)
{
	struct crafted *c = crafted_open(NULL);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD };

	receives(c, 4);
	send_only(c, c->epsn, 8);
	crafted_want_aeth(c, 0x1f, c->epsn++, 1);
	CHECK(!sim_event(c->e.h, IBV_EVENT_COMM_EST)); /* RTS already */
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE) == 0);
	send_only(c, c->epsn, 8);
	crafted_want_aeth(c, 0x1f, c->epsn++, 2);
	a.qp_state = IBV_QPS_ERR;
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE) == 0);
	crafted_run(c, UT_MS);
	crafted_want_aeth(c, 0x1f, c->epsn - 1, 2); /* once more, at the end */
	send_only(c, c->epsn, 8);
	crafted_want_nothing(c);
	crafted_close(c);
}

static void solicited(void)
{
	struct crafted *c = crafted_open(NULL);
	struct eng_chan *chan;
	struct eng_cq *cq, *got;
	struct ibv_wc wc;

	receives(c, 4);
	CHECK(eng_chan_create(c->e.h->ctx, &chan) == 0);
	cq = c->e.rcq;
	cq->chan = chan;
	eng_cq_arm(cq, true);
	send_only(c, c->epsn++, 8);
	CHECK(eng_chan_get(chan, &got) == -EAGAIN);
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = c->epsn++, .se = true);
	CHECK(eng_chan_get(chan, &got) == 0 && got == cq);
	while (eng_cq_poll(cq, 1, &wc) == 1)
		;
	cq->chan = NULL;
	CHECK(eng_chan_destroy(chan) == 0);
	crafted_close(c);
}

/* The largest code that the receives still posted are worth. */
static void credits_given(void)
{
	struct crafted *c = crafted_open(NULL);
	struct ibp_port *port = c->e.h->dev.proto_port;
	uint32_t e = c->epsn;

	port->cfg.credits = true;
	receives(c, 7);
	for (uint32_t i = 0; i < 7; i++) {
		static const uint8_t codes[] = { 5, 4, 4, 3, 2, 1, 0 }; /* 6 left, 5 (worth 4), 4, 3, ... */

		send_only(c, e + i, 8);
		crafted_want_aeth(c, codes[i], e + i, i + 1);
	}
	receives(c, 1);
	read_request(c, e + 7, c->e.mem, 8);
	CHECK(crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, e + 7)->p.syndrome == 1);
	fetch_add(c, e + 8, c->e.mem, 1);
	CHECK(crafted_want(c, WIRE_RC_ATOMIC_ACKNOWLEDGE, e + 8)->p.syndrome == 1);
	port->cfg.credits = false;
	send_only(c, e + 9, 8);
	crafted_want_aeth(c, 0x1f, e + 9, 10);
	crafted_close(c);
}

/* A requester whose acknowledgement was lost would repeat its request to a queue pair that is gone. */
static void last_acknowledgement_again(void)
{
	for (int way = 0; way < 3; way++) {
		struct crafted *c = crafted_open(NULL);
		struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR }, reset = { .qp_state = IBV_QPS_RESET };
		uint32_t e = c->epsn;

		receives(c, 2);
		send_only(c, e, 8);
		send_only(c, e + 1, 8);
		crafted_want_aeth(c, 0x1f, e, 1);
		crafted_want_aeth(c, 0x1f, e + 1, 2);
		if (way == 0) {
			CHECK(eng_qp_modify(c->e.qp, &err, IBV_QP_STATE) == 0);
		} else if (way == 1) {
			CHECK(eng_qp_modify(c->e.qp, &reset, IBV_QP_STATE) == 0);
		} else {
			ut_lock(&c->e.h->dev.lock);
			ibp_leave(&c->e.h->dev);
			ut_unlock(&c->e.h->dev.lock);
		}
		crafted_run(c, UT_MS);
		crafted_want_aeth(c, 0x1f, e + 1, 2);
		CHECK(eng_qp_modify(c->e.qp, &reset, IBV_QP_STATE) == 0 || way == 1);
		crafted_run(c, UT_MS);
		if (way < 2)
			crafted_want_nothing(c); /* from ERR, and from RESET */
		crafted_close(c);
	}
}

static void nothing_to_acknowledge_again(void)
{
	struct crafted *c = crafted_open(NULL);
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };

	CHECK(eng_qp_modify(c->e.qp, &err, IBV_QP_STATE) == 0);
	crafted_run(c, UT_MS);
	crafted_want_nothing(c);
	crafted_close(c);
}

static const struct test_case cases[] = {
	{ "24", "one sequence NAK per gap", one_nak_per_gap },
	{ "24", "repeated sends: acknowledged with the newest PSN, not executed", duplicate_sends },
	{ "58", "repeated reads: current memory, original range, live key", duplicate_reads },
	{ "35 36", "repeated atomics: executed once, answered until recycled", atomic_replay },
	{ "36", "more reads than max_dest_rd_atomic", read_depth },
	{ "60", "message sequence numbers", message_numbers },
	{ "-", "answers leave in the order of requests, acknowledgements as one", order_of_answers },
	{ "28", "receiver not ready", rnr },
	{ "90", "empty shared receive queue", srq_empty },
	{ "57", "silent drops and their counters", silent_drops },
	{ "15", "states: SQD answers, ERR is silent", states },
	{ "61", "only a solicited message wakes", solicited },
	{ "40", "end-to-end credits", credits_given },
	{ "-", "the last acknowledgement leaves once more at the end", last_acknowledgement_again },
	{ "-", "a queue pair that has executed nothing ends in silence", nothing_to_acknowledge_again },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

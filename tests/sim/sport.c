/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source ports of a connection's peer: learned, held against a forger that knows all else, and changed with a
 * proof. The peer and the forger are hand-made. */
#include "engine/qp_state.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/engine.h"

#define PEER 0xc123
#define OTHER 0xd456
#define FORGER 0x9876
#define SECOND (1000 * 1000 * 1000ull)

static uint8_t data[64];

static struct crafted *begin(const struct sim_qp_options *o)
{
	struct crafted *c = crafted_open(o);

	for (int i = 0; i < 16; i++)
		CHECK(sim_post_recv(&c->e, (uint64_t)i, c->e.mem + i * 64, 64) == 0);
	return c;
}

static void send_from(struct crafted *c, uint16_t sport, uint32_t psn)
{
	c->sport = sport;
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = psn, .ack_req = true);
}

static void ack_from(struct crafted *c, uint16_t sport, uint32_t psn)
{
	c->sport = sport;
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = 0x1f, .msn = 0);
}

static void accepted(struct crafted *c, uint16_t sport)
{
	send_from(c, sport, c->epsn);
	crafted_want_aeth(c, 0x1f, c->epsn, c->epsn - CRAFTED_PSN + 1);
	c->epsn++;
}

/* The duplicate that asks the peer for an acknowledgement. */
static void want_probe(struct crafted *c)
{
	const struct crafted_rx *x = crafted_want(c, WIRE_RC_SEND_ONLY, HOST_PSN - 1);

	CHECK(x->p.ack_req && !x->p.payload_len);
}

static void forged(void)
{
	struct crafted *c = begin(NULL);

	accepted(c, PEER);
	send_from(c, FORGER, c->epsn);
	want_probe(c);
	CHECK(eng_cq_held(c->e.rcq) == 1);
	CHECK(crafted_counter(c, ENG_C_rx_bad_source_port) == 1);
	/* The peer answers from its own port: nothing has changed. */
	ack_from(c, PEER, HOST_PSN - 1);
	crafted_want_nothing(c);
	accepted(c, PEER);
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 0);
	/* However many, the peer is asked ten times a second. */
	for (uint32_t i = 0; i < 500; i++) {
		send_from(c, (uint16_t)(FORGER + i), c->epsn);
		crafted_run(c, SECOND / 1000);
	}
	CHECK(crafted_counter(c, ENG_C_source_port_probes) <= 10);
	CHECK(eng_cq_held(c->e.rcq) == 2 && crafted_state(c) == IBV_QPS_RTS);
	while (crafted_next(c))
		;
	accepted(c, PEER);
	crafted_close(c);
}

static void changed(void)
{
	struct crafted *c = begin(NULL);

	accepted(c, PEER);
	send_from(c, OTHER, c->epsn);
	want_probe(c);
	/* Its answer proves the port, and the request that was dropped is asked for at once. */
	ack_from(c, OTHER, HOST_PSN - 1);
	crafted_want_aeth(c, 0x60, c->epsn, 1);
	accepted(c, OTHER);
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 1);
	/* A peer that uses both in turn goes on with both. */
	accepted(c, PEER);
	accepted(c, OTHER);
	accepted(c, PEER);
	CHECK(crafted_counter(c, ENG_C_rx_bad_source_port) == 1);
	crafted_close(c);
}

static void no_proof(void)
{
	struct crafted *c = begin(NULL);

	accepted(c, PEER);
	/* Unasked; with another PSN; too late. */
	ack_from(c, OTHER, HOST_PSN - 1);
	want_probe(c);
	ack_from(c, OTHER, HOST_PSN - 2);
	ack_from(c, OTHER, HOST_PSN + 1);
	crafted_run(c, 2 * SECOND);
	ack_from(c, OTHER, HOST_PSN - 1);
	want_probe(c);
	/* Guessed, among others. */
	for (uint32_t i = 0; i < 64; i++)
		ack_from(c, OTHER, HOST_PSN + 100 - i * 2);
	ack_from(c, OTHER, HOST_PSN - 1);
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 0);
	accepted(c, PEER);
	crafted_close(c);
}

/* A forged packet out of order comes first: it teaches nothing. */
static void first_packet(void)
{
	struct crafted *c = begin(NULL);

	send_from(c, FORGER, c->epsn + 5);
	crafted_want_aeth(c, 0x60, c->epsn, 0);
	accepted(c, PEER);
	send_from(c, FORGER, c->epsn);
	want_probe(c);
	crafted_close(c);
}

/* In state RTR: nothing can be asked, and a request in order is the proof, ten times a second at most. */
static void receiver_only(void)
{
	struct crafted *c = begin(NULL);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RESET, .port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = CRAFTED_QPN,
		.rq_psn = CRAFTED_PSN, .max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};

	memcpy(a.ah_attr.grh.dgid.raw, c->addr, 16);
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE) == 0);
	a.qp_state = IBV_QPS_INIT;
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	a.qp_state = IBV_QPS_RTR;
	CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(sim_post_recv(&c->e, (uint64_t)i, c->e.mem, 64) == 0);
	accepted(c, PEER);
	send_from(c, OTHER, c->epsn + 1);
	crafted_want_nothing(c);
	accepted(c, OTHER);
	send_from(c, FORGER, c->epsn);
	crafted_want_nothing(c);
	accepted(c, PEER);
	CHECK(crafted_counter(c, ENG_C_source_port_probes) == 0);
	crafted_close(c);
}

/* A change at this end, which the peer sees at the same time: it has dropped what came, and asks. */
static void both_changed(void)
{
	struct crafted *c = begin(NULL);

	accepted(c, PEER);
	c->sport = OTHER;
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_SEND_ONLY, .psn = c->epsn - 1, .ack_req = true);
	want_probe(c);
	crafted_want_aeth(c, 0x1f, c->epsn - 1, 1);
	CHECK(eng_cq_held(c->e.rcq) == 1);
	ack_from(c, OTHER, HOST_PSN - 1);
	crafted_want_nothing(c);
	accepted(c, OTHER);
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 1);
	/* However many come, they are answered ten times a second, and executed never. */
	for (uint32_t i = 0; i < 500; i++) {
		send_from(c, (uint16_t)(FORGER + i), c->epsn - 1 - i % 2);
		crafted_run(c, SECOND / 1000);
	}
	for (int answers = 0; ; answers++) {
		const struct crafted_rx *x = crafted_next(c);

		CHECK(answers <= 2 * 6);
		if (!x)
			break;
	}
	CHECK(eng_cq_held(c->e.rcq) == 2);
	/* A duplicate that is too old is none of a probe's. */
	crafted_run(c, SECOND);
	send_from(c, FORGER, c->epsn - 5000);
	want_probe(c);
	crafted_want_nothing(c);
	crafted_close(c);
}

static void unconfirmed(struct crafted *c, uint16_t sport, uint32_t psn, uint32_t held)
{
	c->sport = sport;
	CRAFT(c, data, 8, .opcode = WIRE_UC_SEND_ONLY, .psn = psn);
	crafted_want_nothing(c);
	CHECK(eng_cq_held(c->e.rcq) == held);
}

/* UC has no answers: a PSN near the next one is the proof, or silence. */
static void unreliable(void)
{
	struct crafted *c = begin(&(struct sim_qp_options){ .type = IBV_QPT_UC });

	unconfirmed(c, PEER, 1000, 1);
	unconfirmed(c, FORGER, 1001 + 0x400000, 1);
	unconfirmed(c, FORGER, 1001 - 0x1000, 1);
	CHECK(crafted_counter(c, ENG_C_rx_bad_source_port) == 2);
	unconfirmed(c, PEER, 0x700000, 2); /* any PSN begins a message of the peer */
	unconfirmed(c, OTHER, 0x700010, 3);
	unconfirmed(c, PEER, 0x100000, 4); /* a port that it has used */
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 1);
	crafted_run(c, 2 * SECOND);
	unconfirmed(c, OTHER + 1, 0x500000, 5);
	CHECK(crafted_counter(c, ENG_C_source_port_changes) == 2);
	CHECK(crafted_counter(c, ENG_C_source_port_probes) == 0);
	crafted_close(c);
}

static const struct test_case cases[] = {
	{ "-", "a forger that knows QPN and PSN", forged },
	{ "-", "a peer that changes its port", changed },
	{ "-", "acknowledgements that prove nothing", no_proof },
	{ "-", "the first packet in order tells the port", first_packet },
	{ "-", "a receiver that cannot ask", receiver_only },
	{ "-", "both ends change their ports at once", both_changed },
	{ "-", "an unreliable connection", unreliable },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

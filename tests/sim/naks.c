/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The responder's answers to wrong requests: a hand-made peer sends each, and reads NAK, state,
 * event, completion and memory. */
#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/crafted.h"
#include "support/tape.h"

#define MTU 1024u

static uint8_t data[4096];

/* The NAK is out before the QP falls silent, so the peer never sees a timeout (56). */
static void want_fatal(struct crafted *c, uint8_t syndrome, uint32_t psn)
{
	const struct crafted_rx *x = crafted_want(c, WIRE_RC_ACKNOWLEDGE, psn);

	CHECK_MSG(x->p.syndrome == syndrome, "syndrome %02x, not %02x", x->p.syndrome, syndrome);
	CHECK(crafted_state(c) == IBV_QPS_ERR);
	CRAFT(c, data, 8, .opcode = WIRE_RC_SEND_ONLY, .psn = psn, .ack_req = true);
	crafted_want_nothing(c);
}

enum { OUTSIDE, IN_SEND, IN_WRITE, SITUATIONS };

static struct crafted *situation(int s, uint32_t dma_len)
{
	struct crafted *c = crafted_open(NULL);

	CHECK(sim_post_recv(&c->e, 1, c->e.mem, 8192) == 0);
	if (s == IN_SEND)
		CRAFT(c, data, MTU, .opcode = WIRE_RC_SEND_FIRST, .psn = c->epsn++);
	if (s == IN_WRITE)
		CRAFT(c, data, MTU, .opcode = WIRE_RC_RDMA_WRITE_FIRST, .psn = c->epsn++,
		      .va = (uintptr_t)c->e.mem + 16384, .rkey = c->e.mr->key, .dma_len = dma_len);
	crafted_want_nothing(c);
	return c;
}

static void send_opcode(struct crafted *c, uint8_t opcode)
{
	uint16_t f = wire_ib_shape(opcode)->flags;
	uint32_t len = !(f & WIRE_F_PAYLOAD) ? 0 : f & (WIRE_F_FIRST | WIRE_F_MIDDLE) ? MTU : 8;

	struct wire_ib_packet p = { .opcode = opcode, .psn = c->epsn, .ack_req = true,
				    .va = (uintptr_t)c->e.mem + 16384, .rkey = c->e.mr->key };

	/* dma_len shares its place with the answers' MSN, swap_add with orig. */
	if (wire_ib_shape(opcode)->hdrs & WIRE_H_RETH)
		p.dma_len = f & WIRE_F_FIRST ? MTU + 8 : 8;
	crafted_tx(c, p, data, len);
}

static bool legal(int s, uint16_t f)
{
	if (s == OUTSIDE)
		return f & WIRE_F_START;
	return (f & (WIRE_F_MIDDLE | WIRE_F_LAST)) &&
	       (f & (s == IN_SEND ? WIRE_F_SEND : WIRE_F_WRITE));
}

static void opcode_sequence(void)
{
	int refused = 0;

	for (int s = 0; s < SITUATIONS; s++)
		for (int op = 0; op < 0x20; op++) {
			const struct wire_ib_shape *shape = wire_ib_shape((uint8_t)op);
			struct crafted *c;

			if (!shape->name || !(shape->flags & WIRE_F_REQ) || shape->flags & WIRE_F_INV)
				continue;
			c = situation(s, shape->flags & WIRE_F_MIDDLE ? 2 * MTU + 8 : MTU + 8);
			send_opcode(c, (uint8_t)op);
			if (legal(s, shape->flags)) {
				CHECK_MSG(crafted_state(c) == IBV_QPS_RTS, "%s in situation %d",
					  shape->name, s);
			} else {
				want_fatal(c, 0x61, c->epsn);
				refused++;
			}
			crafted_close(c);
		}
	CHECK(refused > 20);
}

static const struct length_row {
	int situation;
	uint8_t opcode;
	uint32_t len, dma_len;
	int pad; /* as in struct crafted */
} lengths[] = {
	{ OUTSIDE, WIRE_RC_SEND_FIRST, MTU - 4, 0, 0 },
	{ OUTSIDE, WIRE_RC_SEND_FIRST, MTU + 4, 0, 0 },
	{ OUTSIDE, WIRE_RC_SEND_FIRST, 0, 0, 0 },
	{ OUTSIDE, WIRE_RC_SEND_FIRST, MTU - 1, 0, 0 },
	{ OUTSIDE, WIRE_RC_SEND_ONLY, MTU + 1, 0, 0 },
	{ OUTSIDE, WIRE_RC_SEND_ONLY, 4, 0, 1 + 2 },
	{ OUTSIDE, WIRE_RC_SEND_ONLY, 5, 0, 1 + 0 },
	{ OUTSIDE, WIRE_RC_SEND_ONLY_WITH_IMMEDIATE, MTU + 4, 0, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_FIRST, MTU - 4, 2 * MTU, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_FIRST, MTU, MTU - 1, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_ONLY, 8, 12, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_ONLY, 12, 8, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_ONLY, MTU + 4, MTU + 4, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_WRITE_ONLY, 0, 8, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_READ_REQUEST, 4, 8, 0 },
	{ OUTSIDE, WIRE_RC_RDMA_READ_REQUEST, 0, 8, 1 + 2 },
	{ OUTSIDE, WIRE_RC_RDMA_READ_REQUEST, 0, 0x80000001, 0 },
	{ OUTSIDE, WIRE_RC_FETCH_ADD, 4, 0, 0 },
	{ IN_SEND, WIRE_RC_SEND_MIDDLE, MTU - 4, 0, 0 },
	{ IN_SEND, WIRE_RC_SEND_MIDDLE, MTU + 4, 0, 0 },
	{ IN_SEND, WIRE_RC_SEND_LAST, 0, 0, 0 },
	{ IN_SEND, WIRE_RC_SEND_LAST, MTU + 1, 0, 0 },
	{ IN_SEND, WIRE_RC_SEND_LAST, 8, 0, 1 + 1 },
	{ IN_WRITE, WIRE_RC_RDMA_WRITE_MIDDLE, MTU, 0, 0 }, /* beyond the announced length */
	{ IN_WRITE, WIRE_RC_RDMA_WRITE_LAST, 0, 0, 0 },
	{ IN_WRITE, WIRE_RC_RDMA_WRITE_LAST, 4, 0, 0 },
	{ IN_WRITE, WIRE_RC_RDMA_WRITE_LAST, 12, 0, 0 },
	{ IN_WRITE, WIRE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 12, 0, 0 },
};

static void payload_lengths(void)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const struct length_row *l = &lengths[i];
		struct crafted *c = situation(l->situation, MTU + 8);
		struct wire_ib_packet p = { .opcode = l->opcode, .psn = c->epsn, .ack_req = true,
					    .va = (uintptr_t)c->e.mem + 16384,
					    .rkey = c->e.mr->key };

		if (wire_ib_shape(l->opcode)->hdrs & WIRE_H_RETH)
			p.dma_len = l->dma_len;
		c->pad = l->pad;
		fprintf(stderr, "# row %zu\n", i);
		crafted_tx(c, p, data, l->len);
		want_fatal(c, 0x61, c->epsn);
		crafted_close(c);
	}
}

static void receive_too_small(void)
{
	struct crafted *c = crafted_open(NULL);

	CHECK(sim_post_recv(&c->e, 7, c->e.mem, 50) == 0);
	CRAFT(c, data, 51, .opcode = WIRE_RC_SEND_ONLY, .psn = c->epsn, .ack_req = true);
	want_fatal(c, 0x61, c->epsn);
	CHECK(sim_wc_is(&c->w, c->e.rcq, IBV_WC_LOC_LEN_ERR).wr_id == 7);
	CHECK(!sim_event(c->e.h, IBV_EVENT_QP_REQ_ERR)); /* the completion says it */
	crafted_close(c);

	c = crafted_open(NULL);
	CHECK(sim_post_recv(&c->e, 8, c->e.mem, MTU + 10) == 0);
	CRAFT(c, data, MTU, .opcode = WIRE_RC_SEND_FIRST, .psn = c->epsn++);
	CRAFT(c, data, 11, .opcode = WIRE_RC_SEND_LAST, .psn = c->epsn);
	want_fatal(c, 0x61, c->epsn);
	sim_wc_is(&c->w, c->e.rcq, IBV_WC_LOC_LEN_ERR);
	crafted_close(c);
}

static void receive_bad(const char *what, uint32_t key_change, struct eng_mkey *mr, uint8_t *at,
			struct crafted *c)
{
	struct ibv_sge sge = { (uintptr_t)at, 64, (mr ? mr->key : c->e.mr->key) ^ key_change };
	struct ibv_recv_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK_MSG(eng_post_recv(c->e.qp, &wr, &bad) == 0, "%s", what);
	if (mr)
		CHECK(eng_mr_dereg(mr) == 0);
	CRAFT(c, data, 32, .opcode = WIRE_RC_SEND_ONLY, .psn = c->epsn, .ack_req = true);
	want_fatal(c, 0x63, c->epsn);
	CHECK(sim_wc_is(&c->w, c->e.rcq, IBV_WC_LOC_PROT_ERR).wr_id == 9);
}

static struct eng_mkey *reg(struct eng_pd *pd, void *at, size_t len, unsigned access)
{
	struct eng_mr_spec s = { .addr = (uintptr_t)at, .iova = (uintptr_t)at, .length = len,
				 .access = access };
	struct eng_mkey *mr;

	CHECK(eng_mr_reg(pd, &s, &mr) == 0);
	return mr;
}

static void receive_keys(void)
{
	struct crafted *c = crafted_open(NULL);
	struct eng_mkey *mr;
	struct eng_pd *pd;
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	receive_bad("index", 0x5500, NULL, c->e.mem, c);
	crafted_close(c);
	c = crafted_open(NULL);
	receive_bad("key byte", 1, NULL, c->e.mem, c);
	crafted_close(c);
	c = crafted_open(NULL);
	receive_bad("rear", 0, NULL, c->e.mem + c->e.mem_len - 31, c);
	crafted_close(c);
	c = crafted_open(NULL);
	receive_bad("gone", 0, reg(c->e.h->pd, c->e.mem, 4096, IBV_ACCESS_LOCAL_WRITE), c->e.mem, c);
	crafted_close(c);
	for (int other_pd = 0; other_pd < 2; other_pd++) {
		c = crafted_open(NULL);
		CHECK(eng_pd_alloc(&c->e.h->dev, &pd) == 0);
		mr = other_pd ? reg(pd, c->e.mem, 4096, IBV_ACCESS_LOCAL_WRITE)
			      : reg(c->e.h->pd, c->e.mem, 4096, 0);
		sge = (struct ibv_sge){ (uintptr_t)c->e.mem, 64, mr->key };
		CHECK(eng_post_recv(c->e.qp, &wr, &bad) == 0);
		CRAFT(c, data, 32, .opcode = WIRE_RC_SEND_ONLY, .psn = c->epsn);
		want_fatal(c, 0x63, c->epsn);
		sim_wc_is(&c->w, c->e.rcq, IBV_WC_LOC_PROT_ERR);
		bytes_are(c->e.mem, 64, 0);
		CHECK(eng_mr_dereg(mr) == 0);
		CHECK(eng_pd_dealloc(pd) == 0);
		crafted_close(c);
	}
}

static void source_keys(void)
{
	for (int i = 0; i < 3; i++) {
		struct crafted *c = crafted_open(NULL);
		struct sim_op o = { .code = IBV_WR_SEND, .id = 5, .at = c->e.mem, .len = 64,
				    .lkey = c->e.mr->key };
		struct eng_pd *pd;
		struct eng_mkey *mr;

		CHECK(eng_pd_alloc(&c->e.h->dev, &pd) == 0);
		mr = reg(pd, c->e.mem, 4096, 0);
		if (i == 0)
			o.lkey ^= 0x1200;
		else if (i == 1)
			o.at = c->e.mem + c->e.mem_len - 63;
		else
			o.lkey = mr->key;
		CHECK(sim_post(&c->e, &o) == 0);
		CHECK(sim_wc_is(&c->w, c->e.scq, IBV_WC_LOC_PROT_ERR).wr_id == 5);
		crafted_want_nothing(c);
		CHECK(crafted_state(c) == IBV_QPS_ERR);
		CHECK(eng_mr_dereg(mr) == 0);
		CHECK(eng_pd_dealloc(pd) == 0);
		crafted_close(c);
	}
}

/* 47: faults of a remote key; 48: of the QP's own permission. */
enum wrong { INDEX, KEY_BYTE, PD, RIGHT, FRONT, REAR, WRAP, QP_RIGHT, WRONGS };

static const struct remote_row {
	uint8_t opcode;
	unsigned right;
	uint32_t len;
} remote_ops[] = {
	{ WIRE_RC_RDMA_WRITE_ONLY, IBV_ACCESS_REMOTE_WRITE, 64 },
	{ WIRE_RC_RDMA_WRITE_FIRST, IBV_ACCESS_REMOTE_WRITE, 2 * MTU },
	{ WIRE_RC_RDMA_READ_REQUEST, IBV_ACCESS_REMOTE_READ, 64 },
	{ WIRE_RC_COMPARE_SWAP, IBV_ACCESS_REMOTE_ATOMIC, 8 },
	{ WIRE_RC_FETCH_ADD, IBV_ACCESS_REMOTE_ATOMIC, 8 },
};

static void remote_wrong(const struct remote_row *op, enum wrong wrong)
{
	unsigned all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		       IBV_ACCESS_REMOTE_ATOMIC;
	struct crafted *c = crafted_open(NULL);
	uint8_t *at = c->e.mem + 65536;
	struct wire_ib_packet p = { .opcode = op->opcode, .psn = c->epsn, .ack_req = true,
				    .va = (uintptr_t)at };
	bool write = op->right == IBV_ACCESS_REMOTE_WRITE;
	struct eng_mkey *mr;
	struct eng_pd *pd;

	CHECK(eng_pd_alloc(&c->e.h->dev, &pd) == 0);
	mr = reg(wrong == PD ? pd : c->e.h->pd, at, 8192, wrong == RIGHT ? all & ~op->right : all);
	p.rkey = mr->key ^ (wrong == INDEX ? 0x3300 : wrong == KEY_BYTE ? 0x80 : 0);
	if (wrong == FRONT)
		p.va -= 8;
	if (wrong == REAR)
		p.va += 8192 - op->len + 8;
	if (wrong == WRAP)
		p.va = -(uint64_t)8;
	if (wrong == QP_RIGHT) {
		struct ibv_qp_attr a = { .qp_access_flags = all & ~op->right };

		CHECK(eng_qp_modify(c->e.qp, &a, IBV_QP_ACCESS_FLAGS) == 0);
	}
	if (op->right != IBV_ACCESS_REMOTE_ATOMIC)
		p.dma_len = op->len;
	else
		p.swap_add = 77;
	memset(data, 0xaa, sizeof(data));
	crafted_tx(c, p, data, write ? op->len < MTU ? op->len : MTU : 0);
	want_fatal(c, wrong == QP_RIGHT ? 0x61 : 0x62, c->epsn);
	CHECK(sim_event(c->e.h, wrong == QP_RIGHT ? IBV_EVENT_QP_REQ_ERR : IBV_EVENT_QP_ACCESS_ERR));
	bytes_are(at - 64, 8192 + 128, 0);
	CHECK(eng_mr_dereg(mr) == 0);
	CHECK(eng_pd_dealloc(pd) == 0);
	crafted_close(c);
}

static void remote_keys(void)
{
	for (size_t i = 0; i < sizeof(remote_ops) / sizeof(*remote_ops); i++)
		for (enum wrong w = 0; w < WRONGS; w++) {
			fprintf(stderr, "# opcode %02x, wrong %d\n", remote_ops[i].opcode, w);
			remote_wrong(&remote_ops[i], w);
		}
}

static void zero_length(void)
{
	struct crafted *c = crafted_open(NULL);

	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_WRITE_ONLY, .psn = c->epsn, .rkey = 0xdeadbeef,
	      .va = 1, .ack_req = true);
	crafted_want_aeth(c, 0x1f, c->epsn++, 1);
	CRAFT(c, NULL, 0, .opcode = WIRE_RC_RDMA_READ_REQUEST, .psn = c->epsn, .rkey = 0xdeadbeef,
	      .va = 1);
	CHECK(crafted_want(c, WIRE_RC_RDMA_READ_RESPONSE_ONLY, c->epsn)->p.payload_len == 0);
	CHECK(crafted_state(c) == IBV_QPS_RTS);
	crafted_close(c);
}

static void write_with_imm(void)
{
	struct crafted *c = crafted_open(NULL);
	struct wire_ib_packet p = {
		.opcode = WIRE_RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, .psn = c->epsn, .ack_req = true,
		.va = (uintptr_t)c->e.mem, .rkey = c->e.mr->key, .dma_len = 32, .imm = 0x01020304,
	};
	struct ibv_wc wc;

	memset(data, 0x77, 64);
	crafted_tx(c, p, data, 32);
	crafted_want_aeth(c, 0x21, c->epsn, 0);
	bytes_are(c->e.mem, 64, 0); /* RNR leaves memory untouched */
	CHECK(sim_post_recv(&c->e, 3, NULL, 0) == 0);
	crafted_tx(c, p, data, 32);
	crafted_want_aeth(c, 0x1f, c->epsn++, 1);
	wc = sim_wc_is(&c->w, c->e.rcq, IBV_WC_SUCCESS);
	CHECK(wc.wr_id == 3 && wc.byte_len == 32 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(wc.imm_data == 0x01020304 && (wc.wc_flags & IBV_WC_WITH_IMM));
	bytes_are(c->e.mem, 32, 0x77);
	CHECK(sim_post_recv(&c->e, 4, NULL, 0) == 0);
	p.psn = c->epsn;
	p.rkey ^= 0x100;
	crafted_tx(c, p, data, 32);
	want_fatal(c, 0x62, c->epsn);
	CHECK(sim_wc_is(&c->w, c->e.rcq, IBV_WC_LOC_ACCESS_ERR).wr_id == 4);
	crafted_close(c);
}

static void misaligned_atomic(void)
{
	for (int bad_key = 0; bad_key < 2; bad_key++)
		for (int off = 1; off < 8; off += 3) {
			struct crafted *c = crafted_open(NULL);

			CRAFT(c, NULL, 0, .opcode = WIRE_RC_FETCH_ADD, .psn = c->epsn,
			      .va = (uintptr_t)c->e.mem + (unsigned)off, .swap_add = 1,
			      .rkey = c->e.mr->key ^ (bad_key ? 0x700u : 0));
			want_fatal(c, 0x61, c->epsn);
			bytes_are(c->e.mem, 64, 0);
			crafted_close(c);
		}
}

static const struct test_case cases[] = {
	{ "54", "each illegal opcode in each situation: NAK invalid request", opcode_sequence },
	{ "55", "payload lengths that fit neither opcode nor announcement", payload_lengths },
	{ "44 56", "send longer than the receive", receive_too_small },
	{ "45", "receive buffers with bad keys", receive_keys },
	{ "46", "send sources with bad keys: nothing on the wire", source_keys },
	{ "47 48", "remote keys and rights, memory unchanged", remote_keys },
	{ "49", "zero length looks at no key", zero_length },
	{ "50", "write with immediate", write_with_imm },
	{ "51", "misaligned atomics, also with bad keys", misaligned_atomic },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

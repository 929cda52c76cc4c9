/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One script of every operation, run again and again while one packet of it - each in turn - is
 * lost, doubled, late or damaged: memory and completions are always those of the quiet run.
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/tape.h"

#include "util/clock.h"

#define MTU 256u
#define RECV 16384 /* receives in b's memory from here */
#define OPS 14

struct outcome {
	uint8_t mem_a[65536], mem_b[65536];
	struct ibv_wc send[OPS], recv[8];
	int recvs, packets;
};

static const struct script {
	enum ibv_wr_opcode code;
	size_t at, remote;
	uint32_t len;
	unsigned flags;
} script[OPS] = {
	{ IBV_WR_SEND, 0, 0, 3, 0 },
	{ IBV_WR_RDMA_WRITE, 512, 0, 2 * MTU + 1, 0 },
	{ IBV_WR_RDMA_READ, 4096, 1024, 3 * MTU, 0 },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, 6000, 2048, 8, 0 },
	{ IBV_WR_SEND_WITH_IMM, 0, 0, 4 * MTU, 0 },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, 6008, 2048, 8, 0 },
	{ IBV_WR_RDMA_READ, 8192, 32768, 20 * MTU, 0 }, /* of bytes that no later request changes */
	{ IBV_WR_RDMA_WRITE_WITH_IMM, 256, 3000, 100, 0 },
	{ IBV_WR_RDMA_WRITE, 0, 0, 0, 0 },
	{ IBV_WR_RDMA_READ, 16384, 2048, 8, 0 },
	{ IBV_WR_SEND, 100, 0, MTU, IBV_SEND_FENCE },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, 6016, 2048, 8, 0 },
	{ IBV_WR_RDMA_WRITE, 900, 4000, 3 * MTU, 0 },
	{ IBV_WR_SEND, 5, 0, 0, 0 },
};

static struct sim_qp_options options = { .mtu = IBV_MTU_256, .psn_a = 0xfffff8, .psn_b = 0xfffffe,
					 .timeout = 8 };

static void post_script(struct rig *r)
{
	for (uint64_t i = 0; i < OPS; i++) {
		const struct script *s = &script[i];
		struct sim_op o = {
			.code = s->code, .id = i, .at = r->a.mem + s->at, .len = s->len,
			.flags = s->flags, .remote = r->b.mem + s->remote, .rkey = r->b.mr->key,
			.imm = (uint32_t)i, .add = s->code == IBV_WR_ATOMIC_CMP_AND_SWP ? 12 : 6,
			.swap = 99,
		};

		CHECK(sim_post(&r->a, &o) == 0);
	}
}

static void play(struct outcome *out, int (*judge)(struct tape *, const struct tape_packet *,
						   struct sim_packet *), int k, uint64_t delay)
{
	struct rig *r = rig_open(&options, 65536);

	r->tape.judge = judge;
	r->tape.k = k;
	r->tape.delay = delay;
	pattern_fill(r->a.mem, 4096, 1);
	pattern_fill(r->b.mem + 1024, 1024, 2);
	pattern_fill(r->b.mem + 32768, 8192, 3);
	for (uint64_t i = 0; i < 6; i++)
		rig_recv(r, i, RECV + i * 2048, 2048);
	post_script(r);
	for (int i = 0; i < OPS; i++) {
		out->send[i] = sim_wc(&r->w, r->a.scq);
		CHECK_MSG(out->send[i].status == IBV_WC_SUCCESS && out->send[i].wr_id == (uint64_t)i,
			  "packet %d: request %llu status %d", k,
			  (unsigned long long)out->send[i].wr_id, out->send[i].status);
	}
	rig_run(r, UT_S);
	while (eng_cq_poll(r->b.rcq, 1, &out->recv[out->recvs]) == 1)
		out->recvs++;
	out->packets = r->tape.n;
	memcpy(out->mem_a, r->a.mem, 65536);
	memcpy(out->mem_b, r->b.mem, 65536);
	rig_close(r);
}

static void same(const struct outcome *a, const struct outcome *b, int k)
{
	CHECK_MSG(a->recvs == b->recvs, "packet %d: %d receives, not %d", k, b->recvs, a->recvs);
	for (int i = 0; i < a->recvs; i++)
		CHECK_MSG(a->recv[i].wr_id == b->recv[i].wr_id &&
			  a->recv[i].status == b->recv[i].status &&
			  a->recv[i].byte_len == b->recv[i].byte_len &&
			  a->recv[i].opcode == b->recv[i].opcode &&
			  a->recv[i].imm_data == b->recv[i].imm_data, "packet %d, receive %d", k, i);
	CHECK_MSG(!memcmp(a->mem_a, b->mem_a, 65536), "packet %d: memory of the requester", k);
	CHECK_MSG(!memcmp(a->mem_b, b->mem_b, 65536), "packet %d: memory of the responder", k);
}

static int damage(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	if (t->n == t->k)
		raw->data[raw->len / 2] ^= 4;
	return 1;
}

/* The k-th packet and its first repetition. */
static int drop_twice(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	if (t->n == t->k) {
		t->mask = x->p.psn | (uint32_t)x->p.opcode << 24 | 1u << 31;
		return 0;
	}
	if (t->mask && t->mask == (x->p.psn | (uint32_t)x->p.opcode << 24 | 1u << 31)) {
		t->mask = 0;
		return 0;
	}
	return 1;
}

static struct outcome *quiet;

static void each(int (*judge)(struct tape *, const struct tape_packet *, struct sim_packet *),
		 uint64_t delay)
{
	if (!quiet) {
		quiet = calloc(1, sizeof(*quiet));
		CHECK(quiet);
		play(quiet, NULL, 0, 0);
		CHECK_MSG(quiet->recvs == 5 && quiet->packets > 40, "%d receives, %d packets",
			  quiet->recvs, quiet->packets);
	}
	for (int k = 0; k < quiet->packets; k++) {
		struct outcome *out = calloc(1, sizeof(*out));

		CHECK(out);
		play(out, judge, k, delay);
		same(quiet, out, k);
		free(out);
	}
}

static void lost(void)
{
	each(tape_drop, 0);
}

static void lost_twice(void)
{
	each(drop_twice, 0);
}

static void doubled(void)
{
	each(tape_double, 0);
}

static void damaged(void)
{
	each(damage, 0);
}

static void late(void)
{
	/* By less than a round trip, by some, by more than a timeout. */
	static const uint64_t delays[] = { 1, 5000, 25000, 60000, 3 * UT_MS };

	for (size_t i = 0; i < sizeof(delays) / sizeof(*delays); i++)
		each(tape_late, delays[i]);
}

/* 21: 64 messages across the wrap of the PSN, a quarter of the packets lost. */
static int drop_quarter(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	t->mask = t->mask * 1103515245u + 12345u;
	return t->mask >> 30 != 1;
}

static void psn_wrap(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .mtu = IBV_MTU_256, .psn_a = 0xfffff0,
							   .psn_b = 0xfffff0, .timeout = 8 },
				 1 << 17);

	r->tape.judge = drop_quarter;
	for (uint64_t i = 0; i < 64; i++) {
		pattern_fill(r->a.mem + i * 600, 600, (unsigned)i);
		rig_recv(r, i, i * 600, 600);
	}
	for (uint64_t i = 0; i < 64; i++)
		rig_op(r, IBV_WR_SEND, i, i * 600, 0, 600, 0);
	for (uint64_t i = 0; i < 64; i++) {
		CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == i);
		pattern_check(r->b.mem + i * 600, 600, (unsigned)i);
	}
	for (uint64_t i = 0; i < 64; i++)
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "23", "each packet lost", lost },
	{ "23", "each packet lost twice", lost_twice },
	{ "24", "each packet doubled", doubled },
	{ "24", "each packet late", late },
	{ "23", "each packet damaged", damaged },
	{ "21", "PSN wrap with loss", psn_wrap },
};

int main(int argc, char **argv)
{
	int r = RUN_CASES(cases, argc, argv);

	free(quiet);
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that goes away under a message, and sockets that are full: at every point, on every
 * operation, the right end gets the right status. */
#include "engine/qp_state.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/tape.h"

#include "util/clock.h"

#include <sys/mman.h>
#include <unistd.h>

#define LEN 65536u
#define HOLE 32768u

static void make_hole(struct sim_end *e, bool whole)
{
	size_t from = whole ? 0 : HOLE;

	CHECK(munmap(e->mem + from, e->mem_len - from) == 0);
}

static enum ibv_qp_state state(const struct sim_end *e)
{
	return eng_qp_state(e->qp);
}

static const struct fault_row {
	enum ibv_wr_opcode code;
	uint32_t len;
	bool at_a;
	enum ibv_wc_status a;
	enum ibv_wc_status b; /* of a receive; SUCCESS = none, or an event */
} rows[] = {
	{ IBV_WR_SEND, LEN, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_SEND_WITH_IMM, LEN, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_RDMA_WRITE, LEN, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, LEN, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_RDMA_READ, LEN, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, 8, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, 8, true, IBV_WC_LOC_PROT_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_SEND, LEN, false, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR },
	{ IBV_WR_SEND_WITH_IMM, LEN, false, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR },
	{ IBV_WR_RDMA_WRITE, LEN, false, IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, LEN, false, IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_RDMA_READ, LEN, false, IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, 8, false, IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, 8, false, IBV_WC_REM_ACCESS_ERR, IBV_WC_SUCCESS },
};

static void fault(const struct fault_row *f, int (*judge)(struct tape *, const struct tape_packet *,
							  struct sim_packet *))
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .timeout = 10 }, LEN);
	bool atomic = f->len == 8;
	uint8_t first[64];

	r->tape.judge = judge;
	/* A request that succeeds before, one behind it that is flushed. */
	memset(f->at_a ? r->b.mem : r->a.mem, 0x31, LEN);
	rig_op(r, IBV_WR_RDMA_WRITE, 0, 0, 0, 0, 0);
	rig_recv(r, 0, 0, LEN);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	make_hole(f->at_a ? &r->a : &r->b, atomic);
	rig_op(r, IBV_WR_RDMA_WRITE, 1, 0, 0, 0, 0);
	rig_op(r, f->code, 2, 0, 0, f->len, 0);
	rig_op(r, IBV_WR_RDMA_WRITE, 3, 0, 0, 0, 0);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 1);
	CHECK(sim_wc_is(&r->w, r->a.scq, f->a).wr_id == 2);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_WR_FLUSH_ERR).wr_id == 3);
	CHECK(state(&r->a) == IBV_QPS_ERR);
	rig_run(r, 100 * UT_MS);
	CHECK((state(&r->b) == IBV_QPS_ERR) == !f->at_a);
	if (f->b != IBV_WC_SUCCESS)
		sim_wc_is(&r->w, r->b.rcq, f->b);
	else
		CHECK(sim_event(r->b.h, IBV_EVENT_QP_ACCESS_ERR) == !f->at_a);
	/* The bytes before the hole may have arrived, no other byte changed. */
	memcpy(first, f->at_a ? r->b.mem + LEN - 64 : r->a.mem + LEN - 64, 64);
	bytes_are(first, 64, 0x31);
	rig_close(r);
}

static void holes(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		fprintf(stderr, "# row %zu\n", i);
		fault(&rows[i], NULL);
	}
}

static int lose_some(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	t->mask = t->mask * 1103515245u + 12345u;
	return t->mask >> 29 != 1;
}

static void holes_and_loss(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* A lost NAK leaves the requester with its timeouts: no row for it. */
		if (!rows[i].at_a)
			continue;
		fprintf(stderr, "# row %zu\n", i);
		fault(&rows[i], lose_some);
	}
}

static int one_twice(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	return t->n == t->k ? 2 : 1;
}

/* A copy before the last packet makes the receiver place the message in two goes: it is the last
 * packet, which could land, that finds the hole in the earlier bytes. */
static void hole_in_the_middle(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, LEN);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	r->tape.judge = one_twice;
	r->tape.k = 3 * (int)page / 1024 - 2;
	rig_recv(r, 9, 0, LEN);
	CHECK(munmap(r->b.mem + page, page) == 0);
	rig_op(r, IBV_WR_SEND, 2, 0, 0, 3 * (uint32_t)page, 0);
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_LOC_PROT_ERR).wr_id == 9);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_REM_OP_ERR);
	CHECK(state(&r->b) == IBV_QPS_ERR);
	rig_close(r);
}

static void read_only_target(void)
{
	static const enum ibv_wr_opcode codes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP };

	for (size_t i = 0; i < 3; i++) {
		struct rig *r = rig_open(&(struct sim_qp_options){ 0 }, LEN);

		r->b.mem[8] = 7;
		CHECK(mprotect(r->b.mem, LEN, PROT_READ) == 0);
		rig_op(r, codes[i], 2, 0, 0, 8, 0);
		sim_wc_is(&r->w, r->a.scq, IBV_WC_REM_ACCESS_ERR);
		CHECK(state(&r->b) == IBV_QPS_ERR);
		bytes_are(r->b.mem, 8, 0);
		rig_close(r);
	}
}

static void unreliable_holes(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .type = IBV_QPT_UC }, LEN);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS };

	rig_recv(r, 0, 0, LEN);
	make_hole(&r->a, false);
	rig_op(r, IBV_WR_SEND, 1, 0, 0, 100, 0);
	rig_op(r, IBV_WR_SEND, 2, 0, 0, LEN, 0);
	rig_op(r, IBV_WR_SEND, 3, 0, 0, 8, 0);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 1);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_LOC_PROT_ERR).wr_id == 2);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_WR_FLUSH_ERR).wr_id == 3);
	CHECK(state(&r->a) == IBV_QPS_SQE); /* receiving goes on (17) */
	sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS);
	CHECK(eng_qp_modify(r->a.qp, &a, IBV_QP_STATE) == 0);
	rig_recv(r, 1, 0, LEN);
	rig_op(r, IBV_WR_SEND, 4, 0, 0, 200, 0);
	CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == 4);
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).byte_len == 200);
	rig_close(r);
}

/* --- full sockets --- */

struct jam {
	struct rig *r;
	int after[2]; /* packets of a, of b until their sockets are full; -1 = never */
	uint64_t until[2];
};

static struct jam jam;

static int jamming(struct tape *t, const struct tape_packet *x, struct sim_packet *raw)
{
	int side = x->from == jam.r->b.h->link;

	if (jam.after[side]-- == 0) {
		sim_link_block((struct link *)x->from, true);
		jam.until[side] = t->w->now + 3 * UT_MS;
	}
	return 1;
}

static void clear_up(void *arg)
{
	for (int side = 0; side < 2; side++)
		if (jam.until[side] && jam.r->w.now >= jam.until[side]) {
			sim_link_block(side ? jam.r->b.h->link : jam.r->a.h->link, false);
			jam.until[side] = 0;
		}
}

static void full_at(int a, int b)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .mtu = IBV_MTU_256, .timeout = 8 }, LEN);

	jam = (struct jam){ .r = r, .after = { a, b } };
	r->tape.judge = jamming;
	r->w.each_round = clear_up;
	pattern_fill(r->a.mem, 4096, 1);
	pattern_fill(r->b.mem + 8192, 4096, 2);
	rig_recv(r, 0, 16384, 4096);
	rig_recv(r, 1, 20480, 4096);
	rig_op(r, IBV_WR_SEND, 0, 0, 0, 1000, 0);
	rig_op(r, IBV_WR_RDMA_READ, 1, 8192, 8192, 4096, 0);
	rig_op(r, IBV_WR_RDMA_WRITE_WITH_IMM, 2, 0, 0, 4096, 0);
	rig_op(r, IBV_WR_ATOMIC_FETCH_AND_ADD, 3, 6000, 32768, 8, 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS).wr_id == i);
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == 0);
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).wr_id == 1);
	pattern_check(r->b.mem, 4096, 1);
	pattern_check(r->b.mem + 16384, 1000, 1);
	pattern_check(r->a.mem + 8192, 4096, 2);
	CHECK(r->b.mem[32768] == 3);
	rig_close(r);
}

static void full_sockets(void)
{
	for (int k = 0; k < 40; k++) {
		full_at(k, -1);
		full_at(-1, k);
		full_at(k, k);
	}
}

/* A NAK that finds the socket full still leaves before the QP falls silent. */
static void full_at_nak(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .timeout = 16 }, LEN);
	struct sim_op o = { .code = IBV_WR_RDMA_WRITE, .at = r->a.mem, .len = 8,
			    .remote = r->b.mem, .rkey = r->b.mr->key ^ 0x100 };

	sim_link_block(r->b.h->link, true);
	CHECK(sim_post(&r->a, &o) == 0);
	rig_run(r, UT_MS);
	sim_link_block(r->b.h->link, false);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_REM_ACCESS_ERR);
	CHECK(state(&r->b) == IBV_QPS_ERR);
	rig_close(r);
}

static void full_unreliable(void)
{
	struct rig *r = rig_open(&(struct sim_qp_options){ .type = IBV_QPT_UC }, LEN);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };

	rig_recv(r, 0, 0, LEN);
	sim_link_block(r->a.h->link, true);
	rig_op(r, IBV_WR_SEND, 1, 0, 0, 3000, 0);
	sim_no_wc(&r->w, r->a.scq, UT_MS); /* complete when the link has it, not before */
	CHECK(eng_qp_modify(r->a.qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	CHECK(!sim_event(r->a.h, IBV_EVENT_SQ_DRAINED));
	sim_link_block(r->a.h->link, false);
	sim_wc_is(&r->w, r->a.scq, IBV_WC_SUCCESS);
	CHECK(sim_event(r->a.h, IBV_EVENT_SQ_DRAINED));
	CHECK(sim_wc_is(&r->w, r->b.rcq, IBV_WC_SUCCESS).byte_len == 3000);
	rig_close(r);
}

static const struct test_case cases[] = {
	{ "74", "memory unmapped in the middle of each operation", holes },
	{ "74", "the same with loss", holes_and_loss },
	{ "74", "memory unmapped in a message that is placed in several goes", hole_in_the_middle },
	{ "74", "memory that became read-only", read_only_target },
	{ "17 74", "unmapped under UC: send queue error, receiving goes on", unreliable_holes },
	{ "-", "the socket is full at each point", full_sockets },
	{ "56", "the socket is full for a NAK", full_at_nak },
	{ "14", "the socket is full under UC while draining", full_unreliable },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}

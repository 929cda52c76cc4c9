/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Wrong keys, bounds, rights and lengths on RC: the status at both ends, the
 * event (faults.c), and that no byte moved. The refused end must hear of it, never
 * run into a mere timeout (check 56): its status or its event says so in every one.
 */
#include "conf.h"

#include <string.h>
#include <sys/mman.h>

static void too_long(void)
{
	static const uint32_t cases[][2] = { { 100, 101 }, { 4000, 100000 }, { 0, 1 }, { 4096, 4097 } };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = 128 << 10;
	cf_pair(&a, &b, &o);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cf_again(&a, &b);
		cf_recv(&b, 1, 0, cases[i][0]);
		cf_recv(&b, 2, 0, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = cases[i][1]);
		cf_fails(&a, 3, &b, 1, CF_TOO_LONG);
		cf_post(&a, .op = IBV_WR_SEND, .id = 4, .len = 8, .quiet = true);
		cf_wc(a.scq, 4, WR_FLUSH_ERR);
		cf_wc(b.rcq, 2, WR_FLUSH_ERR);
	}
}

/* Keys that do not fit, made on side s. */
enum bad_key { BAD_INDEX, BAD_BYTE, OTHER_PD, NO_RIGHT, GONE, N_BAD };
static const char *const bad_names[] = {
	"a key of nothing", "a wrong key byte", "another domain", "a missing right", "a dead region",
};

static uint32_t make_bad(struct cf_side *s, enum bad_key k, int weak_access, bool remote)
{
	struct ibv_mr *mr;
	uint32_t key;

	switch (k) {
	case BAD_INDEX:
		return s->mr->rkey ^ 0x00ff0000;
	case BAD_BYTE:
		return s->mr->rkey ^ 1;
	case OTHER_PD:
		mr = cf_mr(cf_pd(s->ctx), s->buf, s->o.len, CF_ALL_ACCESS);
		return remote ? mr->rkey : mr->lkey;
	case NO_RIGHT:
		mr = cf_mr(s->pd, s->buf, s->o.len, weak_access);
		/* Without remote rights an adapter may show rkey 0. */
		return remote && mr->rkey ? mr->rkey : mr->lkey;
	default:
		mr = cf_mr(s->pd, s->buf, s->o.len, CF_ALL_ACCESS);
		key = remote ? mr->rkey : mr->lkey;
		cf_drop(mr);
		return key;
	}
}

static void bad_receive(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_fill(a.buf, 100, 1);
	for (int k = 0; k < N_BAD; k++) {
		uint32_t key = make_bad(&b, k, IBV_ACCESS_REMOTE_READ, false);

		cf_again(&a, &b);
		CF_OK(cf_recv_try(&b, 1, 0, 100, key));
		cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 100);
		cf_fails(&a, 2, &b, 1, CF_BAD_RECV);
		cf_all_zero(b.buf, 100);
	}
	/* Bounds are looked at for the bytes that arrive. */
	cf_again(&a, &b);
	cf_recv(&b, 1, o.len - 50, 100);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 51);
	cf_fails(&a, 2, &b, 1, CF_BAD_RECV);
}

static void bad_source(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 2 * N_BAD; i++) {
		/* Sources need no right, so NO_RIGHT stands for bounds here. */
		bool bounds = i / 2 == NO_RIGHT;
		uint32_t key = bounds ? a.mr->lkey : make_bad(&a, i / 2, 0, false);

		cf_again(&a, &b);
		cf_recv(&b, 1, 0, 200);
		cf_post(&a, .op = ops[i % 2], .id = 2, .off = bounds ? o.len - 99 : 0, .len = 100,
			.lkey = key, .to = &b);
		cf_wc(a.scq, 2, LOC_PROT_ERR);
		cf_await_state(a.qp, IBV_QPS_ERR);
		cf_peer_of_local_error(&b, 1);
		cf_all_zero(b.buf, 200);
	}
}

/* Results of READs and atomics need LOCAL_WRITE. */
static void bad_result(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 2 * N_BAD; i++) {
		uint32_t key = make_bad(&a, i / 2, 0, false);

		cf_again(&a, &b);
		cf_post(&a, .op = ops[i % 2], .id = 2, .len = 8, .lkey = key, .to = &b);
		cf_wc(a.scq, 2, LOC_PROT_ERR);
		cf_await_state(a.qp, IBV_QPS_ERR);
		cf_all_zero(a.buf, 8);
	}
}

static const struct {
	const char *name;
	enum ibv_wr_opcode op;
	int right; /* needed */
	enum cf_fault bad, qp; /* refused for the region, for the QP */
} remotes[] = {
	{ "WRITE", IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, CF_BAD_WRITE, CF_QP_WRITE },
	{ "READ", IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, CF_BAD_READ, CF_QP_READ },
	{ "CAS", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_ACCESS_REMOTE_ATOMIC, CF_BAD_ATOMIC, CF_QP_ATOMIC },
	{ "ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC, CF_BAD_ATOMIC,
	  CF_QP_ATOMIC },
};
#define N_REMOTES 4

/* One refused access; b is dead with the event, memory as before. */
static void refused(struct cf_side *a, struct cf_side *b, int r, uint64_t addr, uint32_t len,
		    uint32_t key)
{
	cf_again(a, b);
	memset(a->buf, 0x77, 64);
	cf_fill(b->buf, b->o.len, 9);
	cf_post(a, .op = remotes[r].op, .id = 2, .len = remotes[r].right == IBV_ACCESS_REMOTE_ATOMIC
		? 8 : len, .raddr = addr, .rkey = key, .add = 1, .swap = 1);
	cf_fails(a, 2, b, CF_NO_RECV, remotes[r].bad);
	cf_verify(b->buf, b->o.len, 9);
	/* A long READ may be asked for in parts; the buffer of a failed one is undefined. */
	if (len <= 64)
		CF_EQ(a->buf[0], 0x77);
}

static void bad_rkey(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = 8192;
	cf_pair(&a, &b, &o);
	for (int r = 0; r < N_REMOTES; r++) {
		for (int k = 0; k < N_BAD; k++) {
			/* All rights but the one it needs. */
			uint32_t key = make_bad(&b, k, CF_ALL_ACCESS & ~remotes[r].right, true);

			(void)bad_names;
			refused(&a, &b, r, (uintptr_t)b.buf + 64, 64, key);
		}
	}
}

static void bad_range(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	uint64_t base;

	o.len = 3 * 8192;
	cf_pair(&a, &b, &o);
	/* The middle third: memory in front and behind exists, it is only not the region's. */
	base = (uintptr_t)b.buf + 8192;
	uint32_t key = cf_mr(b.pd, b.buf + 8192, 8192, CF_ALL_ACCESS)->rkey;

	for (int r = 0; r < N_REMOTES; r++) {
		refused(&a, &b, r, base - 8, 64, key);
		refused(&a, &b, r, base + 8192, 8, key);
		refused(&a, &b, r, UINT64_MAX - 7, 64, key); /* wraps */
		refused(&a, &b, r, 8, 64, key);
		if (remotes[r].right == IBV_ACCESS_REMOTE_ATOMIC)
			continue;
		refused(&a, &b, r, base + 8192 - 63, 64, key);
		refused(&a, &b, r, base - 1, 8192, key);
		refused(&a, &b, r, base, 8193, key);
	}
}

/* The whole WRITE is judged by its first packet: no part of it lands. */
static void long_write_refused(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.mtu = IBV_MTU_256;
	cf_pair(&a, &b, &o);
	cf_fill(a.buf, o.len, 1);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 10000, .to = &b, .roff = o.len - 9999);
	cf_wc(a.scq, 1, REM_ACCESS_ERR);
	cf_event(b.ctx, QP_ACCESS_ERR);
	cf_all_zero(b.buf, o.len);
}

static void right_of_qp(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = 8192;
	for (int r = 0; r < N_REMOTES; r++) {
		o.access = CF_QP_ACCESS & ~remotes[r].right;
		cf_pair(&a, &b, &o);
		cf_post(&a, .op = remotes[r].op, .id = 2, .len = 8, .to = &b, .add = 1, .swap = 1);
		cf_fails(&a, 2, &b, CF_NO_RECV, remotes[r].qp);
		cf_all_zero(b.buf, 64);
	}
}

static void empty_ones(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 3; i++) {
		cf_post(&a, .op = i & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, .id = i, .len = 0,
			.raddr = 0x1234567, .rkey = 0xdeadbeef);
		cf_wc(a.scq, i, SUCCESS);
	}
	cf_recv(&b, 9, 0, 0);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 4, .len = 0, .raddr = 1,
		.rkey = 0xdeadbeef, .imm = htobe32(77));
	cf_wc(a.scq, 4, SUCCESS);
	CF_EQ(be32toh(cf_wc(b.rcq, 9, SUCCESS).imm_data), 77);
}

/* The QP's own rights still count. */
static void empty_without_right(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.access = 0;
	cf_pair(&a, &b, &o);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 5, .len = 0, .raddr = 1, .rkey = 1);
	cf_fails(&a, 5, &b, CF_NO_RECV, CF_QP_WRITE);
}

static void write_imm(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_wc wc;

	cf_pair(&a, &b, &o);
	cf_fill(a.buf, 10000, 1);
	cf_recv(&b, 1, 0, 0);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 2, .len = 10000, .to = &b,
		.imm = htobe32(0x01020304));
	cf_wc(a.scq, 2, SUCCESS);
	wc = cf_wc(b.rcq, 1, SUCCESS);
	CF_EQ(wc.opcode, 129);
	CF_EQ(wc.byte_len, 10000);
	CF_EQ(be32toh(wc.imm_data), 0x01020304);
	cf_verify(b.buf, 10000, 1);
	/* A bad key */
	cf_again(&a, &b);
	cf_recv(&b, 4, 0, 0);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 5, .len = 100, .to = &b,
		.rkey = b.mr->rkey ^ 0xff0000);
	cf_fails(&a, 5, &b, 4, CF_BAD_WRITE_IMM);
	/* is looked at before the receive. */
	cf_again(&a, &b);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 5, .len = 100, .to = &b,
		.rkey = b.mr->rkey ^ 0xff0000);
	cf_fails(&a, 5, &b, CF_NO_RECV, CF_BAD_WRITE);
}

/* No receive: refused, and memory untouched. */
static void write_imm_rnr(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.rnr = 0;
	cf_pair(&a, &b, &o);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 3, .len = 100, .to = &b, .roff = 20000);
	cf_wc(a.scq, 3, RNR_RETRY_EXC_ERR);
	cf_all_zero(b.buf + 20000, 100);
}

/* Operations that this QP type does not have. */
static void wrong_opcode_uc(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.type = IBV_QPT_UC;
	cf_pair(&a, &b, &o);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_RDMA_READ, .len = 8, .to = &b }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8,
						.to = &b }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = 99, .len = 8 }), EINVAL);
	CF_EQ(cf_state(a.qp), IBV_QPS_RTS);
}

static void wrong_opcode(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.rd = 0;
	cf_pair(&a, &b, &o);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_RDMA_READ, .len = 8, .to = &b }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = -1, .len = 8 }), EINVAL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_TSO, .len = 8 }), EINVAL);
	cf_quiet(a.scq);
}

static void beyond_max_msg(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge sge[4];
	uint64_t max;
	void *p;

	cf_pair(&a, &b, &o);
	max = cf.port.max_msg_sz;
	p = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	CF_TRUE(p != MAP_FAILED);
	struct ibv_mr *mr = cf_mr(a.pd, p, 1ul << 30, 0);

	if (max > 3ull << 30)
		cf_skip("messages of 3 GiB are allowed");
	for (int i = 0; i < 4; i++)
		sge[i] = (struct ibv_sge){ (uintptr_t)p, 0, mr->lkey };
	for (int i = 0; max > 0 || i == 0; i++) {
		sge[i].length = max > 1u << 30 ? 1u << 30 : max;
		max -= sge[i].length;
	}
	sge[3].length = 1; /* one beyond */
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .sge = sge, .n = 4, .to = &b);
	cf_wc(a.scq, 1, LOC_LEN_ERR);
	cf_await_state(a.qp, IBV_QPS_ERR);
	cf_peer_of_local_error(&b, CF_NO_RECV);
}

const struct cf_check cf_checks[] = {
	{ "44 56", "a send longer than the receive", 0, too_long },
	{ "45 56", "receives with bad keys", 0, bad_receive },
	{ "46", "sources with bad keys: nothing leaves", 0, bad_source },
	{ "46", "results with bad keys", CF_ATOMIC, bad_result },
	{ "47 56", "remote keys: index, byte, domain, right, dead", CF_ATOMIC, bad_rkey },
	{ "47 56", "remote ranges: front, rear, wrap", CF_ATOMIC, bad_range },
	{ "47 56", "a long WRITE is judged as a whole", CF_PACKET, long_write_refused },
	{ "48 56", "rights of the QP", CF_ATOMIC, right_of_qp },
	{ "49", "zero-length WRITE and READ: key unread", 0, empty_ones },
	{ "49 48", "zero-length WRITE without the right of the QP", CF_PACKET, empty_without_right },
	{ "50 56", "WRITE with immediate", 0, write_imm },
	{ "50", "WRITE with immediate, no receive", CF_RNR, write_imm_rnr },
	{ "+", "operations that UC does not have", CF_UC, wrong_opcode_uc },
	{ "+", "operations that the QP does not have", 0, wrong_opcode },
	{ "+", "a message beyond max_msg_sz", 0, beyond_max_msg },
	{ 0 },
};

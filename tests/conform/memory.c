/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions: rights, addressing, change, end of life - also of the pages behind them. */
#include "conf.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LW IBV_ACCESS_LOCAL_WRITE
#define RW IBV_ACCESS_REMOTE_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define RA IBV_ACCESS_REMOTE_ATOMIC

static struct ibv_mr *reg(struct ibv_pd *pd, void *p, size_t n, int access)
{
	errno = 0;
	return (ibv_reg_mr)(pd, p, n, access);
}

/* One operation on key; returns the sender's status. Both ends are fresh afterwards. */
static enum ibv_wc_status remote(struct cf_side *a, struct cf_side *b, enum ibv_wr_opcode op,
				 uint64_t addr, uint32_t key)
{
	enum ibv_wc_status status = cf_status_of(a, b, &(struct cf_wr){ .op = op, .id = 1,
		.len = 8, .raddr = addr, .rkey = key ? key : 0x12345600 });

	if (status != IBV_WC_SUCCESS)
		cf_again(a, b);
	return status;
}

static void expect(struct cf_side *a, struct cf_side *b, struct ibv_mr *mr, int access, int right,
		   enum ibv_wr_opcode op)
{
	enum ibv_wc_status got = remote(a, b, op, (uintptr_t)mr->addr, mr->rkey);
	enum ibv_wc_status want = access & right ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;

	if (got != want)
		CF_DIE("access 0x%x, opcode %d: %s", access, op, ibv_wc_status_str(got));
}

static void rights(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (int access = 0; access < 32; access++) {
		struct ibv_mr *mr = reg(b.pd, b.buf, 4096, access);

		if (access & (RW | RA) && !(access & LW)) {
			if (mr || errno != EINVAL)
				CF_DIE("access 0x%x: %s", access, mr ? "registered" : strerror(errno));
			continue;
		}
		if (!mr)
			CF_DIE("access 0x%x: %s", access, strerror(errno));
		expect(&a, &b, mr, access, RW, IBV_WR_RDMA_WRITE);
		expect(&a, &b, mr, access, RR, IBV_WR_RDMA_READ);
		if (cf.dev.orig_attr.atomic_cap != IBV_ATOMIC_NONE)
			expect(&a, &b, mr, access, RA, IBV_WR_ATOMIC_FETCH_AND_ADD);
		CF_OK(ibv_dereg_mr(mr));
	}
}

static void refusals(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	uint8_t *p = cf_pages(8192);
	struct ibv_mr *mr;

	CF_NULL(reg(pd, p, 4096, 1 << 9), EINVAL); /* unknown, not optional */
	CF_NULL(reg(pd, (void *)(UINTPTR_MAX - 100), 4096, LW), EINVAL); /* wraps */
	mr = reg(pd, p, 4096, LW | IBV_ACCESS_RELAXED_ORDERING); /* optional: taken or ignored */
	CF_TRUE(mr);
	CF_OK(ibv_dereg_mr(mr));
	if (cf.iwarp) /* which has no other service */
		CF_TRUE(!cf.dev.odp_caps.per_transport_caps.uc_odp_caps && !cf.dev.xrc_odp_caps &&
			!cf.dev.odp_caps.per_transport_caps.ud_odp_caps);
	if (!(cf.dev.odp_caps.general_caps & IBV_ODP_SUPPORT))
		CF_NULL(reg(pd, p, 4096, LW | IBV_ACCESS_ON_DEMAND), EINVAL);
	/* A terabyte of address space registers at once: nothing is touched. */
	void *big = mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (big == MAP_FAILED)
		return;
	uint64_t t0 = cf_ns();
	mr = cf_mr(pd, big, 1ul << 40, LW);
	CF_TRUE(cf_ns() - t0 < 1000000000);
	CF_EQ(mr->length, 1ul << 40);
}

/* Keys are never handed out again at once, and never 0 or all ones. */
static void key_values(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	uint8_t *p = cf_pages(4096);
	uint32_t last = 0;

	for (int i = 0; i < 2000; i++) {
		struct ibv_mr *mr = reg(pd, p, 4096, LW | RR);

		CF_TRUE(mr && mr->lkey && mr->lkey != UINT32_MAX && mr->rkey != UINT32_MAX);
		CF_TRUE(mr->lkey != last);
		last = mr->lkey;
		CF_OK(ibv_dereg_mr(mr));
	}
}

static void chosen_iova(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_mr *mr;
	struct ibv_sge sge;
	const uint64_t iova = 0x7000000000000000ull;

	cf_pair(&a, &b, &o);
	mr = (ibv_reg_mr_iova)(b.pd, b.buf, 8192, iova, CF_ALL_ACCESS);
	CF_TRUE(mr);
	memset(a.buf, 0x5a, 64);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .raddr = iova + 100, .rkey = mr->rkey);
	cf_wc(a.scq, 1, SUCCESS);
	cf_landed(&a, &b);
	CF_EQ(b.buf[100], 0x5a);
	CF_EQ(b.buf[164], 0);
	/* Local use names the same addresses. */
	sge = (struct ibv_sge){ iova + 100, 64, mr->lkey };
	cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 2, .sge = &sge, .n = 1, .to = &a, .roff = 4096);
	cf_wc(b.scq, 2, SUCCESS);
	cf_landed(&b, &a);
	CF_EQ(a.buf[4096 + 63], 0x5a);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_WRITE, (uintptr_t)b.buf, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_WRITE, iova + 8192 - 7, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	CF_OK(ibv_dereg_mr(mr));
}

static void zero_based(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_mr *mr;
	struct ibv_sge sge;

	cf_pair(&a, &b, &o);
	mr = reg(b.pd, b.buf + 24, 1000, CF_ALL_ACCESS | IBV_ACCESS_ZERO_BASED);
	if (!mr && (errno == EINVAL || errno == EOPNOTSUPP))
		cf_skip("no zero-based regions");
	CF_TRUE(mr);
	memset(a.buf, 0x66, 64);
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 1000, a.mr->lkey };
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 1, .sge = &sge, .n = 1, .rkey = mr->rkey);
	cf_wc(a.scq, 1, SUCCESS);
	cf_landed(&a, &b);
	CF_EQ(b.buf[23], 0);
	CF_EQ(b.buf[24], 0x66);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_WRITE, 993, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	CF_OK(ibv_dereg_mr(mr));
}

static void rereg(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_mr *mr;
	uint32_t old;
	int rc;

	cf_pair(&a, &b, &o);
	mr = cf_mr(b.pd, b.buf, 4096, CF_ALL_ACCESS);
	old = mr->rkey;
	rc = ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LW | RR);
	if (rc == IBV_REREG_MR_ERR_CMD && errno == EOPNOTSUPP)
		cf_skip("no change of regions");
	CF_EQ(rc, 0);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf, mr->rkey), IBV_WC_SUCCESS);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_WRITE, (uintptr_t)b.buf, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	if (old != mr->rkey)
		CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf, old), IBV_WC_REM_ACCESS_ERR);
	/* Another range. */
	CF_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, b.buf + 8192, 4096, 0), 0);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf + 8192, mr->rkey), IBV_WC_SUCCESS);
	/* Another domain: useless for this QP. */
	CF_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, cf_pd(b.ctx), NULL, 0, 0), 0);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf + 8192, mr->rkey),
	      IBV_WC_REM_ACCESS_ERR);
	CF_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, b.pd, NULL, 0, 0), 0);
	/* A refused call changes nothing. */
	CF_TRUE(ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0) != 0);
	CF_TRUE(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, RW) != 0);
	CF_EQ(remote(&a, &b, IBV_WR_RDMA_READ, (uintptr_t)b.buf + 8192, mr->rkey), IBV_WC_SUCCESS);
}

static bool allowed(enum ibv_wc_status s)
{
	return s == IBV_WC_SUCCESS || s == IBV_WC_LOC_PROT_ERR || s == IBV_WC_WR_FLUSH_ERR ||
	       s == IBV_WC_REM_ACCESS_ERR || s == IBV_WC_REM_OP_ERR;
}

/* One region of the four that are in use goes away while everything runs. */
static void dereg_running(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_wc wc;

	o.len = 1 << 20;
	cf_pair(&a, &b, &o);
	for (int round = 0; round < 40; round++) {
		struct ibv_mr *here = cf_mr(a.pd, a.buf, o.len, CF_ALL_ACCESS);
		struct ibv_mr *there = cf_mr(b.pd, b.buf, o.len, CF_ALL_ACCESS);
		int sends = 0, left;

		for (int i = 0; i < 8; i++)
			CF_OK(cf_recv_try(&b, i, 0, 20000, there->lkey));
		for (int i = 0; i < 24; i++, sends++)
			cf_post(&a, .op = i % 3 == 0 ? IBV_WR_SEND : i % 3 == 1 ? IBV_WR_RDMA_WRITE :
				IBV_WR_RDMA_READ, .id = i, .len = 20000, .lkey = here->lkey, .to = &b,
				.rkey = there->rkey);
		for (int i = 0; i < round / 2 && ibv_poll_cq(a.scq, 1, &wc) >= 0; i++)
			;
		cf_drop(round & 1 ? here : there);
		cf_move(&a, IBV_QPS_ERR, NULL);
		cf_move(&b, IBV_QPS_ERR, NULL);
		left = cf_drain(a.scq);
		CF_TRUE(left <= sends);
		while (ibv_poll_cq(b.rcq, 1, &wc) > 0)
			if (!allowed(wc.status))
				CF_DIE("a receive ended with %s", ibv_wc_status_str(wc.status));
		cf_drop(round & 1 ? there : here);
		cf_again(&a, &b);
	}
}

/* --- pages that are gone while the region lives --- */

enum hole { SRC, DST, WR_TARGET, RD_SOURCE, RD_RESULT, ADD_TARGET };

static void hole(enum hole h, bool readonly)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *all = cf_pages(16 * page), *p = all + 4 * page;
	struct ibv_mr *mr;
	bool at_b = h != SRC && h != RD_RESULT;

	cf_pair(&a, &b, &o);
	mr = cf_mr(at_b ? b.pd : a.pd, all, 16 * page, CF_ALL_ACCESS);
	/* Inaccessible pages stand for the hole, which other threads' mappings would soon fill. */
	if (readonly)
		CF_OK(mprotect(p, 2 * page, PROT_READ));
	else
		CF_TRUE(mmap(p, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
	struct ibv_sge sge = { (uintptr_t)p, 8192, mr->lkey };

	switch (h) {
	case SRC:
		cf_recv(&b, 1, 0, 8192);
		cf_post(&a, .op = IBV_WR_SEND, .id = 2, .sge = &sge, .n = 1);
		cf_wc(a.scq, 2, LOC_PROT_ERR);
		break;
	case DST:
		CF_OK(ibv_post_recv(b.qp, &(struct ibv_recv_wr){ .wr_id = 1, .sg_list = &sge,
			.num_sge = 1 }, &(struct ibv_recv_wr *){ NULL }));
		cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 8192);
		cf_fails(&a, 2, &b, 1, CF_BAD_RECV);
		break;
	case RD_RESULT:
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 2, .sge = &sge, .n = 1, .to = &b);
		cf_wc(a.scq, 2, LOC_PROT_ERR);
		break;
	default:
		cf_post(&a, .op = h == WR_TARGET ? IBV_WR_RDMA_WRITE : h == RD_SOURCE ?
			IBV_WR_RDMA_READ : IBV_WR_ATOMIC_FETCH_AND_ADD, .id = 2,
			.len = h == ADD_TARGET ? 8 : 8192, .raddr = (uintptr_t)p, .rkey = mr->rkey,
			.add = 1);
		cf_fails(&a, 2, &b, CF_NO_RECV, h == WR_TARGET ? CF_BAD_WRITE :
			 h == RD_SOURCE ? CF_BAD_READ : CF_BAD_ATOMIC);
	}
}

static void holes(void)
{
	for (int h = SRC; h <= ADD_TARGET; h++)
		hole(h, false);
}

static void read_only(void)
{
	static const enum hole writes[] = { DST, WR_TARGET, RD_RESULT, ADD_TARGET };

	for (unsigned i = 0; i < 4; i++)
		hole(writes[i], true);
}

const struct cf_check cf_checks[] = {
	{ "70", "all 32 combinations of rights", 0, rights },
	{ "70", "registrations that are refused, and a huge one", 0, refusals },
	{ "70 99", "keys are fresh and never special", 0, key_values },
	{ "71", "a chosen iova", 0, chosen_iova },
	{ "71", "zero-based", 0, zero_based },
	{ "72", "rereg: rights, range, domain, refusals", 0, rereg },
	{ "73", "dereg under traffic", 0, dereg_running },
	{ "74", "pages unmapped under a live region", CF_ATOMIC, holes },
	{ "74", "pages read-only under a live region", CF_ATOMIC, read_only },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Regions, windows and the null region. */
#include "engine/mr.h"
#include "engine/mw.h"
#include "engine/pd.h"
#include "fake.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define RW IBV_ACCESS_REMOTE_WRITE
#define RR IBV_ACCESS_REMOTE_READ

static struct eng_mkey *reg(struct fake *f, unsigned access)
{
	struct eng_mr_spec s = { .addr = 0x10000, .length = 0x1000, .iova = 0x50000, .access = access };
	struct eng_mkey *mr;

	CHECK(eng_mr_reg(f->pd, &s, &mr) == 0);
	return mr;
}

static void access_flags(struct fake *f)
{
	for (unsigned a = 0; a < 32; a++) {
		struct eng_mr_spec s = { .addr = 1, .length = 8, .access = a };
		bool ok = !(a & (RW | IBV_ACCESS_REMOTE_ATOMIC)) || (a & LW);
		struct eng_mkey *mr;

		CHECK_MSG(eng_mr_reg(f->pd, &s, &mr) == (ok ? 0 : -EINVAL), "access 0x%x", a);
		if (ok)
			CHECK(eng_mr_dereg(mr) == 0);
	}
	struct eng_mr_spec s = { .addr = UINT64_MAX - 6, .length = 8 };
	struct eng_mkey *mr;

	CHECK(eng_mr_reg(f->pd, &s, &mr) == -EINVAL);
	s.addr = 8;
	s.access = IBV_ACCESS_ON_DEMAND;
	CHECK(eng_mr_reg(f->pd, &s, &mr) == -EINVAL);
	s.access = IBV_ACCESS_RELAXED_ORDERING;
	CHECK(eng_mr_reg(f->pd, &s, &mr) == 0 && eng_mr_dereg(mr) == 0);
}

static void bounds(struct fake *f)
{
	struct eng_mkey *mr = reg(f, LW | RW), *at;
	uint64_t off;
	struct ibv_sge sge[3] = { { 0, 0, 0xbad }, { 0x50000, 16, mr->key }, { 0x50ff0, 17, mr->key } };
	struct iovec iov[4];
	struct eng_pd *pd2;

	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key, 0x50010, 0xff0, RW, &at, &off) == ENG_OK &&
	      at == mr && off == 16);
	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key, 0x50010, 0xff1, RW, &at, &off) == ENG_V_RX_BOUNDS);
	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key, 0x4ffff, 2, RW, &at, &off) == ENG_V_RX_BOUNDS);
	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key, 0x50001, UINT64_MAX, RW, &at, &off) == ENG_V_RX_BOUNDS);
	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key, 0x50000, 1, RR, &at, &off) == ENG_V_RX_RIGHTS);
	CHECK(eng_mkey_remote(&f->dev, f->pd, NULL, mr->key ^ 1, 0x50000, 1, RW, &at, &off) == ENG_V_RX_KEY);
	CHECK(eng_pd_alloc(&f->dev, &pd2) == 0);
	CHECK(eng_mkey_local(pd2, mr->key, 0x50000, 1, false, &at, &off) == ENG_V_LOC_PD);
	CHECK(eng_sge_iov(f->pd, sge, 3, 8, 24, true, iov, 4) == 2);
	CHECK((uintptr_t)iov[0].iov_base == 0x10008 && iov[0].iov_len == 8 && iov[1].iov_len == 16);
	CHECK(eng_sge_iov(f->pd, sge, 3, 8, 25, true, iov, 4) == -ENG_V_LOC_BOUNDS);
	/* One entry alone: bytes that are not named may lie anywhere. */
	CHECK(eng_sge_iov(f->pd, &sge[1], 1, 4, 12, true, iov, 1) == 1);
	CHECK((uintptr_t)iov[0].iov_base == 0x10004 && iov[0].iov_len == 12);
	CHECK(eng_sge_iov(f->pd, &sge[1], 1, 4, 13, true, iov, 1) == -ENG_V_LOC_BOUNDS);
	CHECK(eng_sge_iov(f->pd, &sge[2], 1, 4, 12, true, iov, 1) == 1);
	CHECK(eng_sge_iov(f->pd, &sge[2], 1, 16, 1, true, iov, 1) == -ENG_V_LOC_BOUNDS);
	struct ibv_sge before = { 0x4fff0, 32, mr->key };

	CHECK(eng_sge_iov(f->pd, &before, 1, 16, 16, true, iov, 1) == 1 && (uintptr_t)iov[0].iov_base == 0x10000);
	CHECK(eng_sge_iov(f->pd, &before, 1, 15, 16, true, iov, 1) == -ENG_V_LOC_BOUNDS);
	uint32_t old = mr->key;

	CHECK(eng_mr_rereg(mr, 0, NULL, 0, 0, 0) == -EINVAL && eng_mr_rereg(mr, 64, NULL, 0, 0, 0) == -EOPNOTSUPP);
	CHECK(eng_mr_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, 0, RW) == -EINVAL && mr->key == old);
	CHECK(eng_mr_rereg(mr, IBV_REREG_MR_CHANGE_PD, pd2, 0, 0, 0) == 0 && mr->key == old);
	CHECK(eng_pd_dealloc(pd2) == -EBUSY);
	CHECK(eng_mkey_local(f->pd, old, 0x50000, 1, false, &at, &off) == ENG_V_LOC_PD);
	CHECK(eng_mr_dereg(mr) == 0 && eng_pd_dealloc(pd2) == 0);
}

/* What the last use of a key found is remembered, and never longer than it is true. */
static void remembered(struct fake *f)
{
	struct eng_mkey *mr = reg(f, LW | RW), *other = reg(f, 0);
	struct ibv_sge g = { 0x50010, 32, mr->key }, o = { 0x50010, 32, other->key };
	struct eng_pd *pd2;

	CHECK(eng_pd_alloc(&f->dev, &pd2) == 0);
	for (int i = 0; i < 2; i++) { /* looked up, then remembered */
		CHECK((uintptr_t)eng_sge_at(f->pd, &g, 32, true) == 0x10010 && !eng_sge_at(f->pd, &g, 33, true));
		CHECK((uintptr_t)eng_sge_at(f->pd, &o, 32, false) == 0x10010 && !eng_sge_at(f->pd, &o, 32, true));
		CHECK(!eng_sge_at(pd2, &g, 32, true));
		for (uint64_t at = 0x4fffe; at < 0x50000; at++)
			CHECK(!eng_sge_at(f->pd, &(struct ibv_sge){ at, 8, mr->key }, 8, true));
		CHECK((uintptr_t)eng_sge_at(f->pd, &(struct ibv_sge){ 0x50ff8, 8, mr->key }, 8, true) == 0x10ff8);
		CHECK(!eng_sge_at(f->pd, &(struct ibv_sge){ 0x50ff8, 9, mr->key }, 9, true));
		CHECK(!eng_sge_at(f->pd, &(struct ibv_sge){ 0x51001, 1, mr->key }, 1, true));
		CHECK(!eng_sge_at(f->pd, &(struct ibv_sge){ 0x50010, 8, mr->key ^ 1 }, 8, true));
	}
	CHECK(eng_mr_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, 0, 0) == 0);
	CHECK(!eng_sge_at(f->pd, &g, 32, true) && eng_sge_at(f->pd, &g, 32, false));
	CHECK(eng_mr_rereg(mr, IBV_REREG_MR_CHANGE_PD, pd2, 0, 0, 0) == 0);
	CHECK(!eng_sge_at(f->pd, &g, 32, false) && eng_sge_at(pd2, &g, 32, false));
	CHECK(eng_mr_dereg(mr) == 0 && !eng_sge_at(pd2, &g, 32, false));
	CHECK(eng_mr_dereg(other) == 0 && !eng_sge_at(f->pd, &o, 32, false) && eng_pd_dealloc(pd2) == 0);
}

/* Where a page was seen it is found by one look, and never for longer, elsewhere, or for more than that says. */
static void seen_pages(struct fake *f)
{
	struct eng_mkey *mr = reg(f, LW), *other = reg(f, 0);
	struct ut_stage *st = calloc(1, sizeof(*st));
	struct ibv_sge g = { 0x50010, 32, mr->key }, o = { 0x50010, 32, other->key };
	struct eng_pd *pd2;

	CHECK(st && eng_pd_alloc(&f->dev, &pd2) == 0);
	st->pages_checked_at = 50;
	CHECK(!eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE) && !eng_sge_present(f->pd, &g, 32, st, UT_READABLE));
	for (int use = UT_READABLE; use <= UT_WRITABLE; use++) {
		st->seen[use][ut_stage_slot(0x10)].page = 0x10;
		st->seen[use][ut_stage_slot(0x10)].until = 99;
	}
	for (int i = 0; i < 2; i++) { /* seen, then remembered */
		CHECK((uintptr_t)eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE) == 0x10010);
		CHECK((uintptr_t)eng_sge_present(f->pd, &g, 8, st, UT_READABLE) == 0x10010);
		CHECK((uintptr_t)eng_sge_present(f->pd, &o, 32, st, UT_READABLE) == 0x10010);
		CHECK(!eng_sge_present(f->pd, &o, 32, st, UT_WRITABLE)); /* no right */
		CHECK(!eng_sge_present(f->pd, &g, 33, st, UT_WRITABLE)); /* more than the piece */
		CHECK(!eng_sge_present(pd2, &g, 32, st, UT_WRITABLE));
		CHECK((uintptr_t)eng_sge_present(f->pd, &(struct ibv_sge){ 0x50ff8, 8, mr->key }, 8, st, UT_WRITABLE) == 0x10ff8);
		CHECK(!eng_sge_present(f->pd, &(struct ibv_sge){ 0x50ff8, 9, mr->key }, 9, st, UT_WRITABLE));
		CHECK(!eng_sge_present(f->pd, &(struct ibv_sge){ 0x4ffff, 1, mr->key }, 1, st, UT_WRITABLE));
		CHECK(!eng_sge_present(f->pd, &(struct ibv_sge){ UINT64_MAX - 3, 8, mr->key }, 8, st, UT_WRITABLE));
	}
	for (uint64_t now = 98; now < 101; now++) {
		st->pages_checked_at = now;
		CHECK(!eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE) == (now > 99));
	}
	st->pages_checked_at = 0; /* another thread makes progress */
	CHECK(!eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE));
	st->pages_checked_at = 50;
	CHECK(eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE));
	CHECK(eng_mr_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, 0, 0, 0) == 0);
	CHECK(!eng_sge_present(f->pd, &g, 32, st, UT_WRITABLE) && eng_sge_present(f->pd, &g, 32, st, UT_READABLE));
	CHECK(eng_mr_dereg(mr) == 0 && !eng_sge_present(f->pd, &g, 32, st, UT_READABLE));
	CHECK(eng_mr_dereg(other) == 0 && eng_pd_dealloc(pd2) == 0);
	free(st);
}

static void odd_regions(struct fake *f)
{
	uint64_t pages[2] = { 0x100000, 0x900000 };
	struct eng_mr_spec s = { .length = 6000, .iova = 100, .pages = pages, .n_pages = 2,
				 .page_size = 4096, .first_offset = 96 };
	struct eng_mkey *mr;
	struct iovec iov[2];

	CHECK(eng_mr_reg(f->pd, &s, &mr) == 0);
	CHECK(eng_mkey_iov(mr, 3990, 20, iov, 2) == 2 && (uintptr_t)iov[0].iov_base == 0x100000 + 4086 &&
	      iov[0].iov_len == 10 && (uintptr_t)iov[1].iov_base == 0x900000);
	CHECK(eng_mkey_iov(mr, 3990, 20, iov, 1) == -ENOSPC && eng_mr_dereg(mr) == 0);
	s.length = 8192 - 95;
	CHECK(eng_mr_reg(f->pd, &s, &mr) == -EINVAL);
	s = (struct eng_mr_spec){ .length = UINT64_MAX, .access = LW, .null = true };
	CHECK(eng_mr_reg(f->pd, &s, &mr) == 0);
	struct ibv_sge g = { 0x123456, 8, mr->key };

	CHECK(eng_sge_iov(f->pd, &g, 1, 0, 8, true, iov, 2) == 1);
	memset(iov[0].iov_base, 0xff, 8);
	CHECK(eng_sge_iov(f->pd, &g, 1, 0, 8, false, iov, 2) == 1 && *(uint64_t *)iov[0].iov_base == 0);
	CHECK(eng_mr_dereg(mr) == 0);
}

static enum eng_verdict bind(struct eng_qp *qp, struct eng_mkey *mw, struct eng_mkey *mr, uint32_t key,
			     uint64_t addr, uint64_t len, unsigned access)
{
	struct eng_swqe w = { .opcode = IBV_WR_BIND_MW };

	w.bind.mw_key = mw->key;
	w.bind.mr_key = mr->key;
	w.bind.key = key;
	w.bind.info = (struct ibv_mw_bind_info){ .addr = addr, .length = len, .mw_access_flags = access };
	return eng_mw_bind(qp, &w);
}

static void windows(struct fake *f)
{
	struct eng_mkey *mr = reg(f, LW | IBV_ACCESS_MW_BIND), *plain = reg(f, LW), *w1, *w2, *at;
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC), *other = fake_qp(f, IBV_QPT_RC);
	uint64_t off;

	CHECK(eng_mw_alloc(f->pd, IBV_MW_TYPE_1, &w1) == 0 && eng_mw_alloc(f->pd, IBV_MW_TYPE_2, &w2) == 0);
	CHECK(bind(qp, w1, plain, w1->key, 0x50000, 8, RW) == ENG_V_MW_BIND);
	CHECK(bind(qp, w1, mr, w1->key, 0x50000, 0x1001, RW) == ENG_V_MW_BIND);
	CHECK(bind(qp, w1, mr, w1->key ^ 0x100, 0x50000, 8, RW) == ENG_V_MW_BIND);
	CHECK(bind(qp, w1, mr, w1->key, 0x50000, 8, RW | IBV_ACCESS_ZERO_BASED) == ENG_V_MW_BIND);
	uint32_t old = w1->key;

	CHECK(bind(qp, w1, mr, old ^ 1, 0x50010, 8, RW) == ENG_OK && eng_mr_dereg(mr) == -EBUSY);
	CHECK(eng_mkey_remote(&f->dev, f->pd, other, old, 0x50010, 8, RW, &at, &off) == ENG_V_RX_KEY);
	CHECK(eng_mkey_remote(&f->dev, f->pd, other, w1->key, 0x50012, 6, RW, &at, &off) == ENG_OK &&
	      at == mr && off == 0x12);
	CHECK(bind(qp, w1, mr, w1->key, 0x50020, 8, RW) == ENG_OK && mr->windows == 1);
	CHECK(bind(qp, w1, mr, w1->key, 0, 0, 0) == ENG_OK && mr->windows == 0);
	CHECK(bind(qp, w2, mr, w2->key, 0, 0, 0) == ENG_V_MW_BIND);
	CHECK(bind(qp, w2, mr, w2->key ^ 3, 0x50100, 16, RR | IBV_ACCESS_ZERO_BASED) == ENG_OK);
	CHECK(bind(qp, w2, mr, w2->key, 0x50100, 16, RR) == ENG_V_MW_BIND);
	CHECK(eng_mkey_remote(&f->dev, f->pd, other, w2->key, 0, 16, RR, &at, &off) == ENG_V_RX_PD);
	CHECK(eng_mkey_remote(&f->dev, f->pd, qp, w2->key, 1, 15, RR, &at, &off) == ENG_OK && off == 0x101);
	CHECK(eng_mkey_invalidate(other, w2->key) == ENG_V_MW_BIND && eng_mkey_invalidate(qp, mr->key) == ENG_V_MW_BIND);
	CHECK(eng_mkey_invalidate(qp, w2->key) == ENG_OK && mr->windows == 0);
	CHECK(bind(qp, w2, mr, w2->key, 0x50100, 16, RR) == ENG_OK && eng_qp_destroy(qp) == 0 && mr->windows == 0);
	CHECK(eng_mw_dealloc(w1) == 0 && eng_mw_dealloc(w2) == 0 && eng_qp_destroy(other) == 0);
	CHECK(eng_mr_dereg(mr) == 0 && eng_mr_dereg(plain) == 0);
}

int main(void)
{
	struct fake f;

	fake_open(&f);
	access_flags(&f);
	bounds(&f);
	remembered(&f);
	seen_pages(&f);
	odd_regions(&f);
	windows(&f);
	fake_close(&f);
	return 0;
}

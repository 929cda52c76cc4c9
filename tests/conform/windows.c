/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory windows of both types, and Send with invalidate. */
#include "conf.h"

#include <string.h>

#define WINDOW (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

/* Binds lie on b; a is the peer that uses them. */
struct win {
	struct cf_side a, b;
};

static void setup(struct win *w)
{
	struct cf_opt o = cf_opt();

	cf_pair(&w->a, &w->b, &o);
}

static struct ibv_mw_bind_info info(struct ibv_mr *mr, uint64_t addr, uint64_t len, int access)
{
	return (struct ibv_mw_bind_info){ .mr = mr, .addr = addr, .length = len,
					  .mw_access_flags = access };
}

static int bind1(struct win *w, struct ibv_mw *mw, struct ibv_mw_bind_info i)
{
	return ibv_bind_mw(w->b.qp, mw, &(struct ibv_mw_bind){ .wr_id = 77,
			   .send_flags = IBV_SEND_SIGNALED, .bind_info = i });
}

static int bind2(struct cf_side *s, struct ibv_mw *mw, uint32_t key, struct ibv_mw_bind_info i)
{
	struct ibv_send_wr wr = { .wr_id = 77, .opcode = IBV_WR_BIND_MW,
				  .send_flags = IBV_SEND_SIGNALED,
				  .bind_mw = { .mw = mw, .rkey = key, .bind_info = i } }, *bad;

	return ibv_post_send(s->qp, &wr, &bad);
}

static int invalidate(struct cf_side *s, uint32_t key)
{
	struct ibv_send_wr wr = { .wr_id = 78, .opcode = IBV_WR_LOCAL_INV,
				  .send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = key }, *bad;

	return ibv_post_send(s->qp, &wr, &bad);
}

static void works(struct win *w, uint32_t key, uint64_t off)
{
	memset(w->a.buf, 0x3c, 64);
	memset(w->b.buf + off, 0, 64);
	cf_post(&w->a, .op = IBV_WR_RDMA_WRITE, .id = 5, .len = 64, .to = &w->b, .roff = off,
		.rkey = key);
	cf_wc(w->a.scq, 5, SUCCESS);
	cf_landed(&w->a, &w->b);
	CF_EQ(w->b.buf[off + 63], 0x3c);
}

static void refused(struct win *w, uint32_t key, uint64_t off)
{
	cf_post(&w->a, .op = IBV_WR_RDMA_WRITE, .id = 6, .len = 64, .to = &w->b, .roff = off,
		.rkey = key);
	cf_fails(&w->a, 6, &w->b, CF_NO_RECV, CF_BAD_WRITE);
	cf_again(&w->a, &w->b);
}

static void type1(void)
{
	struct win w;
	struct ibv_mw *mw;
	uint32_t k0, k1, k2;
	uint64_t base;

	setup(&w);
	base = (uintptr_t)w.b.buf;
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_1);
	k0 = mw->rkey;
	CF_OK(bind1(&w, mw, info(w.b.mr, base, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	k1 = mw->rkey;
	CF_TRUE(k1 != k0);
	CF_EQ(k1 >> 8, k0 >> 8);
	works(&w, k1, 4032);
	refused(&w, k1, 4033);
	refused(&w, k0, 0);
	/* A type 1 window survives the reset of a QP. */
	works(&w, k1, 0);
	CF_ERR(ibv_dereg_mr(w.b.mr), EBUSY);
	CF_OK(bind1(&w, mw, info(w.b.mr, base + 8192, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	k2 = mw->rkey;
	CF_TRUE(k2 != k1);
	works(&w, k2, 8192);
	refused(&w, k1, 0);
	refused(&w, k2, 0);
	/* Length 0 unbinds. */
	CF_OK(bind1(&w, mw, info(w.b.mr, base, 0, 0)));
	cf_wc(w.b.scq, 77, SUCCESS);
	refused(&w, k2, 8192);
	refused(&w, mw->rkey, 8192);
}

static void rights(void)
{
	struct win w;
	struct ibv_mw *mw;
	uint64_t base;

	setup(&w);
	base = (uintptr_t)w.b.buf;
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_1);
	CF_OK(bind1(&w, mw, info(w.b.mr, base, 4096, IBV_ACCESS_REMOTE_READ)));
	cf_wc(w.b.scq, 77, SUCCESS);
	refused(&w, mw->rkey, 0);
	cf_post(&w.a, .op = IBV_WR_RDMA_READ, .id = 1, .len = 64, .to = &w.b, .rkey = mw->rkey);
	cf_wc(w.a.scq, 1, SUCCESS);
	/* The region's own remote rights do not matter. */
	struct ibv_mr *local = cf_mr(w.b.pd, w.b.buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);

	CF_OK(bind1(&w, mw, info(local, base, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	works(&w, mw->rkey, 0);
	CF_ERR(ibv_dereg_mr(local), EBUSY);
	cf_drop(mw); /* the window goes, the region is free */
	cf_drop(local);
}

static void calls(void)
{
	struct win w;
	struct ibv_mw *m1, *m2;
	struct ibv_mw_bind_info i;

	setup(&w);
	m1 = cf_mw(w.b.pd, IBV_MW_TYPE_1);
	i = info(w.b.mr, (uintptr_t)w.b.buf, 64, WINDOW);
	if (cf.dev.orig_attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) {
		m2 = cf_mw(w.b.pd, IBV_MW_TYPE_2);
		CF_ERR(bind1(&w, m2, i), EINVAL);
	}
	i.mw_access_flags |= IBV_ACCESS_ZERO_BASED;
	CF_ERR(bind1(&w, m1, i), EINVAL);
	CF_NULL(ibv_alloc_mw(w.b.pd, 9), EINVAL);
	CF_EQ(cf_state(w.b.qp), IBV_QPS_RTS);
}

/* A refused bind: its completion says so and the QP fails; the window keeps its old key. */
static void bind_fails(struct win *w, struct ibv_mw *mw, struct ibv_mw_bind_info i)
{
	int rc = bind1(w, mw, i);

	if (rc) {
		/* An error that the call can see may be refused there; the header's own check of the
		 * domain says EPERM. */
		CF_TRUE(rc == EINVAL || rc == EPERM);
		CF_EQ(cf_state(w->b.qp), IBV_QPS_RTS);
		return;
	}
	cf_wc(w->b.scq, 77, MW_BIND_ERR);
	cf_await_state(w->b.qp, IBV_QPS_ERR);
	cf_again(&w->a, &w->b);
}

static void bad_binds(void)
{
	struct win w;
	struct ibv_mw *mw;
	struct ibv_mr *mr;
	uint64_t base;

	setup(&w);
	base = (uintptr_t)w.b.buf;
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_1);
	mr = cf_mr(w.b.pd, w.b.buf, 4096, CF_ALL_ACCESS & ~IBV_ACCESS_MW_BIND);
	bind_fails(&w, mw, info(mr, base, 64, WINDOW));
	mr = cf_mr(w.b.pd, w.b.buf, 4096, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	bind_fails(&w, mw, info(mr, base, 64, IBV_ACCESS_REMOTE_WRITE));
	bind_fails(&w, mw, info(w.b.mr, base - 1, 64, WINDOW));
	bind_fails(&w, mw, info(w.b.mr, base + w.b.o.len - 63, 64, WINDOW));
	bind_fails(&w, mw, info(w.b.mr, base, UINT64_MAX, WINDOW));
	mr = cf_mr(cf_pd(w.b.ctx), w.b.buf, 4096, CF_ALL_ACCESS);
	bind_fails(&w, mw, info(mr, base, 64, WINDOW));
	/* After all that a good one works. */
	CF_OK(bind1(&w, mw, info(w.b.mr, base, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	works(&w, mw->rkey, 0);
}

static void bind_and_send(void)
{
	struct win w;
	struct ibv_mw *mw;
	uint32_t key;

	setup(&w);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_2);
	key = (mw->rkey & ~0xffu) | 0x42;
	struct ibv_mw_bind_info i = info(w.b.mr, (uintptr_t)w.b.buf, 4096, WINDOW);
	struct ibv_sge sge = { (uintptr_t)w.b.buf + 8192, 4, w.b.mr->lkey };
	struct ibv_send_wr send = { .wr_id = 2, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
				    .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr bind = { .wr_id = 1, .opcode = IBV_WR_BIND_MW, .next = &send,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_mw = { .mw = mw, .rkey = key, .bind_info = i } }, *bad;

	memcpy(w.b.buf + 8192, &key, 4);
	cf_recv(&w.a, 3, 1024, 4);
	CF_OK(ibv_post_send(w.b.qp, &bind, &bad));
	cf_wc(w.a.rcq, 3, SUCCESS);
	memcpy(&key, w.a.buf + 1024, 4);
	works(&w, key, 0); /* without waiting for anything at b */
	cf_wc(w.b.scq, 1, SUCCESS);
	cf_wc(w.b.scq, 2, SUCCESS);
}

static void type2_ends(struct win *w, enum ibv_wc_status bad)
{
	struct ibv_wc wc;

	CF_TRUE(cf_poll(w->b.scq, &wc, CF_WAIT_MS));
	CF_EQ(wc.status, bad);
	cf_await_state(w->b.qp, IBV_QPS_ERR);
}

static void type2(void)
{
	struct win w;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info i;
	uint32_t key;

	setup(&w);
	i = info(w.b.mr, (uintptr_t)w.b.buf, 4096, WINDOW);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_2);
	key = (mw->rkey & ~0xffu) | 0x17;
	CF_OK(bind2(&w.b, mw, key, i));
	cf_wc(w.b.scq, 77, SUCCESS);
	works(&w, key, 100);
	CF_OK(invalidate(&w.b, key));
	cf_wc(w.b.scq, 78, SUCCESS);
	refused(&w, key, 100);
	key = (key & ~0xffu) | 0x18; /* another key byte after the invalidate */
	CF_OK(bind2(&w.b, mw, key, i));
	cf_wc(w.b.scq, 77, SUCCESS);
	works(&w, key, 100);
	CF_OK(bind2(&w.b, mw, ibv_inc_rkey(key), i)); /* bound already */
	type2_ends(&w, IBV_WC_MW_BIND_ERR);
}

static void type2_refusals(void)
{
	struct win w;
	struct ibv_mw *mw;
	struct ibv_mw_bind_info i;
	uint32_t key;
	int rc;

	setup(&w);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	i = info(w.b.mr, (uintptr_t)w.b.buf, 0, WINDOW); /* length 0 */
	rc = bind2(&w.b, mw, key, i);
	if (!rc) {
		type2_ends(&w, IBV_WC_MW_BIND_ERR);
		cf_again(&w.a, &w.b);
	} else {
		CF_EQ(rc, EINVAL);
	}
	i.length = 64;
	rc = bind2(&w.b, mw, key ^ 0xff00, i); /* another index */
	if (!rc) {
		type2_ends(&w, IBV_WC_MW_BIND_ERR);
		cf_again(&w.a, &w.b);
	} else {
		CF_EQ(rc, EINVAL);
	}
	CF_OK(invalidate(&w.b, w.b.mr->rkey)); /* a plain region */
	type2_ends(&w, IBV_WC_MW_BIND_ERR);
}

static void type2_other_qp(void)
{
	struct win w;
	struct cf_side a2, b2;
	struct ibv_mw *mw;
	uint32_t key;

	setup(&w);
	cf_side_again(&a2, &w.a);
	cf_side_again(&b2, &w.b);
	cf_join(&a2, &b2);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	CF_OK(bind2(&w.b, mw, key, info(w.b.mr, (uintptr_t)w.b.buf, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	works(&w, key, 0);
	cf_post(&a2, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, .to = &w.b, .rkey = key);
	cf_fails(&a2, 1, &b2, CF_NO_RECV, CF_BAD_WRITE);
	works(&w, key, 0);
	cf_drop(w.b.qp); /* with the window bound: allowed */
	cf_drop(mw);
}

/* Send with invalidate: good once, then each way of being wrong. */
static void send_inv(void)
{
	struct win w;
	struct ibv_mw *mw;
	struct ibv_wc wc;
	uint32_t key;

	setup(&w);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_2);
	key = ibv_inc_rkey(mw->rkey);
	CF_OK(bind2(&w.b, mw, key, info(w.b.mr, (uintptr_t)w.b.buf, 4096, WINDOW)));
	cf_wc(w.b.scq, 77, SUCCESS);
	cf_recv(&w.b, 1, 0, 64);
	cf_post(&w.a, .op = IBV_WR_SEND_WITH_INV, .id = 2, .len = 64, .inv = key);
	cf_wc(w.a.scq, 2, SUCCESS);
	wc = cf_wc(w.b.rcq, 1, SUCCESS);
	CF_TRUE(wc.wc_flags & IBV_WC_WITH_INV);
	CF_EQ(wc.invalidated_rkey, key);
	refused(&w, key, 0);
}

static void send_inv_fails(uint32_t (*make)(struct win *))
{
	struct win w;
	uint32_t key;

	setup(&w);
	key = make(&w);
	cf_recv(&w.b, 1, 0, 64);
	cf_post(&w.a, .op = IBV_WR_SEND_WITH_INV, .id = 2, .len = 64, .inv = key);
	cf_fails(&w.a, 2, &w.b, 1, CF_BAD_INV);
}

static uint32_t nothing(struct win *w)
{
	return w->b.mr->rkey ^ 0xff0000;
}

static uint32_t plain_region(struct win *w)
{
	return w->b.mr->rkey;
}

static uint32_t type1_window(struct win *w)
{
	struct ibv_mw *mw = cf_mw(w->b.pd, IBV_MW_TYPE_1);

	CF_OK(bind1(w, mw, info(w->b.mr, (uintptr_t)w->b.buf, 64, WINDOW)));
	cf_wc(w->b.scq, 77, SUCCESS);
	return mw->rkey;
}

static void send_inv_bad(void)
{
	send_inv_fails(nothing);
	send_inv_fails(plain_region);
	send_inv_fails(type1_window);
}

/* The window is bound at once; that it is comes to light when what was posted before it has ended,
 * and waits for nothing that is posted later. */
static void behind_a_message(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ };
	struct win w;
	struct ibv_mw *mw;

	setup(&w);
	mw = cf_mw(w.b.pd, IBV_MW_TYPE_1);
	for (int i = 0; i < 60; i++) {
		enum ibv_wr_opcode op = ops[i % 3];

		if (op == IBV_WR_SEND)
			cf_recv(&w.a, 4, 0, 64);
		cf_post(&w.b, .op = op, .id = 3, .len = 64, .to = &w.a);
		CF_OK(bind1(&w, mw, info(w.b.mr, (uintptr_t)w.b.buf, 64, WINDOW)));
		cf_wc(w.b.scq, 3, SUCCESS);
		cf_wc(w.b.scq, 77, SUCCESS);
		if (op == IBV_WR_SEND)
			cf_wc(w.a.rcq, 4, SUCCESS);
	}
	works(&w, mw->rkey, 0);
}

const struct cf_check cf_checks[] = {
	{ "75", "type 1: bind, move, unbind, old keys, EBUSY", CF_MW1, type1 },
	{ "75", "rights of window and region", CF_MW1, rights },
	{ "75 77", "binds that the call refuses", CF_MW1, calls },
	{ "77", "binds that fail in the queue", CF_MW1, bad_binds },
	{ "76", "type 2: key byte, invalidate, rebind", CF_MW2, type2 },
	{ "76", "type 2: length 0, another index, a plain region", CF_MW2, type2_refusals },
	{ "76", "type 2: another QP; destroy while bound", CF_MW2, type2_other_qp },
	{ "+", "a bind behind a message", CF_MW1, behind_a_message },
	{ "78", "bind and announce in one list", CF_MW2, bind_and_send },
	{ "59", "Send with invalidate", CF_MW2, send_inv },
	{ "59", "Send with invalidate of a key that must not be", CF_MW1 | CF_MW2, send_inv_bad },
	{ 0 },
};

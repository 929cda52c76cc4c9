/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues: limit events, resize, emptiness, sharing. */
#include "conf.h"

#include <string.h>

static void setup(struct cf_side *a, struct cf_side *b)
{
	struct cf_opt o = cf_opt();

	o.srq = true;
	cf_pair(a, b, &o);
}

static void send(struct cf_side *a, struct cf_side *b, uint64_t id, uint64_t recv_id)
{
	cf_post(a, .op = IBV_WR_SEND, .id = id, .len = 64);
	cf_wc(a->scq, id, SUCCESS);
	cf_wc(b->rcq, recv_id, SUCCESS);
}

static void set_limit(struct cf_side *b, uint32_t limit)
{
	CF_OK(ibv_modify_srq(b->srq, &(struct ibv_srq_attr){ .srq_limit = limit }, IBV_SRQ_LIMIT));
}

static uint32_t limit_now(struct cf_side *b)
{
	struct ibv_srq_attr a;

	CF_OK(ibv_query_srq(b->srq, &a));
	return a.srq_limit;
}

static void limit(void)
{
	struct cf_side a, b;
	struct ibv_async_event e;

	setup(&a, &b);
	for (int i = 0; i < 4; i++)
		cf_recv(&b, i, 0, 64);
	set_limit(&b, 2);
	CF_EQ(limit_now(&b), 2);
	send(&a, &b, 10, 0);
	send(&a, &b, 11, 1);
	cf_no_event(b.ctx); /* 2 left: not below */
	send(&a, &b, 12, 2);
	e = cf_event(b.ctx, SRQ_LIMIT_REACHED);
	CF_TRUE(e.element.srq == b.srq);
	CF_EQ(limit_now(&b), 0); /* one shot */
	send(&a, &b, 13, 3);
	cf_no_event(b.ctx);
	for (int i = 20; i < 23; i++)
		cf_recv(&b, i, 0, 64);
	set_limit(&b, 3);
	send(&a, &b, 14, 20);
	cf_event(b.ctx, SRQ_LIMIT_REACHED);
	cf_no_event(b.ctx);
}

static void resize(void)
{
	struct cf_side a, b;
	struct ibv_srq_attr at = { .max_wr = 200 };
	int rc;

	setup(&a, &b);
	if (!(cf.dev.orig_attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE))
		cf_skip("no resize of shared receive queues");
	for (int i = 0; i < 10; i++)
		cf_recv(&b, i, 0, 64);
	CF_OK(ibv_modify_srq(b.srq, &at, IBV_SRQ_MAX_WR));
	CF_OK(ibv_query_srq(b.srq, &at));
	CF_TRUE(at.max_wr >= 200);
	for (int i = 10; i < 200; i++)
		cf_recv(&b, i, 0, 64);
	for (int i = 0; i < 150; i++)
		send(&a, &b, 1000 + i, i);
	at.max_wr = 10; /* 50 lie there */
	rc = ibv_modify_srq(b.srq, &at, IBV_SRQ_MAX_WR);
	CF_EQ(rc, EINVAL);
	for (int i = 150; i < 200; i++)
		send(&a, &b, 1000 + i, i);
}

static void limits(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	const struct ibv_device_attr *d = &cf.dev.orig_attr;
	struct ibv_srq_init_attr bad[] = {
		{ .attr = { d->max_srq_wr + 1, 1, 0 } }, { .attr = { 1, d->max_srq_sge + 1, 0 } },
	};
	struct ibv_srq *s;
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bw;
	struct ibv_srq_attr at;
	int n = 0, rc;

	for (unsigned i = 0; i < 2; i++)
		CF_NULL(ibv_create_srq(pd, &bad[i]), EINVAL);
	cf_srq(pd, d->max_srq_wr, d->max_srq_sge);
	s = cf_srq(pd, 20, 1);
	CF_OK(ibv_query_srq(s, &at));
	CF_TRUE(at.max_wr >= 20 && at.max_sge >= 1 && at.srq_limit == 0);
	while (!(rc = ibv_post_srq_recv(s, &wr, &bw)))
		CF_TRUE(++n < 100000);
	CF_EQ(rc, ENOMEM);
	CF_TRUE(n >= 20 && bw == &wr);
	CF_ERR(ibv_modify_srq(s, &(struct ibv_srq_attr){ .srq_limit = at.max_wr + 1 }, IBV_SRQ_LIMIT),
	       EINVAL);
}

static void empty(void)
{
	struct cf_side a, b;

	setup(&a, &b);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	cf_quiet(a.scq);
	cf_recv(&b, 2, 0, 64);
	cf_wc(a.scq, 1, SUCCESS);
	cf_wc(b.rcq, 2, SUCCESS);
}

static void empty_ud(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_ah *ah;

	o.type = IBV_QPT_UD;
	o.srq = true;
	cf_pair(&a, &b, &o);
	ah = cf_ah(a.pd);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64, .ah = ah, .qpn = b.qp->qp_num,
		.qkey = o.qkey);
	cf_wc(a.scq, 1, SUCCESS);
	cf_quiet(b.rcq);
	cf_recv(&b, 2, 0, 200);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 65, .ah = ah, .qpn = b.qp->qp_num,
		.qkey = o.qkey);
	cf_wc(a.scq, 3, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 2, SUCCESS).byte_len, 105);
}

/* Eight QPs of one queue: every receive is used once, whoever takes it. */
static void shared(void)
{
	enum { QPS = 8, ROUNDS = 40 };
	struct cf_side a, b, as[QPS], bs[QPS];
	bool used[QPS * ROUNDS] = { false };

	setup(&a, &b);
	for (int i = 0; i < QPS; i++) {
		cf_side_again(&as[i], &a);
		cf_side_again(&bs[i], &b);
		cf_join(&as[i], &bs[i]);
	}
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < QPS; i++)
			cf_recv(&b, r * QPS + i, 64 * i, 64);
		for (int i = 0; i < QPS; i++)
			cf_post(&as[i], .op = IBV_WR_SEND, .id = i, .len = 10 + i);
		for (int i = 0; i < QPS; i++) {
			struct ibv_wc wc;

			cf_wc(as[i].scq, i, SUCCESS);
			CF_TRUE(cf_poll(bs[i].rcq, &wc, CF_WAIT_MS));
			CF_EQ(wc.status, IBV_WC_SUCCESS);
			CF_EQ(wc.byte_len, 10 + i);
			CF_EQ(wc.qp_num, bs[i].qp->qp_num);
			CF_TRUE(wc.wr_id < QPS * ROUNDS && !used[wc.wr_id]);
			used[wc.wr_id] = true;
		}
	}
}

static void pd_of_srq(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_mr *other;

	o.srq = true;
	cf_pair(&a, &b, &o);
	other = cf_mr(cf_pd(b.ctx), b.buf, 4096, CF_ALL_ACCESS);
	CF_OK(cf_recv_try(&b, 1, 0, 64, other->lkey));
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_fails(&a, 2, &b, 1, CF_BAD_RECV);
	cf_event(b.ctx, QP_LAST_WQE_REACHED);
}

static void post_recv_on_qp(void)
{
	struct cf_side a, b;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;

	setup(&a, &b);
	CF_ERR(ibv_post_recv(b.qp, &wr, &bad), EINVAL);
}

const struct cf_check cf_checks[] = {
	{ "89", "the limit: below, once, again", CF_SRQ, limit },
	{ "89", "resize with entries", CF_SRQ, resize },
	{ "89", "sizes, fullness, limit beyond size", CF_SRQ, limits },
	{ "90", "empty: RC waits and goes on", CF_SRQ | CF_RNR, empty },
	{ "90", "empty: UD drops", CF_SRQ | CF_UD, empty_ud },
	{ "18", "shared by eight", CF_SRQ, shared },
	{ "45", "receives of an SRQ are checked against its domain", CF_SRQ, pd_of_srq },
	{ "+", "no private receives beside an SRQ", CF_SRQ, post_recv_on_qp },
	{ 0 },
};

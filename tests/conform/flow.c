/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work requests in each state: before RTS, flushing in ERR, forgetting in RESET, COMM_EST. */
#include "conf.h"

#include <string.h>

static void stuck(struct cf_side *a, int n)
{
	for (int i = 0; i < n; i++)
		cf_post_stuck(a, 100 + i, i & 1);
}

static void send_before_rts(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct cf_addr pa, pb;

	o.up = IBV_QPS_RESET;
	cf_pair(&a, &b, &o);
	pa = cf_addr_of(&a), pb = cf_addr_of(&b);
	cf_up(&b, IBV_QPS_RTS, &pa);
	cf_recv(&b, 1, 0, 100);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .len = 10 }), EINVAL);
	cf_move(&a, IBV_QPS_INIT, NULL);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .len = 10 }), EINVAL);
	cf_move(&a, IBV_QPS_RTR, &pb);
	CF_ERR(cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_SEND, .len = 10 }), EINVAL);
	cf_move(&a, IBV_QPS_RTS, &pb);
	cf_post(&a, .op = IBV_WR_SEND, .id = 7, .len = 20);
	cf_wc(a.scq, 7, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, 20);
	cf_quiet(a.scq);
}

static void recv_before_rtr(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct cf_addr pa, pb;

	o.up = IBV_QPS_RESET;
	cf_pair(&a, &b, &o);
	pa = cf_addr_of(&a), pb = cf_addr_of(&b);
	CF_ERR(cf_recv_try(&b, 1, 0, 100, 0), EINVAL);
	cf_move(&b, IBV_QPS_INIT, NULL);
	cf_recv(&b, 2, 0, 100);
	cf_move(&b, IBV_QPS_RTR, &pa);
	cf_up(&a, IBV_QPS_RTS, &pb);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 100);
	cf_wc(a.scq, 3, SUCCESS);
	cf_wc(b.rcq, 2, SUCCESS);
}

static void send_to_init(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct cf_addr pa, pb;

	o.up = IBV_QPS_INIT;
	o.timeout = 10;
	o.retry = 2;
	cf_pair(&a, &b, &o);
	pa = cf_addr_of(&a), pb = cf_addr_of(&b);
	cf_recv(&b, 1, 0, 100);
	cf_move(&a, IBV_QPS_RTR, &pb);
	cf_move(&a, IBV_QPS_RTS, &pb);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 10);
	cf_wc(a.scq, 2, RETRY_EXC_ERR);
	CF_EQ(cf_state(a.qp), IBV_QPS_ERR);
	cf_move(&a, IBV_QPS_RESET, NULL);
	cf_up(&a, IBV_QPS_RTS, &pb);
	cf_move(&b, IBV_QPS_RTR, &pa);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 11);
	cf_wc(a.scq, 3, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 1, SUCCESS).byte_len, 11);
}

static void flush_in_err(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_stuck_pair(&a, &b, &o);
	stuck(&a, 5);
	for (int i = 0; i < 4; i++)
		cf_recv(&a, 200 + i, 64 * i, 64);
	cf_move(&a, IBV_QPS_ERR, NULL);
	for (int i = 0; i < 5; i++)
		cf_wc(a.scq, 100 + i, WR_FLUSH_ERR);
	for (int i = 0; i < 4; i++)
		cf_wc(a.rcq, 200 + i, WR_FLUSH_ERR);
	cf_quiet(a.scq);
	cf_quiet(a.rcq);
}

static void post_in_err(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_move(&a, IBV_QPS_ERR, NULL);
	for (int i = 0; i < 3; i++) {
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 8, .quiet = true);
		cf_recv(&a, 10 + i, 0, 8);
	}
	for (int i = 0; i < 3; i++) {
		CF_EQ(cf_wc(a.scq, i, WR_FLUSH_ERR).qp_num, a.qp->qp_num);
		cf_wc(a.rcq, 10 + i, WR_FLUSH_ERR);
	}
}

static void reset_forgets(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_stuck_pair(&a, &b, &o);
	stuck(&a, 5);
	cf_recv(&a, 200, 0, 64);
	cf_move(&a, IBV_QPS_RESET, NULL);
	cf_quiet(a.scq);
	cf_quiet(a.rcq);
	cf_again(&a, &b);
	cf_recv(&b, 9, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 8, .len = 64);
	cf_wc(a.scq, 8, SUCCESS);
	cf_wc(b.rcq, 9, SUCCESS);
	/* The receive of before RESET is gone: only the new one takes the message. */
	cf_recv(&a, 201, 0, 64);
	cf_post(&b, .op = IBV_WR_SEND, .id = 8, .len = 64);
	cf_wc(a.rcq, 201, SUCCESS);
}

/* Destroy leaves nothing of the QP in the CQ. */
static void destroy_forgets(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_stuck_pair(&a, &b, &o);
	stuck(&a, 5);
	for (int i = 0; i < 4; i++)
		cf_recv(&a, 200 + i, 64 * i, 64);
	cf_drop(a.qp);
	cf_quiet(a.scq);
	cf_quiet(a.rcq);
}

static void srq_last_wqe(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b, a2, b2;
	struct ibv_async_event e;

	o.srq = true;
	cf_pair(&a, &b, &o);
	cf_side_again(&a2, &a);
	cf_side_again(&b2, &b);
	cf_join(&a2, &b2);
	cf_recv(&b, 1, 0, 64);
	cf_recv(&b, 2, 64, 64);
	cf_move(&b, IBV_QPS_ERR, NULL);
	e = cf_event(b.ctx, QP_LAST_WQE_REACHED);
	CF_TRUE(e.element.qp == b.qp);
	cf_quiet(b.rcq); /* receives of the SRQ are not the QP's to flush */
	for (int i = 1; i <= 2; i++) {
		cf_post(&a2, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(a2.scq, i, SUCCESS);
		cf_wc(b2.rcq, i, SUCCESS);
	}
	cf_no_event(b.ctx);
}

static void comm_est(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct cf_addr pa, pb;
	struct ibv_async_event e;

	o.up = IBV_QPS_INIT;
	cf_pair(&a, &b, &o);
	pa = cf_addr_of(&a), pb = cf_addr_of(&b);
	cf_recv(&b, 1, 0, 64);
	cf_recv(&b, 2, 0, 64);
	cf_move(&b, IBV_QPS_RTR, &pa);
	CF_TRUE(!cf_readable(b.ctx->async_fd, CF_QUIET_MS));
	cf_move(&a, IBV_QPS_RTR, &pb);
	cf_move(&a, IBV_QPS_RTS, &pb);
	for (int i = 1; i <= 2; i++) {
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(a.scq, i, SUCCESS);
		cf_wc(b.rcq, i, SUCCESS);
	}
	e = cf_event(b.ctx, COMM_EST);
	CF_TRUE(e.element.qp == b.qp);
	CF_TRUE(!cf_readable(b.ctx->async_fd, CF_QUIET_MS));
	cf_move(&b, IBV_QPS_RTS, &pa);
	cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 3, .len = 64, .to = &a);
	cf_wc(b.scq, 3, SUCCESS);
	CF_TRUE(!cf_readable(b.ctx->async_fd, CF_QUIET_MS));
	CF_TRUE(!cf_readable(a.ctx->async_fd, 0)); /* a was in RTS already */
}

/* A QP connected to itself works like any other. */
static void itself(void)
{
	struct cf_opt o = cf_opt();
	struct cf_addr self;
	struct cf_side s;

	cf_side(&s, &o);
	self = cf_addr_of(&s);
	cf_up(&s, IBV_QPS_RTS, &self);
	cf_fill(s.buf, 10000, 5);
	cf_recv(&s, 1, 20000, 10000);
	cf_post(&s, .op = IBV_WR_SEND, .id = 2, .len = 10000);
	cf_wc(s.scq, 2, SUCCESS);
	cf_wc(s.rcq, 1, SUCCESS);
	cf_verify(s.buf + 20000, 10000, 5);
	cf_post(&s, .op = IBV_WR_RDMA_READ, .id = 3, .off = 40000, .len = 10000, .to = &s);
	cf_wc(s.scq, 3, SUCCESS);
	cf_verify(s.buf + 40000, 10000, 5);
}

const struct cf_check cf_checks[] = {
	{ "8", "a send before RTS is refused and leaves nothing", CF_STEPS, send_before_rts },
	{ "9", "a receive posted in INIT serves in RTR", CF_STEPS, recv_before_rtr },
	{ "10", "a send to a QP in INIT is not answered", CF_STEPS, send_to_init },
	{ "11", "ERR flushes all, in order, signaled or not", 0, flush_in_err },
	{ "12", "requests posted in ERR are flushed", 0, post_in_err },
	{ "13", "RESET forgets without completions", 0, reset_forgets },
	{ "13 100", "destroy leaves no completion behind", 0, destroy_forgets },
	{ "18", "LAST_WQE_REACHED once; the SRQ serves others", CF_SRQ, srq_last_wqe },
	{ "19", "COMM_EST once, at the first packet in RTR", CF_STEPS, comm_est },
	{ "+", "a QP connected to itself", CF_SELF, itself },
	{ 0 },
};

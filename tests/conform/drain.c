/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SQD and SQE: draining, its event, attributes changed meanwhile, recovery of UC and UD. */
#include "conf.h"

#include <string.h>

static int to_sqd(struct cf_side *s, bool notify)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = notify };

	return ibv_modify_qp(s->qp, &a, IBV_QP_STATE | (notify ? IBV_QP_EN_SQD_ASYNC_NOTIFY : 0));
}

static int sqd_to_rts(struct cf_side *s)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(s->qp, &a, IBV_QP_STATE);
}

static void idle(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_async_event e;

	cf_pair(&a, &b, &o);
	CF_OK(to_sqd(&a, true));
	e = cf_event(a.ctx, SQ_DRAINED);
	CF_TRUE(e.element.qp == a.qp);
	CF_EQ(cf_query(a.qp).sq_draining, 0);
	CF_OK(sqd_to_rts(&a));
	CF_OK(to_sqd(&a, false));
	cf_no_event(a.ctx);
}

static void under_traffic(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	int done = 0;

	o.len = 256 << 10;
	cf_pair(&a, &b, &o);
	for (int i = 0; i < 24; i++)
		cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = i, .len = o.len, .to = &b);
	CF_OK(to_sqd(&a, true));
	/* A program drains by waiting for the event; progress must not need its polling. */
	cf_event(a.ctx, SQ_DRAINED);
	CF_EQ(cf_query(a.qp).sq_draining, 0);
	for (struct ibv_wc wc; ibv_poll_cq(a.scq, 1, &wc) > 0; done++) {
		CF_EQ(wc.wr_id, done);
		CF_EQ(wc.status, IBV_WC_SUCCESS);
	}
	cf_quiet(a.scq);
	CF_OK(sqd_to_rts(&a));
	for (; done < 24; done++)
		cf_wc(a.scq, done, SUCCESS);
	cf_no_event(a.ctx);
}

static void waits_and_answers(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	CF_OK(to_sqd(&a, false));
	cf_recv(&b, 1, 0, 64);
	cf_recv(&a, 2, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 64);
	cf_quiet(a.scq);
	cf_quiet(b.rcq);
	/* The receive side is awake. */
	cf_post(&b, .op = IBV_WR_SEND, .id = 4, .len = 64);
	cf_wc(b.scq, 4, SUCCESS);
	cf_wc(a.rcq, 2, SUCCESS);
	cf_post(&b, .op = IBV_WR_RDMA_READ, .id = 5, .len = 64, .to = &a);
	cf_wc(b.scq, 5, SUCCESS);
	/* Queued work starts by itself. */
	CF_OK(sqd_to_rts(&a));
	cf_wc(a.scq, 3, SUCCESS);
	cf_wc(b.rcq, 1, SUCCESS);
}

static void attributes(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_qp_attr at;

	cf_pair(&a, &b, &o);
	CF_OK(to_sqd(&a, false));
	memset(&at, 0, sizeof(at));
	at.qp_state = IBV_QPS_SQD;
	at.timeout = 15;
	at.retry_cnt = 3;
	at.rnr_retry = 2;
	at.ah_attr = cf_ah_attr();
	at.ah_attr.grh.hop_limit = 9;
	CF_OK(ibv_modify_qp(a.qp, &at, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_AV));
	at = cf_query(a.qp);
	CF_EQ(at.timeout, 15);
	CF_EQ(at.retry_cnt, 3);
	CF_EQ(at.rnr_retry, 2);
	CF_OK(sqd_to_rts(&a));
	cf_recv(&b, 1, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_wc(a.scq, 2, SUCCESS);
	cf_wc(b.rcq, 1, SUCCESS);
}

/* A send that waits for a receive of the peer keeps the queue draining for as long as we want. */
static void while_draining(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_post(&a, .op = IBV_WR_SEND, .id = 1, .len = 64);
	CF_OK(to_sqd(&a, true));
	CF_EQ(cf_query(a.qp).sq_draining, 1);
	CF_ERR(sqd_to_rts(&a), EINVAL);
	CF_TRUE(!cf_readable(a.ctx->async_fd, CF_QUIET_MS));
	CF_EQ(cf_state(a.qp), IBV_QPS_SQD);
	cf_recv(&b, 2, 0, 64);
	cf_event(a.ctx, SQ_DRAINED);
	CF_EQ(cf_query(a.qp).sq_draining, 0);
	cf_wc(a.scq, 1, SUCCESS);
	CF_OK(sqd_to_rts(&a));
	/* ERR is open while draining. */
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 64);
	CF_OK(to_sqd(&a, false));
	cf_move(&a, IBV_QPS_ERR, NULL);
	cf_wc(a.scq, 3, WR_FLUSH_ERR);
}

/* A send error of UC or UD: the send queue stops, the rest lives, RTS mends it. */
static void sqe(enum ibv_qp_type type)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_ah *aa = NULL, *ab = NULL;
	struct ibv_sge bad;

	o.type = type;
	cf_pair(&a, &b, &o);
	if (type == IBV_QPT_UD) {
		aa = cf_ah(a.pd);
		ab = cf_ah(b.pd);
	}
	cf_recv(&a, 1, 0, 1000);
	cf_recv(&b, 2, 0, 1000);
	bad = (struct ibv_sge){ (uintptr_t)a.buf, 64, a.mr->lkey ^ 0x55 };
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .sge = &bad, .n = 1, .ah = aa,
		.qpn = b.qp->qp_num, .qkey = o.qkey);
	cf_wc(a.scq, 3, LOC_PROT_ERR);
	cf_await_state(a.qp, IBV_QPS_SQE);
	cf_post(&a, .op = IBV_WR_SEND, .id = 4, .len = 64, .ah = aa, .qpn = b.qp->qp_num,
		.qkey = o.qkey);
	cf_wc(a.scq, 4, WR_FLUSH_ERR);
	cf_post(&b, .op = IBV_WR_SEND, .id = 5, .len = 64, .ah = ab, .qpn = a.qp->qp_num,
		.qkey = o.qkey);
	cf_wc(b.scq, 5, SUCCESS);
	cf_wc(a.rcq, 1, SUCCESS);
	CF_OK(sqd_to_rts(&a));
	CF_EQ(cf_state(a.qp), IBV_QPS_RTS);
	cf_post(&a, .op = IBV_WR_SEND, .id = 6, .len = 77, .ah = aa, .qpn = b.qp->qp_num,
		.qkey = o.qkey);
	cf_wc(a.scq, 6, SUCCESS);
	cf_wc(b.rcq, 2, SUCCESS);
}

static void sqe_uc(void)
{
	sqe(IBV_QPT_UC);
}

static void sqe_ud(void)
{
	sqe(IBV_QPT_UD);
}

const struct cf_check cf_checks[] = {
	{ "14", "SQD of an idle queue: the event at once, if asked", CF_SQD, idle },
	{ "14", "SQD under traffic: the event after the last completion", CF_SQD, under_traffic },
	{ "15", "in SQD posts wait, receives live, RTS starts the rest", CF_SQD, waits_and_answers },
	{ "16", "attributes changed in SQD", CF_SQD, attributes },
	{ "16", "while draining only ERR is open", CF_SQD, while_draining },
	{ "17", "UC send error: SQE and back", CF_UC, sqe_uc },
	{ "17", "UD send error: SQE and back", CF_UD, sqe_ud },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: arming, solicited events, overrun, resize, limits. */
#include "conf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { ANY, SOL };

struct duo {
	struct cf_side a, b;
	uint64_t n; /* messages so far */
};

static void setup(struct duo *d, int cqe)
{
	struct cf_opt o = cf_opt();

	o.chan = true;
	o.cqe = cqe;
	memset(d, 0, sizeof(*d));
	cf_pair(&d->a, &d->b, &o);
}

/* One message of a that b has received; its completion stays in b's CQ. */
static void message(struct duo *d, unsigned flags)
{
	struct ibv_wc wc;

	d->n++;
	cf_recv(&d->b, d->n, 0, 8192);
	cf_post(&d->a, .op = IBV_WR_SEND, .id = d->n, .len = 5000, .flags = flags);
	CF_TRUE(cf_poll(d->a.scq, &wc, CF_WAIT_MS));
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	cf_landed(&d->a, &d->b);
}

static void arm(struct duo *d, int how)
{
	CF_OK(ibv_req_notify_cq(d->b.rcq, how == SOL));
}

static bool event(struct duo *d, bool expected)
{
	return cf_cq_event(d->b.chan, d->b.rcq, expected ? CF_WAIT_MS : CF_QUIET_MS);
}

static void matrix(void)
{
	/* how it is armed (twice, or once when equal), solicited send?, event? */
	static const struct {
		int first, second;
		bool solicited, event;
	} t[] = {
		{ ANY, ANY, false, true },  { ANY, ANY, true, true },
		{ SOL, SOL, false, false }, { SOL, SOL, true, true },
		{ SOL, ANY, false, true }, /* upgrade */
		{ ANY, SOL, false, true }, /* no downgrade */
	};
	struct duo d;

	setup(&d, 256);
	for (unsigned i = 0; i < sizeof(t) / sizeof(*t); i++) {
		arm(&d, t[i].first);
		if (t[i].second != t[i].first)
			arm(&d, t[i].second);
		message(&d, t[i].solicited ? IBV_SEND_SOLICITED : 0);
		if (event(&d, t[i].event) != t[i].event)
			CF_DIE("row %u: %s", i, t[i].event ? "no event" : "an event");
		/* One shot. */
		message(&d, IBV_SEND_SOLICITED);
		if (event(&d, !t[i].event) == t[i].event)
			CF_DIE("row %u: the second message is wrong", i);
		cf_drain(d.b.rcq);
	}
}

static void multi_packet_solicited(void)
{
	struct duo d;

	setup(&d, 256);
	d.a.o.mtu = d.b.o.mtu = IBV_MTU_256;
	cf_again(&d.a, &d.b);
	arm(&d, SOL);
	message(&d, 0);
	CF_TRUE(!event(&d, false));
	message(&d, IBV_SEND_SOLICITED);
	CF_TRUE(event(&d, true));
	/* WRITE with immediate solicits as well; a plain WRITE never completes at b. */
	arm(&d, SOL);
	cf_recv(&d.b, 90, 0, 0);
	cf_post(&d.a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = 91, .len = 1000, .to = &d.b,
		.flags = IBV_SEND_SOLICITED);
	cf_wc(d.a.scq, 91, SUCCESS);
	CF_TRUE(event(&d, true));
}

static void errors_solicit(void)
{
	struct duo d;

	setup(&d, 256);
	arm(&d, SOL);
	cf_recv(&d.b, 1, 0, 8);
	cf_move(&d.b, IBV_QPS_ERR, NULL);
	CF_TRUE(event(&d, true));
	cf_wc(d.b.rcq, 1, WR_FLUSH_ERR);
}

static void armed_late(void)
{
	struct duo d;

	setup(&d, 256);
	message(&d, 0);
	CF_TRUE(cf_state(d.b.qp) == IBV_QPS_RTS);
	arm(&d, ANY);
	CF_TRUE(!event(&d, false)); /* it lay there before */
	message(&d, 0);
	CF_TRUE(event(&d, true));
	CF_EQ(cf_drain(d.b.rcq), 2);
}

/* A poll that found nothing, a completion, and only then the request to notify: no later poll
 * would come. */
static void armed_too_late(void)
{
	struct duo d;

	setup(&d, 256);
	CF_EQ(cf_drain(d.b.rcq), 0);
	message(&d, 0);
	arm(&d, SOL);
	CF_TRUE(!event(&d, false));
	arm(&d, ANY);
	CF_TRUE(event(&d, true));
	arm(&d, ANY); /* that one has been told */
	CF_TRUE(!event(&d, false));
	CF_EQ(cf_drain(d.b.rcq), 1);
	message(&d, IBV_SEND_SOLICITED);
	CF_TRUE(event(&d, true)); /* armed all the while */
	CF_EQ(cf_drain(d.b.rcq), 1);
	message(&d, IBV_SEND_SOLICITED);
	arm(&d, SOL);
	CF_TRUE(event(&d, true));
}

static void no_channel(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	CF_OK(ibv_req_notify_cq(b.rcq, 0));
	cf_recv(&b, 1, 0, 8);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 8);
	cf_wc(b.rcq, 1, SUCCESS);
}

/* The classic loop: arm, poll again, wait. One message each time, sent by another thread whenever
 * the last was seen: a lost wake-up hangs. */
static struct duo race;
static int race_n;
static atomic_int race_posted; /* receives */

static void *race_sender(void *arg)
{
	for (int i = 0; i < race_n; i++) {
		/* Paced by the receiver's posts: rnr_retry is endless and short, where it is. */
		cf_credit(&race_posted, i);
		cf_post(&race.a, .op = IBV_WR_SEND, .id = i, .len = 4);
		cf_wc(race.a.scq, i, SUCCESS);
	}
	return NULL;
}

static void race_loop(int n)
{
	pthread_t th;
	struct ibv_wc wc;

	setup(&race, 256);
	race_n = n;
	race.a.o.min_rnr = race.b.o.min_rnr = 1;
	cf_again(&race.a, &race.b);
	for (int i = 0; i < 16; i++)
		cf_recv(&race.b, i, 0, 8);
	race_posted = 16;
	CF_OK(pthread_create(&th, NULL, race_sender, NULL));
	for (int seen = 0; seen < n;) {
		CF_OK(ibv_req_notify_cq(race.b.rcq, 0));
		int got = ibv_poll_cq(race.b.rcq, 1, &wc);

		CF_TRUE(got >= 0);
		if (!got) {
			if (!cf_cq_event(race.b.chan, race.b.rcq, CF_WAIT_MS))
				CF_DIE("no event after %d of %d messages", seen, n);
			continue;
		}
		CF_EQ(wc.status, IBV_WC_SUCCESS);
		CF_EQ(wc.wr_id, seen);
		seen++;
		cf_recv(&race.b, seen + 15, 0, 8);
		atomic_fetch_add(&race_posted, 1);
	}
	CF_OK(pthread_join(th, NULL));
}

static void race_short(void)
{
	race_loop(20000);
}

static void race_full(void)
{
	race_loop(1000000);
}

static void overrun(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_cq *small;
	struct ibv_qp_init_attr init;
	struct ibv_async_event e;
	struct ibv_wc wc;
	int room, got = 0, rc;

	o.sq = 256;
	cf_side(&a, &o);
	cf_side(&b, &o);
	small = cf_cq(a.ctx, 4, NULL);
	room = small->cqe;
	CF_TRUE(room >= 4 && room < 200);
	init = (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = small, .recv_cq = a.rcq,
					  .cap = { 256, 8, 2, 2, 0 } };
	a.qp = cf_qp(a.pd, &init);
	cf_join(&a, &b);
	for (int i = 0; i < room + 8; i++)
		if (cf_post_try(&a, &(struct cf_wr){ .op = IBV_WR_RDMA_WRITE, .id = i, .len = 8,
						     .to = &b }))
			break;
	e = cf_event(a.ctx, CQ_ERR);
	CF_TRUE(e.element.cq == small);
	cf_await_state(a.qp, IBV_QPS_ERR);
	while ((rc = ibv_poll_cq(small, 1, &wc)) > 0)
		got++;
	CF_TRUE(got <= room);
	CF_TRUE(rc <= 0);
	/* The event of the QP may follow; a second CQ_ERR may not. */
	while (cf_readable(a.ctx->async_fd, CF_QUIET_MS)) {
		CF_OK(ibv_get_async_event(a.ctx, &e));
		CF_TRUE(e.event_type != IBV_EVENT_CQ_ERR);
		ibv_ack_async_event(&e);
	}
}

static void resize(void)
{
	struct duo d;
	struct ibv_wc wc;

	setup(&d, 64);
	for (int i = 0; i < 20; i++)
		message(&d, 0);
	CF_ERR(ibv_resize_cq(d.b.rcq, 19), EINVAL);
	CF_OK(ibv_resize_cq(d.b.rcq, 20));
	CF_TRUE(d.b.rcq->cqe >= 20);
	CF_OK(ibv_resize_cq(d.b.rcq, 1000));
	CF_TRUE(d.b.rcq->cqe >= 1000);
	CF_ERR(ibv_resize_cq(d.b.rcq, cf.dev.orig_attr.max_cqe + 1), EINVAL);
	CF_ERR(ibv_resize_cq(d.b.rcq, 0), EINVAL);
	for (int i = 1; i <= 20; i++) {
		CF_TRUE(ibv_poll_cq(d.b.rcq, 1, &wc) == 1);
		CF_EQ(wc.wr_id, i);
	}
}

static void resize_running(void)
{
	struct duo d;
	struct ibv_wc wc;
	uint64_t next = 1;

	setup(&d, 256);
	for (int round = 0; round < 300; round++) {
		for (int i = 0; i < 8; i++) {
			cf_recv(&d.b, ++d.n, 0, 64);
			cf_post(&d.a, .op = IBV_WR_SEND, .id = d.n, .len = 64, .quiet = i < 7);
		}
		CF_OK(ibv_resize_cq(d.b.rcq, 64 + round * 7 % 900));
		for (int i = 0; i < 8; i++, next++)
			cf_wc(d.b.rcq, next, SUCCESS);
		CF_TRUE(cf_poll(d.a.scq, &wc, CF_WAIT_MS));
	}
}

static void limits(void)
{
	struct ibv_context *ctx = cf_open();
	int max = cf.dev.orig_attr.max_cqe, v = ctx->num_comp_vectors;
	struct ibv_cq *cq;

	CF_NULL(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL);
	CF_NULL(ibv_create_cq(ctx, -1, NULL, NULL, 0), EINVAL);
	CF_NULL(ibv_create_cq(ctx, max + 1, NULL, NULL, 0), EINVAL);
	CF_TRUE(cf_cq(ctx, max, NULL)->cqe >= max);
	CF_TRUE(cf_cq(ctx, 1, NULL)->cqe >= 1);
	CF_TRUE(v >= 1);
	CF_NULL(ibv_create_cq(ctx, 4, NULL, NULL, v), EINVAL);
	CF_NULL(ibv_create_cq(ctx, 4, NULL, NULL, -1), EINVAL);
	cq = ibv_create_cq(ctx, 4, NULL, NULL, v - 1);
	CF_TRUE(cq);
	CF_OK(ibv_destroy_cq(cq));
}

static void batches(void)
{
	struct duo d;
	struct ibv_wc wc[40];

	setup(&d, 64);
	for (int i = 0; i < 30; i++)
		message(&d, 0);
	CF_EQ(ibv_poll_cq(d.b.rcq, 0, wc), 0);
	CF_EQ(ibv_poll_cq(d.b.rcq, 7, wc), 7);
	CF_EQ(wc[6].wr_id, 7);
	CF_EQ(ibv_poll_cq(d.b.rcq, 40, wc), 23);
	CF_EQ(wc[22].wr_id, 30);
	CF_EQ(ibv_poll_cq(d.b.rcq, 40, wc), 0);
}

static void extended(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_cq_init_attr_ex ia = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_poll_cq_attr pa = { 0 };
	struct ibv_qp_init_attr init;
	struct ibv_cq_ex *cq;

	cf_side(&a, &o);
	cf_side(&b, &o);
	cq = ibv_create_cq_ex(b.ctx, &ia);
	if (!cq && errno == EOPNOTSUPP)
		cf_skip("no extended completion queues");
	CF_TRUE(cq);
	cf_keep((cf_undo)ibv_destroy_cq, ibv_cq_ex_to_cq(cq), "ibv_destroy_cq");
	init = (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = b.scq,
					  .recv_cq = ibv_cq_ex_to_cq(cq), .cap = { 8, 8, 2, 2, 0 } };
	b.qp = cf_qp(b.pd, &init);
	cf_join(&a, &b);
	CF_EQ(ibv_start_poll(cq, &pa), ENOENT); /* and then no end_poll */
	for (int i = 0; i < 2; i++) {
		cf_recv(&b, 10 + i, 0, 64);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = i, .len = 33 + i, .to = &b,
			.imm = htobe32(i));
		cf_wc(a.scq, i, SUCCESS);
	}
	cf_landed(&a, &b);
	CF_EQ(ibv_start_poll(cq, &pa), 0);
	CF_EQ(cq->wr_id, 10);
	CF_EQ(cq->status, IBV_WC_SUCCESS);
	CF_EQ(ibv_wc_read_opcode(cq), IBV_WC_RECV_RDMA_WITH_IMM);
	CF_EQ(ibv_wc_read_byte_len(cq), 33);
	CF_EQ(be32toh(ibv_wc_read_imm_data(cq)), 0);
	CF_EQ(ibv_wc_read_qp_num(cq), b.qp->qp_num);
	CF_EQ(ibv_next_poll(cq), 0);
	CF_EQ(cq->wr_id, 11);
	CF_EQ(ibv_wc_read_byte_len(cq), 34);
	CF_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
}

const struct cf_check cf_checks[] = {
	{ "83", "arm any and solicited: each row", 0, matrix },
	{ "61 83", "solicited over several packets", 0, multi_packet_solicited },
	{ "83", "an error wakes a solicited arm", 0, errors_solicit },
	{ "84", "armed with completions present", 0, armed_late },
	{ "+", "a completion between the last look and the request", 0, armed_too_late },
	{ "83", "arming without a channel", 0, no_channel },
	{ "84", "arm, poll, wait: no wake-up is lost", 0, race_short },
	{ "84", "arm, poll, wait: a million times", CF_FULL, race_full },
	{ "86", "overrun", 0, overrun },
	{ "87", "resize keeps the completions", 0, resize },
	{ "87", "resize while traffic runs", 0, resize_running },
	{ "88", "sizes and vectors at their limits", 0, limits },
	{ "+", "polling in batches", 0, batches },
	{ "+", "the extended interface", 0, extended },
	{ 0 },
};

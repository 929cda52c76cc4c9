/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with channels and events. */
#include "world.h"

static struct ibv_comp_channel *channel;
static struct ibv_cq *with_channel;

static void begin(void)
{
	channel = ibv_create_comp_channel(w.ctx);
	with_channel = w.cq = ibv_create_cq(w.ctx, 64, NULL, channel, 0);
	world_pair();
}

/* One completion, and its event. */
static void get_one(void)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *user;

	ibv_req_notify_cq(w.cq, 0);
	ibv_poll_cq(w.cq, 1, &wc);
	ibv_post_send(w.qp, &wr, &w.bad_send);
	ibv_get_cq_event(channel, &cq, &user);
	world_reap(w.cq);
}

static void acknowledge(void *arg)
{
	ibv_ack_cq_events(arg, 1);
}

CASE(cq_event_not_acknowledged)
{
	begin();
	get_one();
	ibv_destroy_qp(w.qp);
	ibv_destroy_qp(w.peer);
	world_rescue(acknowledge, w.cq);
	ibv_destroy_cq(w.cq); /* wrong: cq-events-not-acknowledged */
}

CASE(cq_event_acknowledged_twice)
{
	begin();
	get_one();
	ibv_ack_cq_events(w.cq, 1);
	ibv_ack_cq_events(w.cq, 1); /* wrong: acknowledged-too-often */
}

CASE(wait_without_arm)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);
	struct ibv_cq *cq;
	void *user;

	begin();
	ibv_post_send(w.qp, &wr, &w.bad_send);
	world_rescue(NULL, NULL);
	ibv_get_cq_event(channel, &cq, &user); /* wrong: wait-without-arm */
	world_reap(w.cq);
}

CASE(wait_without_second_arm)
{
	struct ibv_cq *cq;
	void *user;

	begin();
	get_one();
	ibv_ack_cq_events(w.cq, 1);
	world_rescue(NULL, NULL);
	ibv_get_cq_event(channel, &cq, &user); /* wrong: wait-without-arm */
}

CASE(wait_without_poll)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);
	struct ibv_cq *cq;
	void *user;

	begin();
	ibv_post_send(w.qp, &wr, &w.bad_send);
	ibv_req_notify_cq(w.cq, 0);
	world_rescue(NULL, NULL);
	ibv_get_cq_event(channel, &cq, &user); /* wrong: wait-without-poll */
	world_reap(w.cq);
}

CASE(arm_without_channel)
{
	ibv_req_notify_cq(w.cq, 0); /* wrong: armed-without-channel */
}

static struct ibv_async_event last;

static void acknowledge_async(void *arg)
{
	ibv_ack_async_event(arg);
}

/* A queue pair with an SRQ that comes to ERR raises LAST_WQE_REACHED. */
CASE(async_event_not_acknowledged)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp;

	a.srq = ibv_create_srq(w.pd, &s);
	qp = ibv_create_qp(w.pd, &a);
	world_move(qp, IBV_QPS_RTS);
	ibv_modify_qp(qp, &err, IBV_QP_STATE);
	ibv_get_async_event(w.ctx, &last);
	world_rescue(acknowledge_async, &last);
	ibv_destroy_qp(qp); /* wrong: async-events-not-acknowledged */
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with requests, receives and the queues that they go through. */
#include "world.h"

#include <errno.h>
#include <pthread.h>

CASE(no_request_signaled)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	world_pair();
	wr.send_flags = 0;
	for (int i = 0; i < 1000000; i++)
		if (ibv_post_send(w.qp, &wr, &w.bad_send)) /* wrong: never-signaled */
			break;
}

CASE(cq_too_small_for_requests)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	w.cq = ibv_create_cq(w.ctx, 6, NULL, NULL, 0);
	world_pair();
	for (int i = 0; i < 3; i++)
		ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: cq-too-small */
	world_reap(w.cq);
}

CASE(cq_too_small_for_receives)
{
	struct ibv_qp *qp;

	w.cq = ibv_create_cq(w.ctx, 2, NULL, NULL, 0);
	qp = world_qp(IBV_QPT_RC);
	world_move(qp, IBV_QPS_INIT);
	for (int i = 0; i < 3; i++)
		ibv_post_recv(qp, &w.recv, &w.bad_recv); /* wrong: cq-too-small */
}

CASE(cq_too_small_for_two)
{
	struct ibv_qp *one, *two;

	w.cq = ibv_create_cq(w.ctx, 1, NULL, NULL, 0);
	one = world_qp(IBV_QPT_RC);
	two = world_qp(IBV_QPT_RC);
	world_move(one, IBV_QPS_INIT);
	world_move(two, IBV_QPS_INIT);
	ibv_post_recv(one, &w.recv, &w.bad_recv);
	ibv_post_recv(two, &w.recv, &w.bad_recv); /* wrong: cq-too-small */
}

CASE(cq_resized_too_small)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);

	world_move(qp, IBV_QPS_INIT);
	ibv_resize_cq(w.cq, 1);
	ibv_post_recv(qp, &w.recv, &w.bad_recv);
	ibv_post_recv(qp, &w.recv, &w.bad_recv); /* wrong: cq-too-small */
}

CASE(posts_after_error)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	world_pair();
	wr.wr.rdma.rkey ^= 0x77700;
	ibv_post_send(w.qp, &wr, &w.bad_send);
	while (world_reap(w.cq).wr_id != wr.wr_id)
		;
	for (int i = 0; i < 3; i++)
		ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: posted-after-error */
}

CASE(send_in_reset)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);

	ibv_post_send(qp, &w.send, &w.bad_send); /* wrong: posted-before-ready */
}

CASE(send_in_init)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UD);

	world_move(qp, IBV_QPS_INIT);
	ibv_post_send(qp, &w.send, &w.bad_send); /* wrong: posted-before-ready */
}

CASE(send_in_rtr)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);

	world_move(qp, IBV_QPS_RTR);
	ibv_post_send(qp, &w.send, &w.bad_send); /* wrong: posted-before-ready */
}

CASE(receive_in_reset)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UC);

	ibv_post_recv(qp, &w.recv, &w.bad_recv); /* wrong: posted-before-ready */
}

CASE(three_pieces_sent)
{
	struct ibv_sge s[3] = { w.sge, w.sge, w.sge };

	world_pair();
	w.send.sg_list = s;
	w.send.num_sge = 3;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: too-many-pieces */
}

CASE(three_pieces_received)
{
	struct ibv_sge s[3] = { w.sge, w.sge, w.sge };

	world_pair();
	w.recv.sg_list = s;
	w.recv.num_sge = 3;
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: too-many-pieces */
}

CASE(much_inline)
{
	world_pair();
	w.sge.length = 4096;
	w.send.send_flags |= IBV_SEND_INLINE;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: inline-too-long */
}

CASE(atomic_between_words)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_ATOMIC_FETCH_AND_ADD);

	world_pair();
	wr.wr.atomic.remote_addr += 4;
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: unaligned-atomic */
}

CASE(atomic_of_four_octets)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_ATOMIC_CMP_AND_SWP);

	world_pair();
	w.sge.length = 4;
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: unaligned-atomic */
}

CASE(receive_beside_srq)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);
	struct ibv_qp *qp;

	a.srq = ibv_create_srq(w.pd, &s);
	qp = ibv_create_qp(w.pd, &a);
	world_move(qp, IBV_QPS_INIT);
	ibv_post_recv(qp, &w.recv, &w.bad_recv); /* wrong: receive-beside-srq */
}

CASE(peer_without_receive)
{
	w.qp = world_qp(IBV_QPT_RC);
	w.peer = world_qp(IBV_QPT_RC);
	world_move(w.peer, IBV_QPS_RTS);
	world_move(w.qp, IBV_QPS_RTS);
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: no-receive */
	while (world_reap(w.cq).wr_id != w.send.wr_id)
		;
}

/* Five messages, and the peer has four receives. */
CASE(one_receive_too_few)
{
	world_pair();
	for (int i = 0; i < 5; i++) {
		ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: no-receive */
		while (world_reap(w.cq).wr_id != w.send.wr_id)
			;
	}
}

static void move_without_depth(void)
{
	struct change c;

	w.qp = world_qp(IBV_QPT_RC);
	world_move(w.qp, IBV_QPS_RTR);
	c = world_change(w.qp, IBV_QPS_RTS);
	c.attr.max_rd_atomic = 0;
	ibv_modify_qp(w.qp, &c.attr, c.mask);
}

CASE(read_without_depth)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_READ);

	move_without_depth();
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: no-read-depth */
}

CASE(atomic_without_depth)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_ATOMIC_FETCH_AND_ADD);

	move_without_depth();
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: no-read-depth */
}

CASE(datagram_without_grh)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UD);

	world_move(qp, IBV_QPS_INIT);
	w.sge.length = 32;
	ibv_post_recv(qp, &w.recv, &w.bad_recv); /* wrong: no-room-for-grh */
}

/* Two threads post at one time: a full queue lets them go on without end. */
static void *post_for_ever(void *arg)
{
	struct ibv_recv_wr wr = w.recv, *bad;

	for (int i = 0; i < 200000; i++)
		ibv_post_recv(arg, &wr, &bad); /* wrong: queue-pair-race */
	return NULL;
}

CASE(two_threads_of_one_domain)
{
	struct ibv_td_init_attr ta = { .comp_mask = 0 };
	struct ibv_td *td = ibv_alloc_td(w.ctx, &ta);
	struct ibv_parent_domain_init_attr pa = { .pd = w.pd, .td = td };
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);
	struct ibv_qp *qp = ibv_create_qp(ibv_alloc_parent_domain(w.ctx, &pa), &a);
	pthread_t t[2];

	world_move(qp, IBV_QPS_INIT);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, post_for_ever, qp);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with the life of objects. */
#include "world.h"

#include <sys/wait.h>
#include <unistd.h>

CASE(queue_before_its_pair)
{
	world_qp(IBV_QPT_RC);
	ibv_destroy_cq(w.cq); /* wrong: destroyed-in-use */
}

CASE(domain_before_its_region)
{
	ibv_dealloc_pd(w.pd); /* wrong: destroyed-in-use */
}

CASE(srq_before_its_pair)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	a.srq = ibv_create_srq(w.pd, &s);
	ibv_create_qp(w.pd, &a);
	ibv_destroy_srq(a.srq); /* wrong: destroyed-in-use */
}

CASE(channel_before_its_queue)
{
	struct ibv_comp_channel *ch = ibv_create_comp_channel(w.ctx);

	ibv_create_cq(w.ctx, 4, NULL, ch, 0);
	ibv_destroy_comp_channel(ch); /* wrong: destroyed-in-use */
}

CASE(pair_twice)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);

	ibv_destroy_qp(qp);
	ibv_destroy_qp(qp); /* wrong: destroyed-twice */
}

CASE(region_twice)
{
	ibv_dereg_mr(w.mr);
	ibv_dereg_mr(w.mr); /* wrong: destroyed-twice */
}

CASE(queue_twice)
{
	ibv_destroy_cq(w.cq);
	ibv_destroy_cq(w.cq); /* wrong: destroyed-twice */
}

CASE(domain_twice)
{
	ibv_dereg_mr(w.mr);
	ibv_dealloc_pd(w.pd);
	ibv_dealloc_pd(w.pd); /* wrong: destroyed-twice */
}

CASE(srq_twice)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(w.pd, &s);

	ibv_destroy_srq(srq);
	ibv_destroy_srq(srq); /* wrong: destroyed-twice */
}

CASE(handle_twice)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh.hop_limit = 64 };
	struct ibv_ah *ah;

	ibv_query_gid(w.ctx, 1, 0, &a.grh.dgid);
	ah = ibv_create_ah(w.pd, &a);
	ibv_destroy_ah(ah);
	ibv_destroy_ah(ah); /* wrong: destroyed-twice */
}

/* options: --leaks */
BARE(all_left)
{
	struct ibv_context *ctx = ibv_open_device(world_device()); /* wrong: leaked */
	struct ibv_pd *pd = ibv_alloc_pd(ctx); /* wrong: leaked */
	struct ibv_cq *cq = ibv_create_cq(ctx, 4, NULL, NULL, 0); /* wrong: leaked */

	w.cq = cq;
	w.pd = pd;
	ibv_create_comp_channel(ctx); /* wrong: leaked */
}

/* options: --leaks */
BARE(region_left)
{
	static char b[4096];
	struct ibv_context *ctx = ibv_open_device(world_device()); /* wrong: leaked */
	struct ibv_pd *pd = ibv_alloc_pd(ctx); /* wrong: leaked */

	ibv_reg_mr(pd, b, sizeof(b), 0); /* wrong: leaked */
	ibv_dealloc_pd(pd);		 /* wrong: destroyed-in-use */
}

CASE(queue_never_polled)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	w.cq = ibv_create_cq(w.ctx, 64, NULL, NULL, 0); /* wrong: never-polled */
	world_pair();
	ibv_post_send(w.qp, &wr, &w.bad_send);
}

CASE(queue_destroyed_unpolled)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	w.cq = ibv_create_cq(w.ctx, 64, NULL, NULL, 0); /* wrong: never-polled */
	world_pair();
	ibv_post_send(w.qp, &wr, &w.bad_send);
	ibv_destroy_qp(w.qp);
	ibv_destroy_qp(w.peer);
	ibv_destroy_cq(w.cq);
}

/* The parent has asked for support, which is for its own pages alone. */
static pid_t child_of(void)
{
	ibv_is_fork_initialized();
	return fork();
}

CASE(child_posts)
{
	pid_t child;

	world_pair();
	child = child_of();
	if (child == 0) {
		ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: used-after-fork */
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

CASE(child_deregisters)
{
	pid_t child = child_of();

	if (child == 0) {
		ibv_dereg_mr(w.mr); /* wrong: used-after-fork */
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

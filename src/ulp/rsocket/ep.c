/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stream's queue pair and memory, and what both ends tell each other about them. */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t clamp(uint32_t v, uint32_t low, uint32_t high)
{
	return v < low ? low : v > high ? high : v;
}

static int fit_sizes(struct rs_sock *rs)
{
	struct ibv_device_attr attr;
	uint32_t most;
	int rc = ibv_query_device(rs->id->verbs, &attr);

	if (rc)
		return rs_fail(rc);
	most = clamp((uint32_t)attr.max_qp_wr, 0, RS_QP_MAX);
	if (most < RS_QP_MIN + RS_SPARE)
		return rs_fail(ENOTSUP);
	rs->iwarp = rs->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	rs->size = rs->want;
	rs->size.sq = clamp(rs->want.sq, RS_QP_MIN, most);
	rs->size.rq = clamp(rs->want.rq, RS_QP_MIN, most - RS_SPARE);
	/* Halves of a ring are lent whole; messages of iWARP lie behind them, aligned. */
	rs->size.rmem = clamp(rs->want.rmem, 2 * RS_LOW, RS_MEM_MAX) & ~15u;
	rs->size.smem = clamp(rs->want.smem, 2 * RS_LOW, RS_MEM_MAX);
	if (rs->size.inline_len < RSP_SGE_LEN)
		rs->size.inline_len = RSP_SGE_LEN;
	return 0;
}

static int make_queues(struct rs_sock *rs)
{
	int depth = (int)(rs->size.sq + rs->size.rq + RS_SPARE);

	rs->cq_chan = ibv_create_comp_channel(rs->id->verbs);
	if (!rs->cq_chan || rs_nonblock_fd(rs->cq_chan->fd))
		return -1;
	rs->cq = ibv_create_cq(rs->id->verbs, depth, rs, rs->cq_chan, 0);
	if (!rs->cq)
		return -1;
	return rs_watch(rs, rs->cq_chan->fd);
}

static int make_qp(struct rs_sock *rs)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = rs,
		.send_cq = rs->cq,
		.recv_cq = rs->cq,
		.cap = { .max_send_wr = rs->size.sq,
			 .max_recv_wr = rs->size.rq + RS_SPARE,
			 .max_send_sge = 2,
			 .max_recv_sge = 1,
			 .max_inline_data = rs->size.inline_len },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	if (rdma_create_qp(rs->id, NULL, &attr))
		return -1;
	rs->qp = rs->id->qp;
	rs->size.inline_len = attr.cap.max_inline_data;
	return rs->size.inline_len < RSP_SGE_LEN ? rs_fail(ENOTSUP) : 0;
}

static int make_memory(struct rs_sock *rs)
{
	const int written = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	uint32_t receives = rs->size.rq + RS_SPARE;
	size_t r_len = rs->size.rmem + (rs->iwarp ? (size_t)receives * RSP_MSG_LEN : 0);

	rs->target_len = RSP_SGL_ENTRIES * RSP_SGE_LEN + (size_t)rs->size.iomap * RSP_IOMAP_LEN;
	/* Of their own pages: a child of fork() is to keep its neighbours on the heap. */
	if (posix_memalign((void **)&rs->sbuf, 4096, (rs->size.smem + 4095) & ~4095u) ||
	    posix_memalign((void **)&rs->rbuf, 4096, (r_len + 3 + 4095) & ~4095ul) ||
	    posix_memalign((void **)&rs->target, 4096, (rs->target_len + 4095) & ~4095ul))
		return rs_fail(ENOMEM);
	memset(rs->target, 0, rs->target_len);
	memset(rs->sbuf, 0, rs->size.smem);
	memset(rs->rbuf, 0, r_len);
	rs->s_mr = ibv_reg_mr(rs->id->pd, rs->sbuf, rs->size.smem, IBV_ACCESS_LOCAL_WRITE);
	rs->r_mr = rs->s_mr ? ibv_reg_mr(rs->id->pd, rs->rbuf, r_len, written) : NULL;
	rs->t_mr = rs->r_mr ? ibv_reg_mr(rs->id->pd, rs->target, rs->target_len, written) : NULL;
	return rs->t_mr ? 0 : -1;
}

int rs_ep_post_recv(struct rs_sock *rs)
{
	struct ibv_recv_wr wr = { .wr_id = rs->msg_slot }, *bad;
	struct ibv_sge sge;
	int rc;

	if (rs->iwarp) {
		sge.addr = (uintptr_t)rs->rbuf + rs->size.rmem +
			   (uint64_t)rs->msg_slot * RSP_MSG_LEN;
		sge.length = RSP_MSG_LEN;
		sge.lkey = rs->r_mr->lkey;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		if (++rs->msg_slot == rs->size.rq + RS_SPARE)
			rs->msg_slot = 0;
	}
	rc = ibv_post_recv(rs->qp, &wr, &bad);
	return rc ? rs_fail(rc) : 0;
}

int rs_ep_make(struct rs_sock *rs)
{
	uint32_t i;

	if (fit_sizes(rs) || make_queues(rs) || make_qp(rs) || make_memory(rs))
		return -1;
	rs->sq_free = rs->size.sq - RS_CTRL;
	rs->ctrl_free = RS_CTRL;
	rs->s_free = rs->size.smem;
	rs->r_lent = rs->size.rmem / 2;
	rs->r_freed = rs->size.rmem / 2;
	rs->r_lend = rs->size.rmem / 2;
	rs->taken_next = (uint16_t)(rs->size.rq / 2);
	for (i = 0; i < rs->size.rq + RS_SPARE; i++)
		if (rs_ep_post_recv(rs))
			return -1;
	return 0;
}

void rs_ep_free(struct rs_sock *rs)
{
	if (rs->qp)
		rdma_destroy_qp(rs->id);
	rs->qp = NULL;
	if (rs->t_mr)
		ibv_dereg_mr(rs->t_mr);
	if (rs->r_mr)
		ibv_dereg_mr(rs->r_mr);
	if (rs->s_mr)
		ibv_dereg_mr(rs->s_mr);
	if (rs->cq) {
		if (rs->unacked)
			ibv_ack_cq_events(rs->cq, rs->unacked);
		ibv_destroy_cq(rs->cq);
	}
	if (rs->cq_chan)
		ibv_destroy_comp_channel(rs->cq_chan);
	free(rs->target);
	free(rs->rbuf);
	free(rs->sbuf);
}

void rs_ep_describe(struct rs_sock *rs, struct rsp_conn *ret)
{
	*ret = (struct rsp_conn){
		.big_endian = rsp_host_big(),
		.has_iomap = true,
		.credits = (uint16_t)rs->size.rq,
		.iomap_entries = rs->size.iomap,
		.sgl = { (uintptr_t)rs->target, rs->t_mr->rkey, RSP_SGL_ENTRIES },
		.data = { (uintptr_t)rs->rbuf, rs->r_mr->rkey, rs->size.rmem / 2 },
	};
}

void rs_ep_learn(struct rs_sock *rs, const struct rsp_conn *peer)
{
	rs->peer_sgl = peer->sgl;
	rs->peer_slot = 1;
	rs->swap = peer->big_endian != rsp_host_big();
	rs->peer_iomap.addr = peer->sgl.addr + (uint64_t)peer->sgl.len * RSP_SGE_LEN;
	rs->peer_iomap.key = peer->sgl.key;
	rs->peer_iomap.len = peer->iomap_entries;
	rs->room = peer->data;
	rs->room_slot = 1;
	rs->peer_credits = peer->credits;
	rs->sent_max = peer->credits;
}

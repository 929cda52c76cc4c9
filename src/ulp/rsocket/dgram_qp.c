/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A UD queue pair with fixed slots of 2 KiB for receives and sends. A datagram that is malformed, or
 * that arrives while the queue of unread datagrams is full, is dropped and its slot posted again.
 */
#include "ulp/rsocket/dgram_qp.h"
#include "ulp/rsocket/ep.h"
#include "ulp/rsocket/iov.h"
#include "ulp/rsocket/post.h"
#include "ulp/rsocket/sock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#define GRH_ROOM 64u                    /* 40 are used; slots stay aligned */

uint8_t *rs_dgram_qp_slot(struct rs_dgram_qp *qp, uint32_t slot)
{
	return qp->buf + GRH_ROOM + (size_t)slot * RS_DGRAM_MAX;
}

static int make_buf(struct rs_dgram_qp *qp)
{
	struct rs_dgram *dg = qp->dg;
	void *p;

	qp->buf_len = GRH_ROOM + (size_t)(dg->nr_recv + dg->nr_send) * RS_DGRAM_MAX;
	qp->buf_len = (qp->buf_len + 4095) & ~(size_t)4095;
	p = mmap(NULL, qp->buf_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	qp->buf = p;
	qp->mr = ibv_reg_mr(qp->id->pd, p, qp->buf_len, IBV_ACCESS_LOCAL_WRITE);
	if (!qp->mr)
		return -ENOMEM;
	qp->free_send = calloc(dg->nr_send, sizeof(*qp->free_send));
	if (!qp->free_send)
		return -ENOMEM;
	for (uint32_t i = 0; i < dg->nr_send; i++)
		qp->free_send[qp->nr_free++] = dg->nr_recv + i;
	return 0;
}

static int make_qp(struct rs_dgram_qp *qp, uint32_t inl)
{
	struct rs_dgram *dg = qp->dg;
	struct ibv_qp_init_attr attr = {
		.send_cq = qp->cq, .recv_cq = qp->cq, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = dg->nr_send, .max_recv_wr = dg->nr_recv,
			 .max_send_sge = 1, .max_recv_sge = 2, .max_inline_data = inl },
	};

	while (rdma_create_qp(qp->id, NULL, &attr)) {
		if (!attr.cap.max_inline_data || (errno != EINVAL && errno != ENOMEM))
			return -errno;
		attr.cap.max_inline_data /= 2;
	}
	qp->inl = attr.cap.max_inline_data;
	return 0;
}

/* A datagram is one packet. */
static int ask_size(struct rs_dgram_qp *qp)
{
	struct ibv_port_attr attr;

	if (ibv_query_port(qp->id->verbs, qp->id->port_num, &attr))
		return -EIO;
	qp->payload_max = 128u << attr.active_mtu;
	if (qp->payload_max > RS_DGRAM_MAX)
		qp->payload_max = RS_DGRAM_MAX;
	return 0;
}

int rs_dgram_qp_recv(struct rs_dgram_qp *qp, uint32_t slot)
{
	struct ibv_sge sg[2] = {
		{ (uintptr_t)qp->buf, sizeof(struct ibv_grh), qp->mr->lkey },
		{ (uintptr_t)rs_dgram_qp_slot(qp, slot), RS_DGRAM_MAX, qp->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = RS_WR_RECV | slot, .sg_list = sg, .num_sge = 2 }, *bad;

	return -ibv_post_recv(qp->id->qp, &wr, &bad);
}

static int build(struct rs_dgram_qp *qp, uint32_t inl)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = qp };
	int r;

	if (rdma_create_id(NULL, &qp->id, qp, RDMA_PS_UDP))
		return -errno;
	if (rdma_bind_addr(qp->id, (struct sockaddr *)&qp->local))
		return -errno;
	r = ask_size(qp);
	if (!r)
		r = rs_ep_cq(qp->id, qp->dg->nr_send + qp->dg->nr_recv, &qp->comp, &qp->cq);
	if (!r)
		r = make_qp(qp, inl);
	if (!r)
		r = make_buf(qp);
	for (uint32_t i = 0; !r && i < qp->dg->nr_recv; i++)
		r = rs_dgram_qp_recv(qp, i);
	if (!r && epoll_ctl(qp->dg->epfd, EPOLL_CTL_ADD, qp->comp->fd, &ev))
		r = -errno;
	return r;
}

void rs_dgram_qp_free(struct rs_dgram_qp *qp)
{
	if (qp->id && qp->id->qp)
		rdma_destroy_qp(qp->id);
	if (qp->mr)
		ibv_dereg_mr(qp->mr);
	if (qp->buf)
		munmap(qp->buf, qp->buf_len);
	if (qp->cq)
		ibv_destroy_cq(qp->cq);
	if (qp->comp) {
		epoll_ctl(qp->dg->epfd, EPOLL_CTL_DEL, qp->comp->fd, NULL);
		ibv_destroy_comp_channel(qp->comp);
	}
	if (qp->id)
		rdma_destroy_id(qp->id);
	free(qp->free_send);
	free(qp);
}

int rs_dgram_qp_get(struct rs_sock *s, const struct sockaddr *local, struct rs_dgram_qp **ret)
{
	struct rs_dgram_qp *qp;
	int r;

	for (qp = s->dg->qps; qp; qp = qp->next) {
		if (rs_addr_equal((struct sockaddr *)&qp->local, local)) {
			*ret = qp;
			return 0;
		}
	}
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->dg = s->dg;
	memcpy(&qp->local, local, rs_addr_len(local));
	r = build(qp, s->o.inl);
	if (r) {
		rs_dgram_qp_free(qp);
		return r;
	}
	qp->next = s->dg->qps;
	s->dg->qps = qp;
	*ret = qp;
	return 0;
}

static bool received(struct rs_dgram_qp *qp, const struct ibv_wc *wc)
{
	struct rs_dgram_msg msg = { .qp = qp, .slot = (uint32_t)wc->wr_id };
	uint32_t len;
	int hdr;

	if (wc->status != IBV_WC_SUCCESS || wc->byte_len < sizeof(struct ibv_grh))
		return false;
	len = wc->byte_len - (uint32_t)sizeof(struct ibv_grh);
	hdr = rs_dgram_get(&msg.from, rs_dgram_qp_slot(qp, msg.slot), len);
	if (hdr < 0)
		return false;
	msg.skip = (uint32_t)hdr;
	msg.length = len - msg.skip;
	return rs_dgram_push(qp->dg, &msg);
}

void rs_dgram_qp_poll(struct rs_dgram_qp *qp)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(qp->cq, 1, &wc) > 0) {
		uint32_t slot = (uint32_t)wc.wr_id;

		if ((wc.wr_id & RS_WR_KIND) != RS_WR_RECV)
			qp->free_send[qp->nr_free++] = slot;
		else if (!received(qp, &wc))
			rs_dgram_qp_recv(qp, slot);
	}
}

int rs_dgram_qp_send(struct rs_dgram_qp *qp, const struct rs_dgram_dest *dest,
		     const struct iovec *iov, size_t len)
{
	struct rs_cursor cur = { .iov = iov };
	uint32_t slot = qp->free_send[qp->nr_free - 1];
	uint8_t *buf = rs_dgram_qp_slot(qp, slot);
	size_t hdr = rs_dgram_put(buf, (const struct sockaddr *)&qp->local);
	struct ibv_sge sg = { (uintptr_t)buf, (uint32_t)(hdr + len), qp->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = RS_WR_DATA | slot, .sg_list = &sg, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	int r;

	if (hdr + len > qp->payload_max)
		return -EMSGSIZE;
	rs_cursor_out(&cur, buf + hdr, len);
	wr.send_flags = sg.length <= qp->inl ? IBV_SEND_INLINE : 0;
	wr.wr.ud.ah = dest->ah;
	wr.wr.ud.remote_qpn = dest->qpn;
	wr.wr.ud.remote_qkey = RDMA_UDP_QKEY;
	r = ibv_post_send(qp->id->qp, &wr, &bad);
	if (!r)
		qp->nr_free--;
	return -r;
}

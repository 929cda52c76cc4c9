/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/chan.h"

#include <errno.h>
#include <string.h>

#define POLL_BATCH 32

static uint64_t work_id(uint32_t kind, uint32_t index)
{
	return (uint64_t)kind << 32 | index;
}

static int make_qp(struct srp_chan *ch)
{
	struct ibv_qp_init_attr attr = { .send_cq = ch->rdma.cq, .recv_cq = ch->rdma.cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = ch->sizes.sq_depth, .max_recv_wr = ch->sizes.nr_recv, .max_send_sge = 1, .max_recv_sge = 1 } };

	if (rdma_create_qp(ch->rdma.id, ch->rdma.pd, &attr))
		return ulp_end(&ch->rdma, errno, "no queue pair can be made (%s)", strerror(errno));
	ch->room = ch->sizes.sq_depth;
	return 0;
}

int srp_chan_make(struct srp_chan *ch, const struct srp_chan_sizes *sizes)
{
	int r;

	ch->sizes = *sizes;
	r = ulp_make_queues(&ch->rdma, sizes->sq_depth + sizes->nr_recv);
	if (!r)
		r = ulp_make_memory(&ch->rdma, (size_t)sizes->nr_recv * sizes->recv_size + (size_t)sizes->nr_send * sizes->send_size);
	if (!r)
		r = make_qp(ch);
	for (uint32_t i = 0; i < sizes->nr_recv && !r; i++)
		r = srp_chan_post_recv(ch, i);
	return r;
}

void srp_chan_end(struct srp_chan *ch)
{
	if (ch->established)
		rdma_disconnect(ch->rdma.id);
	ulp_destroy_qp(&ch->rdma);
}

void srp_chan_free(struct srp_chan *ch)
{
	ulp_destroy(&ch->rdma);
}

uint8_t *srp_chan_recv_at(const struct srp_chan *ch, uint32_t i)
{
	return ch->rdma.memory + (size_t)i * ch->sizes.recv_size;
}

uint8_t *srp_chan_send_at(const struct srp_chan *ch, uint32_t i)
{
	return ch->rdma.memory + (size_t)ch->sizes.nr_recv * ch->sizes.recv_size + (size_t)i * ch->sizes.send_size;
}

int srp_chan_post_recv(struct srp_chan *ch, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)srp_chan_recv_at(ch, i), ch->sizes.recv_size, ch->rdma.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = work_id(SRP_WORK_RECEIVE, i), .sg_list = &sge, .num_sge = 1 }, *bad;
	int r = ibv_post_recv(ch->rdma.id->qp, &wr, &bad);

	return r ? ulp_end(&ch->rdma, r, "a receive cannot be posted (%s)", strerror(r)) : 0;
}

static int post(struct srp_chan *ch, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int r = ch->room ? ibv_post_send(ch->rdma.id->qp, wr, &bad) : ENOBUFS;

	if (r)
		return ulp_end(&ch->rdma, r, "a work request cannot be posted (%s)", strerror(r));
	ch->room--;
	return 0;
}

int srp_chan_send(struct srp_chan *ch, uint32_t i, size_t len, uint32_t kind)
{
	struct ibv_sge sge = { (uintptr_t)srp_chan_send_at(ch, i), (uint32_t)len, ch->rdma.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = work_id(kind, i), .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };

	return post(ch, &wr);
}

int srp_chan_rdma(struct srp_chan *ch, enum ibv_wr_opcode opcode, const struct srp_memory *remote, uint8_t *local, uint32_t lkey,
		  uint32_t kind, uint32_t index)
{
	struct ibv_sge sge = { (uintptr_t)local, remote->length, lkey };
	struct ibv_send_wr wr = { .wr_id = work_id(kind, index), .opcode = opcode, .sg_list = &sge, .num_sge = 1 };

	wr.wr.rdma.remote_addr = remote->address;
	wr.wr.rdma.rkey = remote->key;
	return post(ch, &wr);
}

static int completed(struct srp_chan *ch, const struct ibv_wc *wc, srp_done_fn *done)
{
	struct srp_done d = { (uint32_t)(wc->wr_id >> 32), (uint32_t)wc->wr_id, wc->byte_len };

	if (wc->status != IBV_WC_SUCCESS)
		return ulp_failed(&ch->rdma, wc);
	ch->room += d.kind != SRP_WORK_RECEIVE;
	return done(ch, &d);
}

static int poll_all(struct srp_chan *ch, srp_done_fn *done)
{
	struct ibv_wc wc[POLL_BATCH];
	int n, r = 0;

	do {
		n = ibv_poll_cq(ch->rdma.cq, POLL_BATCH, wc);
		for (int i = 0; i < n && !r; i++)
			r = completed(ch, &wc[i], done);
	} while (n == POLL_BATCH && !r);
	return n < 0 ? ulp_end(&ch->rdma, EIO, "the completion queue cannot be polled") : r;
}

int srp_chan_progress(struct srp_chan *ch, srp_done_fn *done)
{
	struct ibv_cq *cq;
	void *context;
	int r = ch->rdma.error ? -ch->rdma.error : poll_all(ch, done);

	while (!r && !ibv_get_cq_event(ch->rdma.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	if (!r && ibv_req_notify_cq(ch->rdma.cq, 0))
		r = ulp_end(&ch->rdma, EIO, "completions cannot be announced");
	/* What came before the request is announced by nothing. */
	if (!r)
		r = poll_all(ch, done);
	if (!r)
		r = ulp_take_events(&ch->rdma);
	return r ? r : ch->rdma.error ? -ch->rdma.error : 0;
}

void srp_chan_fds(const struct srp_chan *ch, struct pollfd fds[SRP_CHAN_FDS])
{
	fds[0] = (struct pollfd){ ch->rdma.channel->fd, POLLIN, 0 };
	fds[1] = (struct pollfd){ ch->rdma.events->fd, POLLIN, 0 };
}

int srp_chan_end_rule(struct srp_chan *ch, enum srp_verdict v)
{
	return ulp_end(&ch->rdma, EPROTO, "the peer breaks the protocol: %s", srp_rules[v]);
}

int srp_chan_read_access(const struct srp_chan *ch)
{
	bool iwarp = ch->rdma.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;

	return IBV_ACCESS_LOCAL_WRITE | (iwarp ? IBV_ACCESS_REMOTE_WRITE : 0);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connected stream has a completion queue and channel, a queue pair, a send ring, a receive ring
 * and the target list that the peer writes. The options of the socket bound their sizes; they are
 * created once, and nothing is allocated while data moves. Buffers are whole pages, so that fork-safe
 * registration (MADV_DONTFORK) touches no other memory.
 */
#include "ulp/rsocket/ep.h"
#include "ulp/rsocket/iomap.h"
#include "ulp/rsocket/post.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { QP_MIN = 16, QP_MAX = 0xfffe };

static uint32_t clamp(uint32_t v, uint32_t low, uint32_t high)
{
	return v > high ? high : v < low ? low : v;
}

/* Fits the queue sizes to the device's limits. */
static int fit(struct rs_sock *s)
{
	struct ibv_device_attr attr;
	uint32_t max;

	if (ibv_query_device(s->id->verbs, &attr))
		return -EIO;
	max = attr.max_qp_wr > 0 ? (uint32_t)attr.max_qp_wr : QP_MIN;
	max = clamp(max, QP_MIN, QP_MAX);
	s->o.sq_size = clamp(s->o.sq_size, QP_MIN, max);
	s->o.rq_size = clamp(s->o.rq_size, QP_MIN, max);
	s->msg_send = s->id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	if (s->msg_send && s->o.inl < sizeof(uint32_t))
		s->o.inl = sizeof(uint32_t);
	return 0;
}

int rs_ep_cq(struct rdma_cm_id *id, unsigned entries, struct ibv_comp_channel **ret_comp,
	     struct ibv_cq **ret_cq)
{
	struct ibv_comp_channel *comp = ibv_create_comp_channel(id->verbs);
	struct ibv_cq *cq;
	int err;

	if (!comp)
		return -errno;
	if (!fcntl(comp->fd, F_SETFL, O_NONBLOCK)) {
		cq = ibv_create_cq(id->verbs, (int)entries, NULL, comp, 0);
		if (cq) {
			*ret_comp = comp;
			*ret_cq = cq;
			return 0;
		}
	}
	err = errno ? errno : ENOMEM;
	ibv_destroy_comp_channel(comp);
	return -err;
}

static int make_qp(struct rs_sock *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.qp_context = s,
		.cap = { .max_send_wr = s->o.sq_size, .max_recv_wr = s->o.rq_size,
			 .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = s->o.inl },
	};

	/* Inline data is optional: halve it until the device accepts. */
	while (rdma_create_qp(s->id, NULL, &attr)) {
		if (!attr.cap.max_inline_data || (errno != EINVAL && errno != ENOMEM))
			return -errno;
		attr.cap.max_inline_data /= 2;
	}
	s->inl = attr.cap.max_inline_data;
	return s->msg_send && s->inl < sizeof(uint32_t) ? -ENOTSUP : 0;
}

static void *pages(size_t *len)
{
	void *p;

	*len = (*len + 4095) & ~(size_t)4095;
	p = mmap(NULL, *len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static struct ibv_mr *registered(struct rs_sock *s, void **ret, size_t *len, int access)
{
	*ret = pages(len);
	return *ret ? ibv_reg_mr(s->id->pd, *ret, *len, IBV_ACCESS_LOCAL_WRITE | access) : NULL;
}

/* The entries behind the send ring hold grants where inline data is too small for them. */
static int make_buffers(struct rs_sock *s)
{
	uint32_t *msgs = calloc(s->o.rq_size + 1, sizeof(*msgs));

	if (!msgs)
		return -ENOMEM;
	rs_flow_init(&s->flow, s->o.sq_size, (uint16_t)s->o.rq_size, s->o.sbuf_size,
		     s->o.rbuf_size, msgs, s->msg_send);
	s->alloc_s = s->o.sbuf_size + RS_CTRL_SLOTS * sizeof(struct rs_sge);
	s->smr = registered(s, (void **)&s->sbuf, &s->alloc_s, 0);
	s->alloc_r = s->o.rbuf_size + s->o.rq_size * sizeof(uint32_t);
	s->rmr = registered(s, (void **)&s->rbuf, &s->alloc_r, IBV_ACCESS_REMOTE_WRITE);
	s->alloc_t = RS_SGL_SIZE * sizeof(struct rs_sge) + s->o.iomap_size * sizeof(struct rs_iomap);
	s->tmr = registered(s, (void **)&s->target_list, &s->alloc_t, IBV_ACCESS_REMOTE_WRITE);
	s->iomap = calloc(s->o.iomap_size + 1u, sizeof(*s->iomap));
	if (!s->smr || !s->rmr || !s->tmr || !s->iomap)
		return -ENOMEM;
	s->recv_msgs = (uint32_t *)(void *)(s->rbuf + s->o.rbuf_size);
	s->iomap_in = (struct rs_iomap *)(s->target_list + RS_SGL_SIZE);
	return 0;
}

static int post_all(struct rs_sock *s)
{
	uint32_t slots[64];

	for (uint32_t done = 0, n; done < s->o.rq_size; done += n) {
		int r;

		for (n = 0; n < 64 && done + n < s->o.rq_size; n++)
			slots[n] = done + n;
		r = rs_post_recvs(s, slots, n);
		if (r)
			return r;
	}
	return 0;
}

int rs_ep_create(struct rs_sock *s)
{
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	int r = fit(s);

	if (!r)
		r = rs_ep_cq(s->id, s->o.sq_size + s->o.rq_size, &comp, &cq);
	if (r)
		return r;
	pthread_mutex_lock(&s->c);
	s->comp = comp;
	s->cq = cq;
	r = make_qp(s);
	if (!r)
		r = make_buffers(s);
	if (!r)
		r = post_all(s);
	pthread_mutex_unlock(&s->c);
	return r;
}

static void end_buffer(struct ibv_mr *mr, void *p, size_t len)
{
	if (mr)
		ibv_dereg_mr(mr);
	if (p)
		munmap(p, len);
}

void rs_ep_free(struct rs_sock *s)
{
	rs_maps_free(s);
	if (s->id && s->id->qp)
		rdma_destroy_qp(s->id);
	end_buffer(s->smr, s->sbuf, s->alloc_s);
	end_buffer(s->rmr, s->rbuf, s->alloc_r);
	end_buffer(s->tmr, s->target_list, s->alloc_t);
	if (s->cq) {
		if (s->unacked)
			ibv_ack_cq_events(s->cq, s->unacked);
		ibv_destroy_cq(s->cq);
	}
	if (s->comp)
		ibv_destroy_comp_channel(s->comp);
	free(s->flow.msgs);
	free(s->iomap);
	s->smr = s->rmr = s->tmr = NULL;
	s->sbuf = s->rbuf = NULL;
	s->target_list = NULL;
	s->cq = NULL;
	s->comp = NULL;
	s->flow.msgs = NULL;
	s->iomap = NULL;
}

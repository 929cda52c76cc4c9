/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An XRC domain shared by processes: host 0 sends, host 1 has the target QP, hosts 2 and 3 are
 * siblings of it. Each of the three has a receive queue in the domain of one file.
 */
#ifndef TESTS_SIM_XRC_WORLD_H
#define TESTS_SIM_XRC_WORLD_H

#include "engine/mr.h"
#include "engine/srq.h"
#include "engine/xrcd.h"
#include "support/check.h"
#include "support/localnet.h"
#include "support/tape.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define XW_BUF (1u << 20)
#define XW_DEPTH 32

struct xw_queue {
	struct sim_host *h;
	struct eng_xrcd *xrcd;
	struct eng_cq *cq;
	struct eng_srq *srq;
	uint8_t *mem; /* XW_BUF */
	struct eng_mkey *mr;
};

struct xw {
	struct sim_world w;
	struct sim_end a, t; /* initiator and target */
	struct xw_queue q[4]; /* by host; 0 is unused */
	int file;
};

static struct xw x;

static inline int xw_file(void)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static inline void xw_queue_open(struct xw_queue *q, struct sim_host *h, int fd, uint32_t cqe)
{
	struct eng_srq_spec s = { .pd = h->pd, .attr = { .max_wr = 256, .max_sge = 2 } };

	q->h = h;
	CHECK(eng_xrcd_open(&h->dev, fd, O_CREAT, &q->xrcd) == 0);
	CHECK(eng_cq_create(h->ctx, (int)cqe, NULL, false, &q->cq) == 0);
	s.cq = q->cq;
	s.xrcd = q->xrcd;
	CHECK(eng_srq_create(h->ctx, &s, &q->srq) == 0);
	q->mem = mmap(NULL, XW_BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(q->mem != MAP_FAILED);
	q->mr = sim_reg(h, q->mem, XW_BUF);
}

static inline void xw_srq_gone(struct xw_queue *q)
{
	CHECK(eng_srq_destroy(q->srq) == 0);
	CHECK(eng_cq_destroy(q->cq) == 0);
	q->srq = NULL;
	q->cq = NULL;
}

static inline void xw_queue_close(struct xw_queue *q)
{
	if (q->srq)
		xw_srq_gone(q);
	CHECK(eng_xrcd_close(q->xrcd) == 0);
	CHECK(eng_mr_dereg(q->mr) == 0);
	munmap(q->mem, XW_BUF);
}

/* The target's domain is that of `file`, -1: private. */
static inline void xw_connect(const struct sim_qp_options *more, int file)
{
	struct sim_qp_options o = *more;

	o.type = IBV_QPT_XRC_SEND;
	o.depth = o.depth ? o.depth : 256;
	sim_end_create(&x.a, &x.w.host[0], &o);
	o.type = IBV_QPT_XRC_RECV;
	xw_queue_open(&x.q[1], &x.w.host[1], file, 512);
	o.xrcd = x.q[1].xrcd;
	sim_end_create(&x.t, &x.w.host[1], &o);
	sim_end_connect(&x.a, &x.t, 5, 0xfffff0, &o);
	sim_end_connect(&x.t, &x.a, 0xfffff0, 5, &o);
	sim_end_memory(&x.a, 4 * XW_BUF);
}

/* apart: the sender is another host, so packets of the path MTU come in. */
static inline void xw_open_with(bool apart, const struct sim_options *net,
				const struct sim_qp_options *o, int target_file)
{
	struct sim_options so = *net;

	memset(&x, 0, sizeof(x));
	so.hosts = 4;
	so.messages = so.slots = true;
	so.seed = so.seed ? so.seed : 11;
	sim_world_open(&x.w, &so);
	x.w.local->apart = apart;
	x.file = xw_file();
	xw_connect(o, target_file ? target_file : x.file);
	xw_queue_open(&x.q[2], &x.w.host[2], x.file, 512);
	xw_queue_open(&x.q[3], &x.w.host[3], x.file, 512);
}

static inline void xw_open(bool apart)
{
	static const struct sim_options net;
	static const struct sim_qp_options o;

	xw_open_with(apart, &net, &o, 0);
}

static inline void xw_close(void)
{
	sim_end_close(&x.a);
	sim_end_close(&x.t);
	for (int i = 1; i < 4; i++)
		xw_queue_close(&x.q[i]);
	close(x.file);
	sim_world_close(&x.w);
}

static inline void xw_recv(int i, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)x.q[i].mem + off, len, x.q[i].mr->key };
	struct ibv_recv_wr *bad, wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };

	CHECK(eng_srq_post(x.q[i].srq, &wr, &bad) == 0);
}

static inline void xw_send_to(uint32_t srqn, uint64_t id, enum ibv_wr_opcode code, uint32_t off,
			      uint32_t len, int i)
{
	CHECK(sim_post(&x.a, &(struct sim_op){ .code = code, .id = id, .at = x.a.mem + off, .len = len,
					       .srqn = srqn, .imm = 600 + (uint32_t)id,
					       .remote = x.q[i].mem,
					       .rkey = x.q[i].mr->key }) == 0);
}

static inline void xw_send(int i, uint64_t id, uint32_t off, uint32_t len)
{
	xw_send_to(x.q[i].srq->number, id, IBV_WR_SEND, off, len, i);
}

/* A completion at the owner names the target. */
static inline struct ibv_wc xw_got(int i, enum ibv_wc_status status)
{
	struct ibv_wc wc = sim_wc_is(&x.w, x.q[i].cq, status);

	CHECK(wc.qp_num == x.t.qp->qpn);
	return wc;
}

static inline enum ibv_qp_state xw_state(struct sim_end *e)
{
	return eng_qp_state(e->qp);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Extended reliable connections: receive queues by number, domains, shared targets. */
#include "xrc.h"

#include <string.h>
#include <unistd.h>

/* a: initiator; b: target with two receive queues in domain x. */
struct xrc {
	struct cf_side a, b;
	struct ibv_xrcd *x;
	struct ibv_srq *srq[2];
	uint32_t num[2];
};

static void connect(struct xrc *t)
{
	struct cf_addr pa = cf_addr_of(&t->a), pb = cf_addr_of(&t->b);

	cf_up(&t->a, IBV_QPS_RTS, &pb);
	cf_up(&t->b, IBV_QPS_RTS, &pa);
}

static void setup_in(struct xrc *t, int file)
{
	struct cf_opt o = cf_opt();

	cf_side(&t->a, &o);
	cf_side(&t->b, &o);
	t->a.o.type = IBV_QPT_XRC_SEND;
	t->b.o.type = IBV_QPT_XRC_RECV;
	t->x = domain(t->b.ctx, file, O_CREAT);
	t->a.qp = xrc_qp(&t->a, IBV_QPT_XRC_SEND, NULL);
	t->b.qp = xrc_qp(&t->b, IBV_QPT_XRC_RECV, t->x);
	for (int i = 0; i < 2; i++)
		t->srq[i] = xrc_srq(&t->b, t->x, &t->num[i]);
	connect(t);
}

static void setup(struct xrc *t)
{
	setup_in(t, -1);
}

static void post_on(struct xrc *t, int i, uint64_t id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)t->b.buf + off, len, t->b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	CF_OK(ibv_post_srq_recv(t->srq[i], &wr, &bad));
}

static void by_number(void)
{
	struct xrc t;

	setup(&t);
	CF_TRUE(t.num[0] != t.num[1]);
	for (int i = 0; i < 6; i++) {
		uint32_t n = 100 + 3000 * i;

		post_on(&t, i & 1, i, 0, n);
		cf_fill(t.a.buf, n, i);
		cf_post(&t.a, .op = i % 3 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM, .id = 50 + i, .len = n,
			.srqn = t.num[i & 1], .imm = 6);
		cf_wc(t.a.scq, 50 + i, SUCCESS);
		CF_EQ(cf_wc(t.b.rcq, i, SUCCESS).byte_len, n);
		cf_verify(t.b.buf, n, i);
	}
	cf_post(&t.a, .op = IBV_WR_RDMA_WRITE, .id = 70, .len = 10000, .to = &t.b, .roff = 20000,
		.srqn = t.num[0]);
	cf_post(&t.a, .op = IBV_WR_RDMA_READ, .id = 71, .off = 30000, .len = 10000, .to = &t.b,
		.roff = 20000, .srqn = t.num[0]);
	cf_wc(t.a.scq, 70, SUCCESS);
	cf_wc(t.a.scq, 71, SUCCESS);
	CF_TRUE(!memcmp(t.a.buf + 30000, t.a.buf, 10000));
	/* Empty: refused for now. */
	cf_post(&t.a, .op = IBV_WR_SEND, .id = 72, .len = 64, .srqn = t.num[1]);
	cf_quiet(t.a.scq);
	post_on(&t, 1, 80, 0, 64);
	cf_wc(t.a.scq, 72, SUCCESS);
	cf_wc(t.b.rcq, 80, SUCCESS);
}

static void wrong_number(void)
{
	struct xrc t;
	struct ibv_wc wc;
	uint32_t nobodys;

	setup(&t);
	nobodys = t.num[0] ^ 0x7f00;
	if (nobodys == t.num[1])
		nobodys ^= 0x100;
	cf_post(&t.a, .op = IBV_WR_SEND, .id = 1, .len = 64, .srqn = nobodys);
	CF_TRUE(cf_poll(t.a.scq, &wc, CF_WAIT_MS));
	CF_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
	cf_await_state(t.b.qp, IBV_QPS_ERR);
}

static void other_domain(void)
{
	struct xrc t;
	uint32_t number;

	setup(&t);
	xrc_srq(&t.b, domain(t.b.ctx, -1, O_CREAT), &number);
	cf_post(&t.a, .op = IBV_WR_SEND, .id = 1, .len = 64, .srqn = number);
	cf_wc(t.a.scq, 1, REM_INV_REQ_ERR);
}

static void misuse(void)
{
	struct xrc t;
	struct ibv_qp_init_attr init;

	setup(&t);
	init = (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = t.b.scq,
					  .recv_cq = t.b.rcq, .srq = t.srq[0], .cap = { 1, 0, 1, 0, 0 } };
	CF_NULL(ibv_create_qp(t.b.pd, &init), EINVAL);
	CF_ERR(cf_post_try(&t.b, &(struct cf_wr){ .op = IBV_WR_SEND, .len = 8 }), EINVAL);
	CF_ERR(cf_recv_try(&t.a, 1, 0, 8, 0), EINVAL);
	CF_ERR(ibv_close_xrcd(t.x), EBUSY);
}

static void domains(void)
{
	struct ibv_context *ctx = cf_open();
	int fd = temp_file(), other = temp_file();
	struct ibv_xrcd *x, *again;

	CF_TRUE(!domain_try(ctx, fd, 0));
	CF_EQ(errno, EAGAIN);
	x = domain_try(ctx, fd, O_CREAT);
	CF_TRUE(x);
	CF_TRUE(!domain_try(ctx, fd, O_CREAT | O_EXCL));
	CF_EQ(errno, EINVAL);
	again = domain_try(ctx, fd, 0);
	CF_TRUE(again);
	CF_TRUE(!domain_try(ctx, other, 0));
	CF_TRUE(!domain_try(ctx, 9999, O_CREAT));
	CF_EQ(errno, EBADF);
	CF_OK(ibv_close_xrcd(x));
	CF_OK(ibv_close_xrcd(again));
	CF_TRUE(!domain_try(ctx, fd, 0));
	CF_EQ(errno, EAGAIN);
	close(fd);
	close(other);
}

static struct ibv_qp *reopen(struct ibv_context *ctx, struct ibv_xrcd *x, uint32_t qpn)
{
	return ibv_open_qp(ctx, &(struct ibv_qp_open_attr){
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn, .xrcd = x, .qp_type = IBV_QPT_XRC_RECV });
}

/* The target lives as long as one handle does. */
static void handles(void)
{
	struct xrc t;
	struct ibv_qp *second;
	uint32_t qpn;

	setup(&t);
	qpn = t.b.qp->qp_num;
	CF_NULL(reopen(t.b.ctx, t.x, qpn ^ 0x100), EINVAL);
	second = reopen(t.b.ctx, t.x, qpn);
	CF_TRUE(second);
	CF_EQ(second->qp_num, qpn);
	cf_drop(t.b.qp);
	post_on(&t, 0, 1, 0, 64);
	cf_post(&t.a, .op = IBV_WR_SEND, .id = 2, .len = 64, .srqn = t.num[0]);
	cf_wc(t.a.scq, 2, SUCCESS);
	cf_wc(t.b.rcq, 1, SUCCESS);
	CF_EQ(cf_state(second), IBV_QPS_RTS);
	CF_OK(ibv_destroy_qp(second));
	CF_NULL(reopen(t.b.ctx, t.x, qpn), EINVAL);
}

/* Every handle gets the events, on its own context. */
static void told(void)
{
	struct ibv_qp *here, *there, *gone;
	struct cf_side c;
	struct cf_opt o = cf_opt();
	struct xrc t;
	int fd = temp_file();

	setup_in(&t, fd);
	cf_side(&c, &o);
	here = reopen(t.b.ctx, t.x, t.b.qp->qp_num);
	gone = reopen(t.b.ctx, t.x, t.b.qp->qp_num);
	there = reopen(c.ctx, domain(c.ctx, fd, O_CREAT), t.b.qp->qp_num);
	CF_TRUE(here && there && gone);
	CF_OK(ibv_destroy_qp(gone));
	cf_post(&t.a, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .raddr = 4096, .rkey = 0x77,
		.srqn = t.num[0]);
	cf_wc(t.a.scq, 1, REM_ACCESS_ERR);
	CF_TRUE(cf_event(t.b.ctx, QP_ACCESS_ERR).element.qp == t.b.qp);
	CF_TRUE(cf_event(t.b.ctx, QP_ACCESS_ERR).element.qp == here);
	CF_TRUE(cf_event(c.ctx, QP_ACCESS_ERR).element.qp == there);
	cf_no_event(t.b.ctx);
	cf_no_event(c.ctx);
	CF_OK(ibv_destroy_qp(here));
	CF_OK(ibv_destroy_qp(there));
	close(fd);
}

/* --- two processes share a domain by its file --- */

static int shared_file;

/* A target is its process's: said at the call, so that no program is led to believe otherwise. */
static void opener(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_xrcd *x;
	uint32_t mine = 0, qpn;

	cf_side(&s, &o);
	x = domain(s.ctx, shared_file, O_CREAT);
	if (p->first)
		mine = xrc_qp(&s, IBV_QPT_XRC_RECV, x)->qp_num;
	cf_swap(p, &mine, &qpn, 4);
	if (!p->first) {
		CF_NULL(reopen(s.ctx, x, qpn), EOPNOTSUPP); /* the process has no queue yet */
		xrc_srq(&s, x, &mine);
		CF_NULL(reopen(s.ctx, x, qpn), EOPNOTSUPP);
		CF_NULL(reopen(s.ctx, domain(s.ctx, -1, O_CREAT), qpn), EINVAL);
	}
	cf_meet(p);
}

static void across_processes(void)
{
	shared_file = temp_file();
	cf_processes(opener, opener);
}

const struct cf_check cf_checks[] = {
	{ "68", "receive queues by number", CF_XRC, by_number },
	{ "68", "a number without an SRQ", CF_XRC, wrong_number },
	{ "68", "a receive queue of another domain", CF_XRC, other_domain },
	{ "68", "uses that XRC objects refuse", CF_XRC, misuse },
	{ "68", "a target lives with its last handle", CF_XRC, handles },
	{ "68", "events of a target go to each handle", CF_XRC, told },
	{ "68", "a target of another process is refused", CF_XRC, across_processes },
	{ "69", "domains by file: create, exclusive, missing", CF_XRC, domains },
	{ 0 },
};

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/complete.h"
#include "engine/pd.h"
#include "engine/pending.h"
#include "engine/plain.h"
#include "engine/qp_state.h"
#include "fake.h"
#include "support/engine.h"

#include "engine/qp_attr.h"

static struct fake *of(struct eng_dev *dev)
{
	return dev->device;
}

static int progress(struct eng_dev *dev)
{
	struct eng_qp *qp;
	int n = 0;

	eng_dev_held(dev);
	if (of(dev)->answered && --of(dev)->answer_in == 0) {
		eng_send_done(of(dev)->answered, ENG_OK);
		of(dev)->answered = NULL;
	}
	for (int i = 0; i < 3 && of(dev)->fed; i++)
		eng_cq_push(of(dev)->fed, &(struct eng_cqe){ .wr_id = of(dev)->feed++ });
	while ((qp = eng_dev_pop_pending(dev))) {
		if (!eng_qp_flush_if_dead(qp))
			dev->proto->qp_kick(qp);
		n++;
	}
	return n;
}

static int no_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until)
{
	return 0;
}

static int attach(struct eng_dev *dev)
{
	eng_dev_held(dev);
	of(dev)->attaches++;
	dev->qpn_fixed = 0x5a0000;
	dev->qpn_mask = 0x00ffff;
	return 0;
}

static int join(struct eng_dev *dev, const union ibv_gid *g)
{
	of(dev)->joins++;
	return 0;
}

static void leave(struct eng_dev *dev, const union ibv_gid *g)
{
	of(dev)->joins--;
}

static void why(struct eng_dev *dev, enum ut_say level, const char *s)
{
}

static bool post_now(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_send_wr *wr)
{
	struct fake *f = of(dev);

	eng_dev_held(dev);
	if (!f->sends_now || eng_ring_used(&qp->sq) >= qp->sq.max)
		return false;
	f->sends_now--;
	eng_plain_fill(qp, eng_ring_at(&qp->sq, qp->sq.tail), wr, eng_is_plain_remote(wr->opcode));
	qp->sq.tail++;
	return true;
}

static const struct eng_dev_ops ops = {
	.progress = progress, .wait = no_wait, .wait_comp = eng_dev_wait_comp,
	.post_fast = eng_dev_by_round, .post_now = post_now, .poll = eng_dev_poll_by_round,
	.attach = attach, .mcast_join = join, .mcast_leave = leave, .query_port = eng_port_known, .why = why,
};

static int qp_init(struct eng_qp *qp)
{
	return 0;
}

static void qp_fini(struct eng_qp *qp)
{
}

static int qp_check(struct eng_qp *qp, const struct ibv_qp_attr *a, int mask, enum ibv_qp_state to)
{
	return 0;
}

static void qp_moved(struct eng_qp *qp, enum ibv_qp_state from, int mask)
{
	of(qp->dev)->moves++;
	if (of(qp->dev)->drain_at_once)
		eng_qp_drained(qp);
}

static void qp_state(struct eng_qp *qp)
{
}

static void qp_kick(struct eng_qp *qp)
{
	of(qp->dev)->kicks++;
}

static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *a)
{
	return a->is_global ? 0 : -EINVAL;
}

static const struct eng_proto_ops proto = {
	.name = "fake",
	.qp_size = 64,
	.qp_types = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
		    1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_XRC_RECV,
	.qp_init = qp_init,
	.qp_fini = qp_fini,
	.qp_check = qp_check,
	.qp_moved = qp_moved,
	.qp_state = qp_state,
	.qp_kick = qp_kick,
	.ah_check = ah_check,
};

void fake_open(struct fake *f)
{
	*f = (struct fake){ .drain_at_once = true };
	CHECK(eng_dev_init(&f->dev, "fake", &ops, &proto, 42) == 0);
	f->dev.device = f;
	f->dev.max_inline = 256;
	f->dev.max_msg_sz = 1u << 30;
	f->dev.attr.orig_attr = (struct ibv_device_attr){
		.max_mr_size = UINT64_MAX, .max_qp = 64, .max_qp_wr = 64, .max_sge = 30,
		.max_cq = 16, .max_cqe = 1024, .max_mr = 64, .max_pd = 4, .max_mw = 16,
		.max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16, .max_mcast_grp = 2,
		.max_mcast_qp_attach = 2, .max_total_mcast_qp_attach = 3, .max_ah = 4,
		.max_srq = 4, .max_srq_wr = 64, .max_srq_sge = 8, .max_pkeys = 1,
		.phys_port_cnt = 1,
	};
	CHECK(eng_ctx_open(&f->dev, &f->ctx) == 0);
	CHECK(eng_pd_alloc(&f->dev, &f->pd) == 0);
	CHECK(eng_cq_create(f->ctx, 64, NULL, false, &f->cq) == 0);
}

void fake_close(struct fake *f)
{
	CHECK(eng_cq_destroy(f->cq) == 0);
	CHECK(eng_pd_dealloc(f->pd) == 0);
	eng_ctx_close(f->ctx);
	CHECK(!f->dev.n_qp && !f->dev.n_cq && !f->dev.n_mr && !f->dev.n_mw && !f->dev.n_srq);
	eng_dev_fini(&f->dev);
}

struct eng_qp *fake_qp(struct fake *f, enum ibv_qp_type type)
{
	struct eng_qp_spec s = { .type = type, .pd = f->pd, .send_cq = f->cq, .recv_cq = f->cq,
				 .cap = { 4, 4, 2, 2, 64 } };
	struct eng_qp *qp;

	CHECK(eng_qp_create(f->ctx, &s, &qp) == 0);
	qp->user = qp;
	return qp;
}

struct ibv_qp_attr fake_attr(void)
{
	return (struct ibv_qp_attr){
		.path_mtu = IBV_MTU_1024, .qkey = 7, .rq_psn = 1, .sq_psn = 2, .dest_qp_num = 3,
		.qp_access_flags = 7, .ah_attr = { .port_num = 1, .is_global = 1 }, .port_num = 1,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7,
	};
}

static void step(struct eng_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr a = fake_attr();
	int req, opt;

	CHECK(eng_qp_transition(qp, eng_qp_state(qp), to, &req, &opt));
	a.qp_state = to;
	CHECK(eng_qp_modify(qp, &a, req | IBV_QP_STATE) == 0);
}

void fake_move(struct eng_qp *qp, enum ibv_qp_state to)
{
	enum ibv_qp_state top = to == IBV_QPS_SQD || to == IBV_QPS_SQE ? IBV_QPS_RTS : to;

	step(qp, IBV_QPS_RESET);
	if (to == IBV_QPS_ERR)
		top = IBV_QPS_INIT;
	for (int s = IBV_QPS_INIT; s <= (int)top; s++)
		step(qp, (enum ibv_qp_state)s);
	if (to == IBV_QPS_SQE) /* only a failing send leads there */
		eng_qp_fail(qp, ENG_V_LOC_KEY, IBV_QPS_SQE, true);
	else if (to > top)
		step(qp, to);
	CHECK(eng_qp_state(qp) == to);
}

int fake_event(struct fake *f)
{
	struct eng_event e;

	return eng_async_get(f->ctx, &e) == 0 ? (int)e.type : -1;
}

struct ibv_send_wr fake_send(uint64_t id)
{
	return (struct ibv_send_wr){ .wr_id = id, .opcode = IBV_WR_SEND,
				     .send_flags = IBV_SEND_SIGNALED };
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting, flushing and the ends of work requests. */
#include "engine/complete.h"
#include "engine/plain.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "engine/ring.h"
#include "engine/why.h"
#include "fake.h"
#include "support/engine.h"

#include <errno.h>

static int post(struct eng_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int r = eng_post_send(qp, &wr, &bad);

	CHECK((r == 0) == (bad == NULL));
	return r;
}

static int post_recv(struct eng_qp *qp, uint64_t id)
{
	struct ibv_recv_wr wr = { .wr_id = id }, *bad = NULL;

	return eng_post_recv(qp, &wr, &bad);
}

static void states(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_send_wr wr = fake_send(1);

	for (int s = IBV_QPS_RESET; s < IBV_QPS_RTS; s++) {
		fake_move(qp, (enum ibv_qp_state)s);
		CHECK(post(qp, wr) == -EINVAL);
		errno = EXDEV; /* kept */
		CHECK(post_recv(qp, 1) == (s == IBV_QPS_RESET ? -EINVAL : 0) && errno == EXDEV);
	}
	fake_move(qp, IBV_QPS_RTS);
	CHECK(!eng_ring_used(&qp->sq) && !eng_ring_used(&qp->rq));
	f->kicks = 0;
	for (int i = 0; i < 4; i++)
		CHECK(post(qp, wr) == 0);
	CHECK(f->kicks == 4 && post(qp, wr) == -ENOMEM);
	fake_move(qp, IBV_QPS_RESET);
	CHECK(eng_cq_held(f->cq) == 0 && !eng_ring_used(&qp->sq));
	CHECK(eng_qp_destroy(qp) == 0);
}

static void legality(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC), *uc = fake_qp(f, IBV_QPT_UC);
	struct ibv_sge sge[3] = { { 0, 4, 1 } };
	struct ibv_send_wr wr = fake_send(1);
	struct eng_swqe *w;

	fake_move(qp, IBV_QPS_RTS);
	fake_move(uc, IBV_QPS_RTS);
	wr.sg_list = sge;
	wr.num_sge = 3;
	CHECK(post(qp, wr) == -EINVAL);
	wr.num_sge = -1;
	CHECK(post(qp, wr) == -EINVAL);
	wr.num_sge = 1;
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD; /* four bytes cannot hold the answer */
	CHECK(post(qp, wr) == -EINVAL);
	sge[0].length = 8;
	CHECK(post(uc, wr) == -EINVAL);
	CHECK(post(qp, wr) == 0);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(post(qp, wr) == -EINVAL);
	wr.send_flags = 0;
	qp->attr.max_rd_atomic = 0;
	CHECK(post(qp, wr) == -EINVAL);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	CHECK(post(uc, wr) == -EINVAL);
	wr.opcode = (enum ibv_wr_opcode)99;
	CHECK(post(qp, wr) == -EINVAL);
	wr.opcode = IBV_WR_SEND;
	sge[0].length = sge[1].length = 1u << 30;
	wr.num_sge = 2;
	CHECK(post(qp, wr) == 0); /* too long: told in order */
	w = eng_ring_at(&qp->sq, 1);
	CHECK(w->verdict == ENG_V_LOC_LEN && w->length == 1ull << 31);
	CHECK(eng_qp_destroy(qp) == 0 && eng_qp_destroy(uc) == 0);
}

static void inline_data(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	char data[65];
	struct ibv_sge sge[2] = { { (uintptr_t)data, 60, 0 }, { (uintptr_t)data, 4, 0 } };
	struct ibv_send_wr wr = fake_send(1);

	fake_move(qp, IBV_QPS_RTS);
	memset(data, 'x', sizeof(data));
	wr.sg_list = sge;
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK(post(qp, wr) == 0);
	memset(data, 0, sizeof(data));
	struct eng_swqe *w = eng_ring_head(&qp->sq);

	CHECK(w->length == 64 && eng_swqe_inline(w)[63] == 'x');
	sge[1].length = 5;
	CHECK(post(qp, wr) == -EINVAL);
	CHECK(eng_qp_destroy(qp) == 0);
}

static void flush(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_send_wr wr = fake_send(0);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[8];

	fake_move(qp, IBV_QPS_RTS);
	for (uint64_t i = 0; i < 3; i++) {
		wr.wr_id = i;
		wr.send_flags = i & 1 ? IBV_SEND_SIGNALED : 0;
		CHECK(post(qp, wr) == 0 && post_recv(qp, 10 + i) == 0);
	}
	CHECK(eng_qp_modify(qp, &a, IBV_QP_STATE) == 0);
	CHECK(eng_cq_poll(f->cq, 8, wc) == 6);
	for (uint64_t i = 0; i < 6; i++) {
		CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR && wc[i].vendor_err);
		CHECK(wc[i].wr_id == (i < 3 ? i : 7 + i) && wc[i].qp_num == qp->qpn);
	}
	CHECK(post(qp, wr) == 0 && post_recv(qp, 20) == 0);
	CHECK(eng_cq_poll(f->cq, 8, wc) == 2 && wc[1].wr_id == 20);
	CHECK(eng_qp_destroy(qp) == 0);
}

/* The peer has the message, and its acknowledgement comes a little later than the word of it. */
static void late_answer(struct fake *f, bool by_manager)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_wc wc[2];

	fake_move(qp, IBV_QPS_RTS);
	CHECK(post(qp, fake_send(1)) == 0);
	f->answered = qp;
	f->answer_in = 3;
	CHECK((by_manager ? eng_qp_end(&f->dev, qp->qpn) : eng_qp_modify(qp, &a, IBV_QP_STATE)) == 0);
	CHECK(!f->answered && eng_qp_state(qp) == IBV_QPS_ERR);
	CHECK(eng_cq_poll(f->cq, 2, wc) == 1 && wc[0].status == IBV_WC_SUCCESS);
	CHECK(eng_qp_destroy(qp) == 0);
}

static void extended(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct eng_swqe *w;

	fake_move(qp, IBV_QPS_RTS);
	eng_batch_begin(qp);
	for (int i = 0; i < 4; i++) {
		w = eng_batch_next(qp);
		CHECK(w);
		w->opcode = IBV_WR_SEND;
	}
	CHECK(!eng_batch_next(qp) && eng_batch_end(qp, true) == -ENOMEM && !eng_ring_used(&qp->sq));
	eng_batch_begin(qp);
	w = eng_batch_next(qp);
	w->opcode = IBV_WR_SEND;
	CHECK(eng_batch_end(qp, false) == 0 && !eng_ring_used(&qp->sq));
	eng_batch_begin(qp);
	w = eng_batch_next(qp);
	w->opcode = IBV_WR_SEND;
	w->num_sge = 1;
	w->sge[0].length = 77;
	CHECK(eng_batch_end(qp, true) == 0 && eng_ring_used(&qp->sq) == 1 && w->length == 77);
	CHECK(eng_qp_destroy(qp) == 0);
}

/* An overrun: one event for the CQ, the QP fails, nothing is written past the end. */
static void overrun(struct fake *f)
{
	struct eng_cq *old = f->cq;
	struct ibv_wc wc;
	char why[512];

	CHECK(eng_cq_create(f->ctx, 1, NULL, false, &f->cq) == 0);
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);

	fake_move(qp, IBV_QPS_RTS);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(post(qp, fake_send(i)) == 0);
	eng_send_done(qp, ENG_OK);
	eng_send_done(qp, ENG_OK);
	CHECK(eng_qp_state(qp) == IBV_QPS_ERR);
	eng_qp_flush(qp);
	CHECK(fake_event(f) == IBV_EVENT_CQ_ERR && fake_event(f) == IBV_EVENT_QP_FATAL &&
	      fake_event(f) == -1);
	CHECK(eng_cq_poll(f->cq, 1, &wc) == 1 && wc.wr_id == 0 && wc.status == IBV_WC_SUCCESS);
	CHECK(eng_cq_poll(f->cq, 1, &wc) == -EOVERFLOW);
	CHECK(eng_why_last(&f->dev, qp->qpn, why, sizeof(why)) == 0 && strstr(why, "overran"));
	CHECK(eng_why_last(&f->dev, 1, why, sizeof(why)) == -ENOENT);
	CHECK(eng_qp_destroy(qp) == 0 && eng_cq_destroy(f->cq) == 0);
	f->cq = old;
}

/* A list leaves at once as far as the machine takes it, and the rest of it in the usual way. */
static void at_once(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_sge sge = { 0, 8, 1 };
	struct ibv_send_wr wr[3], *bad = NULL;

	fake_move(qp, IBV_QPS_RTS);
	for (unsigned i = 0; i < 3; i++) {
		wr[i] = fake_send(i);
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].next = i < 2 ? &wr[i + 1] : NULL;
	}
	f->sends_now = 2;
	CHECK(!eng_may_post_now(qp, wr)); /* the machine has not said that it takes any */
	qp->ready_ops = ENG_PLAIN_SENDS;
	CHECK(!eng_may_post_now(qp, NULL) && eng_may_post_now(qp, wr)); /* an empty list is no error */
	wr[0].opcode = IBV_WR_RDMA_WRITE;
	CHECK(!eng_may_post_now(qp, wr));
	wr[0].opcode = (enum ibv_wr_opcode)99;
	CHECK(!eng_may_post_now(qp, wr));
	wr[0].opcode = IBV_WR_SEND;
	for (unsigned flag = 1; flag < 1u << 5; flag <<= 1) {
		wr[0].send_flags = flag;
		CHECK(eng_may_post_now(qp, wr) == (flag == IBV_SEND_SIGNALED || flag == IBV_SEND_SOLICITED));
	}
	wr[0].send_flags = 0;
	wr[0].num_sge = 2;
	CHECK(!eng_may_post_now(qp, wr));
	wr[0].num_sge = 1;
	sge.length = f->dev.max_msg_sz + 1;
	CHECK(!eng_may_post_now(qp, wr));
	sge.length = 8;
	ut_lock(&f->dev.lock);
	CHECK(eng_post_now(qp, wr) == wr && !eng_ring_used(&qp->sq)); /* a thread makes a round */
	ut_unlock(&f->dev.lock);
	ut_lock(&qp->sq.lock);
	CHECK(eng_post_now(qp, wr) == wr); /* a thread posts */
	ut_unlock(&qp->sq.lock);
	errno = EXDEV;
	CHECK(eng_post_now(qp, wr) == &wr[2] && eng_ring_used(&qp->sq) == 2 && errno == EXDEV);
	CHECK(eng_post_send(qp, &wr[2], &bad) == 0 && eng_ring_used(&qp->sq) == 3);
	for (uint64_t i = 0; i < 3; i++) {
		const struct eng_swqe *w = eng_ring_at(&qp->sq, (uint32_t)i);

		CHECK(w->wr_id == i && w->length == 8 && w->num_sge == 1 && w->sge[0].lkey == 1);
	}
	f->sends_now = 2;
	CHECK(eng_post_now(qp, wr) == &wr[1]); /* the queue has four slots */
	CHECK(eng_post_send(qp, &wr[1], &bad) == -ENOMEM && bad == &wr[1]);
	f->sends_now = 0;
	fake_move(qp, IBV_QPS_RESET);
	CHECK(eng_qp_destroy(qp) == 0);
}

int main(void)
{
	struct fake f;

	fake_open(&f);
	states(&f);
	legality(&f);
	at_once(&f);
	inline_data(&f);
	flush(&f);
	late_answer(&f, false);
	late_answer(&f, true);
	extended(&f);
	overrun(&f);
	fake_close(&f);
	return 0;
}

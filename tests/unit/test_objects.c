/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* SRQs, XRC domains, groups, numbers; and every creation under failing memory. */
#include "engine/chan.h"
#include "engine/mr.h"
#include "engine/mw.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "engine/xrcd.h"
#include "fake.h"

#include "util/alloc.h"
#include "util/clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void srq_limit(struct fake *f)
{
	struct eng_srq_spec s = { .pd = f->pd, .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_attr a = { .srq_limit = 2 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct eng_srq *srq;
	union { struct eng_rwqe w; uint8_t room[sizeof(struct eng_rwqe) + sizeof(struct ibv_sge)]; } buf;

	CHECK(eng_srq_create(f->ctx, &s, &srq) == 0);
	for (wr.wr_id = 0; wr.wr_id < 4; wr.wr_id++)
		CHECK(eng_srq_post(srq, &wr, &bad) == 0);
	CHECK(eng_srq_post(srq, &wr, &bad) == -ENOMEM && bad == &wr);
	CHECK(eng_srq_modify(srq, &a, IBV_SRQ_LIMIT) == 0);
	CHECK(eng_srq_take(srq, &buf.w) && eng_srq_take(srq, &buf.w) && fake_event(f) == -1);
	a.max_wr = 1;
	CHECK(eng_srq_modify(srq, &a, IBV_SRQ_MAX_WR) == -EINVAL);
	a.max_wr = 9;
	CHECK(eng_srq_modify(srq, &a, IBV_SRQ_MAX_WR) == 0);
	CHECK(eng_srq_take(srq, &buf.w) && buf.w.wr_id == 2 && fake_event(f) == IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(eng_srq_take(srq, &buf.w) && !eng_srq_take(srq, &buf.w) && fake_event(f) == -1);
	a.srq_limit = 10;
	CHECK(eng_srq_modify(srq, &a, IBV_SRQ_LIMIT) == -EINVAL);

	struct eng_qp_spec q = { .type = IBV_QPT_RC, .pd = f->pd, .send_cq = f->cq, .recv_cq = f->cq, .srq = srq };
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct eng_qp *qp;

	CHECK(eng_qp_create(f->ctx, &q, &qp) == 0 && eng_srq_destroy(srq) == -EBUSY);
	fake_move(qp, IBV_QPS_RTS);
	CHECK(eng_post_recv(qp, &wr, &bad) == -EINVAL);
	CHECK(eng_qp_modify(qp, &err, IBV_QP_STATE) == 0 && eng_qp_modify(qp, &err, IBV_QP_STATE) == 0);
	CHECK(fake_event(f) == IBV_EVENT_QP_LAST_WQE_REACHED && fake_event(f) == -1);
	CHECK(eng_qp_destroy(qp) == 0 && eng_srq_destroy(srq) == 0);
}

/* Each handle is told of an event, until it goes. */
static void hearers(struct fake *f, struct eng_qp *qp)
{
	struct eng_qp_hearer h[2] = { { .ctx = f->ctx, .user = &h[0] },
				      { .ctx = f->ctx, .user = &h[1] } };
	struct eng_event e;

	eng_qp_hear(qp, &h[0]);
	eng_qp_hear(qp, &h[1]);
	ut_lock(&f->dev.lock);
	eng_qp_fail(qp, ENG_V_RX_LENGTH, IBV_QPS_ERR, true);
	eng_dev_unlock(&f->dev);
	for (int i = 0; i < 2; i++)
		CHECK(eng_async_get(f->ctx, &e) == 0 && e.user == &h[i]);
	CHECK(eng_async_get(f->ctx, &e) == -EAGAIN);
	eng_qp_disown(qp, &h[0]);
	CHECK(eng_qp_modify(qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
			    IBV_QP_STATE) == 0);
	ut_lock(&f->dev.lock);
	eng_qp_comm_est(qp);
	eng_dev_unlock(&f->dev);
	CHECK(eng_async_get(f->ctx, &e) == 0 && e.user == &h[1]);
	CHECK(eng_async_get(f->ctx, &e) == -EAGAIN);
	eng_qp_disown(qp, &h[1]);
}

static void domains(struct fake *f)
{
	int fd = memfd_create("domain", MFD_CLOEXEC);
	struct eng_xrcd *x, *y;
	struct eng_qp *qp, *again;

	CHECK(fd >= 0);
	CHECK(eng_xrcd_open(&f->dev, 9999, O_CREAT, &x) == -EBADF);
	CHECK(eng_xrcd_open(&f->dev, fd, 0, &x) == -EAGAIN && eng_xrcd_open(&f->dev, fd, O_CREAT, &x) == 0);
	CHECK(eng_xrcd_open(&f->dev, fd, O_CREAT | O_EXCL, &y) == -EINVAL);
	CHECK(eng_xrcd_open(&f->dev, fd, 0, &y) == 0 && x == y && eng_xrcd_close(y) == 0);

	struct eng_qp_spec q = { .type = IBV_QPT_XRC_RECV, .xrcd = x };
	struct eng_srq_spec s = { .pd = f->pd, .cq = f->cq, .xrcd = x, .attr = { .max_wr = 4 } };
	struct eng_srq *srq;

	CHECK(eng_qp_create(f->ctx, &q, &qp) == 0 && eng_srq_create(f->ctx, &s, &srq) == 0);
	CHECK(eng_srq_find(&f->dev, srq->number) == srq && eng_xrcd_close(x) == -EBUSY);
	CHECK(eng_qp_open(x, qp->qpn ^ 1, &again) == -EINVAL && eng_qp_open(x, qp->qpn, &again) == 0);
	/* The handle that it was made with goes first, and maybe its context. */
	again->user = &fd;
	eng_qp_disown(again, &q);
	CHECK(again->user == &fd && again->ctx == f->ctx);
	eng_qp_disown(again, &fd);
	CHECK(eng_qp_destroy(qp) == 0 && eng_qp_find(&f->dev, again->qpn) == again);
	ut_lock(&f->dev.lock);
	eng_qp_comm_est(again);
	eng_dev_unlock(&f->dev);
	CHECK(eng_async_get(f->ctx, &(struct eng_event){ 0 }) == -EAGAIN);
	hearers(f, again);
	/* A number of another process, one that is none, and a domain that no other process has. */
	CHECK(eng_qp_open(x, again->qpn ^ 0x10000, &qp) == -EOPNOTSUPP);
	CHECK(eng_qp_open(x, again->qpn | 0x1000000, &qp) == -EINVAL);
	CHECK(eng_xrcd_open(&f->dev, -1, O_CREAT, &y) == 0);
	CHECK(eng_qp_open(y, again->qpn ^ 0x10000, &qp) == -EINVAL && eng_xrcd_close(y) == 0);
	CHECK(eng_qp_destroy(again) == 0 && eng_srq_destroy(srq) == 0 && eng_xrcd_close(x) == 0);
	close(fd);
}

static void groups(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_UD), *rc = fake_qp(f, IBV_QPT_RC);
	union ibv_gid g = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 5 } }, no = g;

	no.raw[12] = 10;
	CHECK(eng_mcast_attach(qp, &g) == -EINVAL); /* RESET */
	fake_move(qp, IBV_QPS_INIT);
	CHECK(eng_mcast_attach(rc, &g) == -EINVAL && eng_mcast_attach(qp, &no) == -EINVAL);
	CHECK(eng_mcast_attach(qp, &g) == 0 && eng_mcast_attach(qp, &g) == 0 && f->joins == 1);
	CHECK(eng_qp_destroy(qp) == -EBUSY && eng_mcast_detach(rc, &g) == -EINVAL);
	CHECK(eng_mcast_detach(qp, &g) == 0 && eng_mcast_detach(qp, &g) == -EINVAL && f->joins == 0);
	CHECK((qp->qpn & 0xff0000) == 0x5a0000 && qp->qpn != rc->qpn);
	CHECK(eng_qp_destroy(qp) == 0 && eng_qp_destroy(rc) == 0);
}

/* A peer keeps the number of an ended connection for a while: it does not come back soon. */
static void numbers(struct fake *f)
{
	static unsigned int seen[1 << 16];

	for (unsigned int i = 1; i < 140000; i++) {
		struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
		unsigned int *was = &seen[qp->qpn & 0xffff];

		CHECK_MSG(!*was || i - *was > 60000, "number 0x%x again after %u", qp->qpn, i - *was);
		*was = i;
		CHECK(eng_qp_destroy(qp) == 0);
	}
}

/* Processes that get one slot after another, a second apart, use up to eight numbers a ms without a repetition; each
 * count has its number under any mask. */
static void numbers_of_processes(void)
{
	static bool seen[1 << 16];
	struct eng_qpns q;

	for (unsigned int process = 0; process < 8; process++) {
		eng_qpns_begin(&q, 0x0123456789abcdefu, (3600 + process) * UT_S);
		for (unsigned int i = 0; i < 8000; i++) {
			uint32_t n = eng_qpn_at(&q, q.next++, 0xffff);

			CHECK_MSG(n < 1 << 16 && !seen[n], "process %u uses number 0x%x again", process, n);
			seen[n] = true;
		}
	}
	for (unsigned int bits = 1; bits <= 16; bits++) {
		uint32_t mask = (1u << bits) - 1;

		memset(seen, 0, sizeof(seen));
		for (uint32_t i = 0; i <= mask; i++)
			seen[eng_qpn_at(&q, i, mask)] = true;
		for (uint32_t i = 0; i <= mask; i++)
			CHECK_MSG(seen[i], "no count gives number 0x%x of %u bits", i, bits);
	}
}

/* Makes one of everything and removes it; false when memory failed on the way. */
static bool one_of_each(void)
{
	struct fake f;
	struct eng_chan *ch = NULL;
	struct eng_cq *cq = NULL;
	struct eng_mkey *mr = NULL, *mw = NULL;
	struct eng_qp *qp = NULL;
	bool ok;

	ut_fault_arm(0, 0);
	fake_open(&f);
	static unsigned n;

	ut_fault_arm(++n, 0);
	struct eng_mr_spec m = { .addr = 1, .length = 1 };
	struct eng_qp_spec q = { .type = IBV_QPT_RC, .pd = f.pd, .send_cq = f.cq, .recv_cq = f.cq,
				 .cap = { 4, 4, 2, 2, 64 } };
	struct eng_srq_spec s = { .pd = f.pd, .attr = { .max_wr = 4 } };
	struct eng_srq *srq = NULL;

	ok = eng_chan_create(f.ctx, &ch) == 0;
	ok = eng_cq_create(f.ctx, 8, ch, false, &cq) == 0 && ok;
	ok = eng_mr_reg(f.pd, &m, &mr) == 0 && ok;
	ok = eng_mw_alloc(f.pd, IBV_MW_TYPE_1, &mw) == 0 && ok;
	ok = eng_srq_create(f.ctx, &s, &srq) == 0 && ok;
	ok = eng_qp_create(f.ctx, &q, &qp) == 0 && ok;
	ut_fault_arm(0, 0);
	CHECK(!qp || eng_qp_destroy(qp) == 0);
	CHECK(!srq || eng_srq_destroy(srq) == 0);
	CHECK(!mw || eng_mw_dealloc(mw) == 0);
	CHECK(!mr || eng_mr_dereg(mr) == 0);
	CHECK(!cq || eng_cq_destroy(cq) == 0);
	CHECK(!ch || eng_chan_destroy(ch) == 0);
	fake_close(&f);
	return ok;
}

int main(void)
{
	struct fake f;
	int failed = 0;

	fake_open(&f);
	srq_limit(&f);
	domains(&f);
	groups(&f);
	numbers(&f);
	numbers_of_processes();
	fake_close(&f);
	while (!one_of_each())
		failed++;
	CHECK(failed >= 10);
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/recv_fill.h"

#include "engine/dev.h"
#include "engine/qp.h"

#include <errno.h>
#include <string.h>

int eng_recv_put(struct eng_ring *r, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	struct eng_rwqe *w;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return -EINVAL;
	if (eng_ring_used(r) >= r->max)
		return -ENOMEM;
	w = eng_ring_at(r, tail);
	w->wr_id = wr->wr_id;
	w->num_sge = (uint32_t)wr->num_sge;
	w->length = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		w->sge[i] = wr->sg_list[i];
		w->length += wr->sg_list[i].length;
	}
	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return 0;
}

bool eng_recv_pop(struct eng_ring *r, struct eng_rwqe *buf)
{
	const struct eng_rwqe *w = eng_ring_head(r);

	if (!w)
		return false;
	memcpy(buf, w, eng_recv_stride(w->num_sge));
	eng_ring_drop(r);
	return true;
}

static int post_one(struct eng_qp *qp, const struct ibv_recv_wr *wr) UT_REQUIRES(qp->rq.lock);
static int post_one(struct eng_qp *qp, const struct ibv_recv_wr *wr)
{
	if (eng_qp_state(qp) == IBV_QPS_RESET)
		return -EINVAL;
	return eng_recv_put(&qp->rq, qp->cap.max_recv_sge, wr);
}

int eng_post_recv(struct eng_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	bool posted = false, dead;
	int r = 0;

	if (qp->srq || qp->type == IBV_QPT_XRC_SEND || qp->type == IBV_QPT_XRC_RECV) {
		*bad = wr;
		return -EINVAL;
	}
	ut_lock(&qp->rq.lock);
	for (; wr; wr = wr->next) {
		r = post_one(qp, wr);
		if (r < 0)
			break;
		posted = true;
	}
	/* A failing QP stores its state and then takes this lock to see what there is to flush: it sees
	 * what was posted here, or its state is seen here. */
	dead = eng_qp_state(qp) == IBV_QPS_ERR;
	ut_unlock(&qp->rq.lock);
	if (r < 0)
		*bad = wr;
	if (posted && dead)
		eng_dev_kick(qp->dev, qp);
	return r;
}

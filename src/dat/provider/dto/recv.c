/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/recv.h"

#include "dat/core/op.h"
#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/fast.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/dto/status.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/segments.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>

static DAT_RETURN may_post(struct dpr_ep *ep, DAT_COMPLETION_FLAGS flags) UT_REQUIRES(ep->lock)
{
	return dpr_op_may_recv(ep->state, ep->srq, ep->pz, ep->recv, ep->attr.recv_completion_flags, flags);
}

static DAT_RETURN ready(struct dpr_ep *ep, DAT_COMPLETION_FLAGS flags) UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret = may_post(ep, flags);

	if (ret != DAT_SUCCESS || dpr_dtoq_room(&ep->rq, 1))
		return ret;
	dpr_ep_drain(ep, ep->recv);
	ret = may_post(ep, flags);
	if (ret != DAT_SUCCESS || dpr_dtoq_room(&ep->rq, 1))
		return ret;
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* Returns the segments of a waiting receive; those it does not have are of length 0. */
static struct ibv_sge *waiting(struct dpr_dtoq *q, uint32_t index)
{
	return &q->waiting[(size_t)(index & q->mask) * q->iov_max];
}

static void keep(struct dpr_dtoq *q, const struct ibv_sge *sge, int n)
{
	struct ibv_sge *to = waiting(q, q->head);

	for (uint32_t i = 0; i < q->iov_max; i++)
		to[i] = (int)i < n ? sge[i] : (struct ibv_sge){ 0 };
}

static int hand_over(struct dpr_ep *ep, struct dpr_dto *d, struct ibv_sge *sge, int n)
	UT_REQUIRES(ep->lock)
{
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uintptr_t)d,
		.sg_list = sge,
		.num_sge = n,
	};
	int err;

	ep->rq.given = d->index + 1;
	err = ibv_post_recv(ep->qp, &wr, &bad);
	if (err)
		ep->rq.given--;
	return err;
}

static DAT_RETURN flush(struct dpr_ep *ep, DAT_DTO_COOKIE cookie) UT_REQUIRES(ep->lock)
{
	DAT_EVENT ev;

	dpr_dto_fill(&ev, ep, DPR_OP_RECV, cookie, DAT_DTO_ERR_FLUSHED, 0, NULL);
	dpr_evd_push(ep->recv, &ev, true, false);
	return DAT_SUCCESS;
}

static DAT_RETURN issue(struct dpr_ep *ep, struct ibv_sge *sge, int n, uint64_t bytes,
			DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) UT_REQUIRES(ep->lock)
{
	bool over = ep->state == DAT_EP_STATE_DISCONNECTED;
	struct dpr_dto *d;
	int err = 0;

	if (over && !ep->qp)
		return flush(ep, cookie);
	d = dpr_dtoq_next(&ep->rq);
	/* A receive always completes with an event. */
	dpr_dto_begin(d, ep, DPR_OP_RECV, cookie, bytes, flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	if (!ep->qp)
		keep(&ep->rq, sge, n);
	/* counted first: it may complete before ibv_post_recv returns */
	ep->rq.head++;
	if (ep->qp)
		err = hand_over(ep, d, sge, n);
	if (!err) {
		dpr_bump(&ep->counters[DCNT_EP_POST_RECV], 1);
		dpr_bump(&ep->counters[DCNT_EP_POST_RECV_DATA], bytes);
		return DAT_SUCCESS;
	}
	ep->rq.head--;
	return over ? flush(ep, cookie) : dpr_post_error(err);
}

static DAT_RETURN post(struct dpr_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		       DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags) UT_REQUIRES(ep->lock)
{
	struct ibv_sge sge[DPR_IOV_MAX];
	DAT_RETURN ret = ready(ep, flags);
	struct dpr_gather g;

	if (ret != DAT_SUCCESS)
		return ret;
	if (n < 0 || n > DPR_IOV_MAX || n > ep->attr.max_recv_iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dpr_segments(ep->obj.ia, ep->pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, sge, &g);
	if (ret != DAT_SUCCESS)
		return ret;
	return issue(ep, sge, g.n, g.bytes, cookie, flags);
}

DAT_RETURN dpr_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ut_lock(&ep->lock);
	if (n == 1 && iov && !flags && dpr_fast_recv(ep, iov, cookie))
		ret = DAT_SUCCESS;
	else
		ret = post(ep, n, iov, cookie, flags);
	ut_unlock(&ep->lock);
	return ret;
}

int dpr_ep_flush_posted(struct dpr_ep *ep)
{
	struct ibv_qp_init_attr init;
	struct dpr_dtoq *q = &ep->rq;
	struct ibv_qp_attr attr;
	int err = 0;

	ep->inline_max = 0;
	atomic_store(&ep->failed, false);
	if (!ibv_query_qp(ep->qp, &attr, IBV_QP_CAP, &init))
		ep->inline_max = init.cap.max_inline_data;
	while (!err && q->given != q->head) {
		struct ibv_sge *sge = waiting(q, q->given);
		uint32_t n = 0;

		while (n < q->iov_max && sge[n].length)
			n++;
		err = hand_over(ep, dpr_dtoq_at(q, q->given), sge, (int)n);
	}
	return err;
}

void dpr_ep_fail_posted(struct dpr_ep *ep)
{
	struct dpr_dtoq *q = &ep->rq;

	for (; q->given != q->head; q->given++)
		flush(ep, dpr_dtoq_at(q, q->given)->cookie);
	/* without a queue pair nothing is drained, so that no other thread writes the tail */
	atomic_store_explicit(&q->tail, q->head, memory_order_release);
}

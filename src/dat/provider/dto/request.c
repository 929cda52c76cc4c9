/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/request.h"

#include "dat/core/op.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/dto/status.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/rmr.h"
#include "dat/provider/mem/segments.h"
#include "util/env.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <stdlib.h>

/* What only this provider needs of an operation; core/op.c has the rest. */
static const struct op {
	uint8_t count, count_bytes; /* DCNT_EP_*; DCNT_EP_ALL_COUNTERS: none */
	bool inlined;
} ops[DPR_OPS] = {
#define NONE DCNT_EP_ALL_COUNTERS
	[DPR_OP_SEND] = { DCNT_EP_POST_SEND, DCNT_EP_POST_SEND_DATA, true },
	[DPR_OP_SEND_INV] = { DCNT_EP_POST_SEND, DCNT_EP_POST_SEND_DATA, true },
	[DPR_OP_WRITE] = { DCNT_EP_POST_WRITE, DCNT_EP_POST_WRITE_DATA, true },
	[DPR_OP_READ] = { DCNT_EP_POST_READ, DCNT_EP_POST_READ_DATA, false },
	[DPR_OP_READ_TO_RMR] = { DCNT_EP_POST_READ, DCNT_EP_POST_READ_DATA, false },
	[DPR_OP_BIND] = { NONE, NONE, false },
	[DPR_OP_UNBIND] = { NONE, NONE, false },
	[DPR_OP_WRITE_IMM] = { DCNT_EP_POST_WRITE_IMM, DCNT_EP_POST_WRITE_IMM_DATA, true },
	[DPR_OP_FETCH_ADD] = { DCNT_EP_POST_FETCH_ADD, NONE, false },
	[DPR_OP_CMP_SWAP] = { DCNT_EP_POST_CMP_SWAP, NONE, false },
	[DPR_OP_SEND_UD] = { DCNT_EP_POST_SEND_UD, DCNT_EP_POST_SEND_UD_DATA, true },
};

uint32_t dpr_max_inline(void)
{
	const char *s = ut_env("DAPL_MAX_INLINE");
	unsigned long n = s ? strtoul(s, NULL, 0) : 64;

	return n > 4096 ? 4096 : (uint32_t)n;
}

DAT_RETURN dpr_post_error(int err)
{
	switch (err) {
	case ENOMEM:
	case EAGAIN:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	case EOPNOTSUPP:
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default:
		return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}

static DAT_RETURN may_post(struct dpr_ep *ep, const struct dpr_request *r) UT_REQUIRES(ep->lock)
{
	return dpr_op_may_request(r->op, ep->state, ep->pz && ep->request, ep->attr.request_completion_flags, r->flags,
				  r->flags_arg);
}

DAT_RETURN dpr_request_ready(struct dpr_ep *ep, const struct dpr_request *r, uint32_t records)
{
	DAT_RETURN ret = may_post(ep, r);

	if (ret != DAT_SUCCESS || !ep->qp)
		return ret;
	if (dpr_dtoq_room(&ep->sq, records))
		return DAT_SUCCESS;
	dpr_ep_drain(ep, ep->request);
	ret = may_post(ep, r);
	if (ret != DAT_SUCCESS || !ep->qp || dpr_dtoq_room(&ep->sq, records))
		return ret;
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
}

/* Shortens the segments of a Read to the length of its source. Returns their number. */
static int trim(struct ibv_sge *sge, int n, uint64_t bytes)
{
	int i;

	for (i = 0; i < n && bytes; i++) {
		if (sge[i].length > bytes)
			sge[i].length = (uint32_t)bytes;
		bytes -= sge[i].length;
	}
	return i;
}

static DAT_RETURN gather(struct dpr_ep *ep, struct dpr_request *r, struct ibv_sge *sge,
			 uint64_t *bytes) UT_REQUIRES(ep->lock)
{
	struct dpr_gather g;
	DAT_RETURN ret;

	if (r->n < 0 || r->n > DPR_IOV_MAX || r->n > dpr_op_iov(r->op, &ep->attr))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (r->n && !r->iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dpr_segments(ep->obj.ia, ep->pz, r->n, r->iov, dpr_op_rules[r->op].need, sge, &g);
	if (ret != DAT_SUCCESS)
		return ret;
	*bytes = g.bytes;
	r->wr.sg_list = sge;
	r->wr.num_sge = g.n;
	/* Inline data are copied by the post, but a fenced request reads its buffer behind the fence. */
	r->inlined = g.placed && g.bytes <= ep->inline_max && ops[r->op].inlined &&
		     !(r->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG);
	ret = dpr_op_length(r->op, &ep->attr, r->remote, bytes);
	if (ret == DAT_SUCCESS && r->op == DPR_OP_READ)
		r->wr.num_sge = trim(sge, r->wr.num_sge, *bytes);
	return ret;
}

static void count(struct dpr_ep *ep, enum dpr_op op, uint64_t bytes) UT_REQUIRES(ep->lock)
{
	if (ops[op].count < DCNT_EP_ALL_COUNTERS)
		dpr_bump(&ep->counters[ops[op].count], 1);
	if (ops[op].count_bytes < DCNT_EP_ALL_COUNTERS)
		dpr_bump(&ep->counters[ops[op].count_bytes], bytes);
}

struct dpr_dto *dpr_request_record(struct dpr_ep *ep, const struct dpr_request *r, uint64_t bytes)
{
	struct dpr_dto *d = dpr_dtoq_next(&ep->sq);

	dpr_dto_begin(d, ep, r->op, r->cookie, bytes, r->flags);
	return d;
}

unsigned int dpr_request_flags(struct dpr_ep *ep, const struct dpr_request *r)
{
	unsigned int f = 0;

	if (dpr_dtoq_signal(&ep->sq, r->flags & DAT_COMPLETION_SUPPRESS_FLAG))
		f |= IBV_SEND_SIGNALED;
	if (r->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
		f |= IBV_SEND_SOLICITED;
	if (r->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG)
		f |= IBV_SEND_FENCE;
	if (r->inlined)
		f |= IBV_SEND_INLINE;
	return f;
}

DAT_RETURN dpr_request_issue(struct dpr_ep *ep, struct dpr_request *r, uint64_t bytes,
			     struct dpr_rmr *rmr, unsigned int binding)
{
	struct ibv_send_wr *bad;
	struct dpr_dto *d;
	int err;

	if (!ep->qp)
		return dpr_request_flush(ep, r, rmr, binding);
	d = dpr_request_record(ep, r, bytes);
	d->rmr = rmr;
	d->binding = (uint8_t)binding;
	r->wr.wr_id = (uintptr_t)d;
	r->wr.send_flags = dpr_request_flags(ep, r);
	/* counted first: the completion may be drained before ibv_post_send returns */
	ep->sq.head++;
	err = ibv_post_send(ep->qp, &r->wr, &bad);
	if (!err) {
		count(ep, r->op, bytes);
		return DAT_SUCCESS;
	}
	ep->sq.head--;
	ep->sq.quiet_run = ep->sq.limit; /* the next request is signalled */
	if (ep->state == DAT_EP_STATE_DISCONNECTED)
		return dpr_request_flush(ep, r, rmr, binding);
	return dpr_post_error(err);
}

DAT_RETURN dpr_request_flush(struct dpr_ep *ep, const struct dpr_request *r, struct dpr_rmr *rmr,
			     unsigned int binding)
{
	struct dpr_dto d = { .ep = ep, .rmr = rmr, .op = (uint8_t)r->op,
			     .binding = (uint8_t)binding };
	DAT_EVENT ev;

	dpr_dto_fill(&ev, ep, r->op, r->cookie, DAT_DTO_ERR_FLUSHED, 0, rmr);
	dpr_evd_push(ep->request, &ev, true, false);
	if (rmr)
		dpr_rmr_done(&d, false);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_request_post(DAT_EP_HANDLE handle, struct dpr_request *r)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct ibv_sge sge[DPR_IOV_MAX];
	uint64_t bytes = 0;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ut_lock(&ep->lock);
	ret = dpr_request_ready(ep, r, 1);
	if (ret == DAT_SUCCESS)
		ret = gather(ep, r, sge, &bytes);
	if (ret == DAT_SUCCESS)
		ret = dpr_request_issue(ep, r, bytes, NULL, 0);
	ut_unlock(&ep->lock);
	return ret;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/post.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/fast.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/obj.h"

/* Returns false if nothing was posted: dpr_request_post then determines the result. */
__attribute__((always_inline)) static inline bool
fast(DAT_EP_HANDLE handle, enum dpr_op op, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
      DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	bool done;

	if (!ep || n != 1 || !iov || flags)
		return false;
	ut_lock(&ep->lock);
	done = dpr_fast_post(ep, op, iov, cookie, remote);
	ut_unlock(&ep->lock);
	return done;
}

/* The fields that dpr_request_post reads; the rest of the work request stays unset. */
static inline void begin(struct dpr_request *r, enum dpr_op op, enum ibv_wr_opcode opcode,
			 DAT_COUNT n, const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	r->wr.next = NULL;
	r->wr.opcode = opcode;
	r->op = op;
	r->n = n;
	r->iov = iov;
	r->remote = remote;
	r->cookie = cookie;
	r->flags = flags;
	r->flags_arg = remote ? 6 : 5;
}

DAT_RETURN dpr_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dpr_request r;

	if (fast(ep, DPR_OP_SEND, n, iov, cookie, NULL, flags))
		return DAT_SUCCESS;
	begin(&r, DPR_OP_SEND, IBV_WR_SEND, n, iov, cookie, NULL, flags);
	return dpr_request_post(ep, &r);
}

DAT_RETURN dpr_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
					    DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					    DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
	struct dpr_request r;

	if (invalidate != DAT_TRUE && invalidate != DAT_FALSE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!invalidate)
		return dpr_ep_post_send(ep, n, iov, cookie, flags);
	begin(&r, DPR_OP_SEND_INV, IBV_WR_SEND_WITH_INV, n, iov, cookie, NULL, flags);
	r.wr.invalidate_rkey = context;
	return dpr_request_post(ep, &r);
}

static DAT_RETURN rdma(DAT_EP_HANDLE ep, enum dpr_op op, enum ibv_wr_opcode opcode, DAT_COUNT n,
		       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		       const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct dpr_request r;

	if (!remote)
		return dpr_ep_of(ep) ? DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5)
				     : DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	begin(&r, op, opcode, n, iov, cookie, remote, flags);
	r.wr.wr.rdma.remote_addr = remote->virtual_address;
	r.wr.wr.rdma.rkey = remote->rmr_context;
	return dpr_request_post(ep, &r);
}

DAT_RETURN dpr_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				 DAT_COMPLETION_FLAGS flags)
{
	if (remote && fast(ep, DPR_OP_READ, n, iov, cookie, remote, flags))
		return DAT_SUCCESS;
	return rdma(ep, DPR_OP_READ, IBV_WR_RDMA_READ, n, iov, cookie, remote, flags);
}

DAT_RETURN dpr_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				  DAT_COMPLETION_FLAGS flags)
{
	if (remote && fast(ep, DPR_OP_WRITE, n, iov, cookie, remote, flags))
		return DAT_SUCCESS;
	return rdma(ep, DPR_OP_WRITE, IBV_WR_RDMA_WRITE, n, iov, cookie, remote, flags);
}

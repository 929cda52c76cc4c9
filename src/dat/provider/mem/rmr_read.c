/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/mem/rmr_read.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"
#include "dat/provider/mem/rmr.h"

struct sink {
	struct dpr_rmr *rmr; /* a reference; NULL: the context is that of a region */
	int slot;
	struct ibv_sge sge;
};

/* Checks the access and fills to->sge. `first` is the remote address of the first byte. */
static DAT_RETURN place(const DAT_RMR_TRIPLET *t, uint64_t first, uint64_t length, uint64_t start,
			uint32_t lkey, unsigned int priv, struct sink *to)
{
	uint64_t off = t->virtual_address - first;

	if (!(priv & DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
	if (off > length || t->segment_length > length - off)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	to->sge = (struct ibv_sge){ start + off, t->segment_length, lkey };
	return DAT_SUCCESS;
}

static DAT_RETURN in_window(struct dpr_ep *ep, const DAT_RMR_TRIPLET *t, struct sink *to)
	UT_REQUIRES(ep->lock)
{
	struct dpr_rmr *r = to->rmr;
	DAT_RETURN ret = DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
	struct dpr_binding *b;

	ut_lock(&r->lock);
	to->slot = dpr_binding_find(r, t->rmr_context);
	if (to->slot >= 0) {
		b = &r->binding[to->slot];
		if (r->pz != ep->pz || (b->ep && b->ep != ep))
			ret = DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE);
		else
			ret = place(t, b->va == DAT_VA_TYPE_ZB ? 0 : b->range.virtual_address,
				    b->range.segment_length, b->range.virtual_address,
				    b->lmr->mr->lkey, b->priv, to);
		if (ret == DAT_SUCCESS)
			b->readers++;
	}
	ut_unlock(&r->lock);
	if (ret != DAT_SUCCESS)
		dpr_obj_put(&r->obj);
	return ret;
}

/* A region with remote rights has an RMR context, too. */
static DAT_RETURN in_region(struct dpr_ep *ep, const DAT_RMR_TRIPLET *t, struct sink *to)
	UT_REQUIRES(ep->lock)
{
	const struct dpr_lmr *l =
		(struct dpr_lmr *)dpr_key_find(ep->obj.ia, DPR_KEY_LOCAL, t->rmr_context);

	if (!l || l->mr->rkey != t->rmr_context)
		return DPR_ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
	if (l->pz != ep->pz)
		return DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_PROTECTION_RDMA_WRITE);
	return place(t, l->base, l->length, l->base, l->mr->lkey, l->priv, to);
}

static DAT_RETURN find_sink(struct dpr_ep *ep, const DAT_RMR_TRIPLET *t, struct sink *to)
	UT_REQUIRES(ep->lock)
{
	to->rmr = (struct dpr_rmr *)dpr_key_get(ep->obj.ia, DPR_KEY_REMOTE, t->rmr_context);
	return to->rmr ? in_window(ep, t, to) : in_region(ep, t, to);
}

static void let_go(struct sink *s)
{
	struct dpr_dto d = { .rmr = s->rmr, .op = DPR_OP_READ_TO_RMR, .binding = (uint8_t)s->slot };

	if (s->rmr)
		dpr_rmr_done(&d, false);
}

static DAT_RETURN read_on(struct dpr_ep *ep, struct dpr_request *r, const DAT_RMR_TRIPLET *local)
	UT_REQUIRES(ep->lock)
{
	uint32_t bytes = r->remote->segment_length;
	DAT_RETURN ret = dpr_request_ready(ep, r, 1);
	struct sink sink = { 0 };

	if (ret != DAT_SUCCESS)
		return ret;
	if (bytes > local->segment_length || bytes > ep->attr.max_rdma_size)
		return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	if (bytes) {
		ret = find_sink(ep, local, &sink);
		if (ret != DAT_SUCCESS)
			return ret;
		sink.sge.length = bytes;
		r->wr.sg_list = &sink.sge;
		r->wr.num_sge = 1;
	}
	ret = dpr_request_issue(ep, r, bytes, sink.rmr, (unsigned int)sink.slot);
	if (ret != DAT_SUCCESS)
		let_go(&sink);
	return ret;
}

DAT_RETURN dpr_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET *local,
					DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					DAT_COMPLETION_FLAGS flags)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_request r = {
		.wr = { .opcode = IBV_WR_RDMA_READ },
		.op = DPR_OP_READ_TO_RMR,
		.remote = remote,
		.cookie = cookie,
		.flags = flags,
		.flags_arg = 5,
	};
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!local)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!remote)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	r.wr.wr.rdma.remote_addr = remote->virtual_address;
	r.wr.wr.rdma.rkey = remote->rmr_context;
	ut_lock(&ep->lock);
	ret = read_on(ep, &r, local);
	ut_unlock(&ep->lock);
	return ret;
}

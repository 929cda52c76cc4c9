// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/post.h"

#include "dat/core/status.h"
#include "kdapl/conn.h"
#include "kdapl/mem.h"
#include "kdapl/rmr.h"
#include "kdapl/srq.h"

#include <linux/log2.h>

/* Beside enum dpr_op: the provider's own Write of nothing. */
enum { OP_NUDGE = DPR_OPS };

static bool is_own(const struct kdp_dto *d)
{
	return d->op == DPR_OP_INVALIDATE || d->op == OP_NUDGE;
}

/* --- queues --- */

u32 kdp_send_size(const struct kdp_ia *ia, const DAT_EP_ATTR *attr)
{
	return min_t(u32, 2 * (u32)attr->max_request_dtos, ia->attrs.max_qp_wr - KDP_OWN_REQUESTS);
}

static int queue_make(struct kdp_queue *q, u32 records, u32 most, u32 iov)
{
	memset(q, 0, sizeof(*q));
	if (!records)
		return 0;
	q->mask = roundup_pow_of_two(records) - 1;
	q->most = most;
	q->iov = iov;
	q->dto = dpr_core_alloc(q->mask + 1, sizeof(*q->dto));
	if (q->dto && iov)
		q->sge = dpr_core_alloc((size_t)(q->mask + 1) * iov, sizeof(*q->sge));
	return q->dto && (q->sge || !iov) ? 0 : -ENOMEM;
}

static void queue_free(struct kdp_queue *q)
{
	dpr_core_free(q->dto);
	dpr_core_free(q->sge);
	memset(q, 0, sizeof(*q));
}

int kdp_queues_make(struct kdp_ep *ep, const DAT_EP_ATTR *attr)
{
	struct kdp_queue sq, rq, old_sq, old_rq;
	unsigned long flags;
	int err;

	err = queue_make(&sq, kdp_send_size(ep->obj.ia, attr), attr->max_request_dtos, 0);
	if (queue_make(&rq, ep->srq ? 0 : attr->max_recv_dtos, attr->max_recv_dtos, attr->max_recv_iov))
		err = -ENOMEM;
	if (err) {
		queue_free(&sq);
		queue_free(&rq);
		return err;
	}
	spin_lock_irqsave(&ep->lock, flags);
	old_sq = ep->sq;
	old_rq = ep->rq;
	ep->sq = sq;
	ep->rq = rq;
	spin_unlock_irqrestore(&ep->lock, flags);
	queue_free(&old_sq);
	queue_free(&old_rq);
	return 0;
}

void kdp_queues_free(struct kdp_ep *ep)
{
	queue_free(&ep->sq);
	queue_free(&ep->rq);
}

static u32 outstanding(const struct kdp_queue *q)
{
	return q->head - q->tail;
}

static struct kdp_dto *record(struct kdp_queue *q, u32 index)
{
	return &q->dto[index & q->mask];
}

static struct kdp_dto *next_record(struct kdp_ep *ep, struct kdp_queue *q, u8 op, DAT_DTO_COOKIE cookie,
				   DAT_COMPLETION_FLAGS flags, u64 bytes, void (*done)(struct ib_cq *, struct ib_wc *))
{
	struct kdp_dto *d = record(q, q->head);

	d->cqe.done = done;
	d->ep = ep;
	d->cookie = cookie;
	d->lmr = NULL;
	d->index = q->head;
	d->bytes = bytes;
	d->op = op;
	d->quiet = flags & DAT_COMPLETION_SUPPRESS_FLAG;
	d->notify = !(flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
	return d;
}

/* --- completions --- */

static DAT_DTO_COMPLETION_STATUS status_of(enum ib_wc_status status)
{
	return status == IB_WC_SUCCESS ? DAT_DTO_SUCCESS : dpr_status_of(status);
}

/* The record of a receive is free again. */
static void recv_free(struct kdp_ep *ep, struct kdp_dto *d)
{
	if (d->ep)
		ep->rq.tail = d->index + 1;
	else
		kdp_srq_give_back(d);
}

/* The event of a completion, and the upcall that may take it past the ring of its EVD. */
struct news {
	DAT_EVENT ev;
	DAT_UPCALL_OBJECT up;
	struct kdp_evd *evd; /* or NULL */
	bool claimed;
};

/* Called with no lock held. */
static void news_out(const struct news *n)
{
	if (n->claimed)
		kdp_evd_hand(n->evd, &n->ev, &n->up);
	else if (n->evd)
		kdp_evd_kick(n->evd);
}

static void recv_fill(struct kdp_ep *ep, const struct kdp_dto *d, DAT_EVENT *ev)
{
	dpr_op_event(ev, DPR_OP_RECV, (DAT_HANDLE)ep, NULL, d->cookie, d->status, d->bytes);
	if (d->invalidated) {
		ev->event_data.dto_completion_event_data.operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		ev->event_data.dto_completion_event_data.rmr_context = d->context;
	}
}

static bool recv_notifies(const struct kdp_dto *d)
{
	return d->notify || d->status != DAT_DTO_SUCCESS;
}

static void recv_event(struct kdp_ep *ep, const struct kdp_dto *d)
{
	DAT_EVENT ev __uninitialized;

	recv_fill(ep, d, &ev);
	if (ep->parts.recv)
		kdp_evd_put(ep->parts.recv, &ev, recv_notifies(d));
}

void kdp_held_release(struct kdp_ep *ep)
{
	struct kdp_dto *d, *next;

	list_for_each_entry_safe(d, next, &ep->held, link) {
		list_del(&d->link);
		recv_event(ep, d);
		recv_free(ep, d);
	}
}

void kdp_held_drop(struct kdp_ep *ep)
{
	struct kdp_dto *d, *next;

	list_for_each_entry_safe(d, next, &ep->held, link) {
		list_del(&d->link);
		recv_free(ep, d);
	}
}

/* A receive has completed. Before ESTABLISHED it waits in its record, so that no memory is needed; behind the end of an
 * attempt that event will not come. Called with ep->lock held. */
static void received(struct kdp_ep *ep, struct kdp_dto *d, const struct ib_wc *wc, struct news *n)
{
	d->status = status_of(wc->status);
	d->bytes = wc->byte_len;
	d->invalidated = wc->status == IB_WC_SUCCESS && (wc->wc_flags & IB_WC_WITH_INVALIDATE);
	d->context = d->invalidated ? wc->ex.invalidate_rkey : 0;
	n->evd = ep->parts.recv;
	n->claimed = false;
	if (!ep->early && list_empty(&ep->held)) {
		recv_fill(ep, d, &n->ev);
		if (n->evd)
			n->claimed = kdp_evd_claim(n->evd, &n->ev, recv_notifies(d), &n->up);
		recv_free(ep, d);
		return;
	}
	list_add_tail(&d->link, &ep->held);
	if (!ep->early || ep->state == DAT_EP_STATE_DISCONNECTED)
		kdp_held_release(ep);
}

/* Requests of which a region or a window learns. */
static bool is_settled(const struct kdp_dto *d)
{
	return BIT(d->op) & (BIT(DPR_OP_FMR) | BIT(DPR_OP_LMR_INVALIDATE) | BIT(DPR_OP_BIND) | BIT(DPR_OP_UNBIND) |
			     BIT(DPR_OP_INVALIDATE));
}

/* Regions and windows learn of their work requests. */
static void settle(struct kdp_dto *d, bool ok)
{
	switch (d->op) {
	case DPR_OP_FMR: kdp_lmr_done(d->lmr, true, ok); break;
	case DPR_OP_LMR_INVALIDATE: kdp_lmr_done(d->lmr, false, ok); break;
	case DPR_OP_BIND: kdp_rmr_done(d->rmr, d->slot, true, ok); break;
	case DPR_OP_UNBIND:
	case DPR_OP_INVALIDATE: kdp_rmr_done(d->rmr, d->slot, false, ok); break;
	default: break;
	}
}

/* Called with ep->lock held. A flush is the consequence of an end and not a cause. */
static void judge(struct kdp_ep *ep, enum ib_wc_status status)
{
	if (status == IB_WC_SUCCESS || status == IB_WC_WR_FLUSH_ERR)
		return;
	ep->failed = true;
	kdp_ep_end(ep, NULL, DPR_ON_BROKEN, 0, false);
}

/* Called with ep->lock held; with it released, news_out(n) follows. */
static void request_event(struct kdp_ep *ep, const struct kdp_dto *d, DAT_DTO_COMPLETION_STATUS status, struct news *n)
{
	n->evd = ep->parts.request;
	n->claimed = false;
	if (is_own(d) || (d->quiet && status == DAT_DTO_SUCCESS) || !n->evd)
		return;
	dpr_op_event(&n->ev, d->op, (DAT_HANDLE)ep, d->op == DPR_OP_BIND || d->op == DPR_OP_UNBIND ? d->rmr : NULL,
		     d->cookie, status, d->bytes);
	n->claimed = kdp_evd_claim(n->evd, &n->ev, d->notify || status != DAT_DTO_SUCCESS, &n->up);
}

static void request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdp_dto *d = container_of(wc->wr_cqe, struct kdp_dto, cqe), copy __uninitialized;
	struct news n __uninitialized;
	struct kdp_ep *ep = d->ep;
	unsigned long flags;
	bool settled;

	spin_lock_irqsave(&ep->lock, flags);
	settled = is_settled(d);
	if (settled)
		copy = *d;
	if (!is_own(d))
		ep->sq.used--;
	request_event(ep, d, status_of(wc->status), &n);
	ep->sq.tail = d->index + 1;
	judge(ep, wc->status);
	if (ep->state == DAT_EP_STATE_DISCONNECT_PENDING && !outstanding(&ep->sq))
		kdp_ep_end(ep, NULL, DPR_ON_DRAINED, 0, false);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (settled)
		settle(&copy, wc->status == IB_WC_SUCCESS);
	news_out(&n);
}

/* The peer has connected although the connection manager has not said so yet: the passive side has everything; on the
 * active side the answer is under way with its private data. Called with ep->lock held. */
static void arrived_early(struct kdp_ep *ep, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS && ep->state == DAT_EP_STATE_COMPLETION_PENDING)
		kdp_ep_established(ep, 0, NULL);
}

static void invalidated(struct kdp_ep *ep, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_SUCCESS && (wc->wc_flags & IB_WC_WITH_INVALIDATE))
		kdp_context_gone(ep->obj.ia, wc->ex.invalidate_rkey);
}

static void recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct kdp_dto *d = container_of(wc->wr_cqe, struct kdp_dto, cqe);
	struct kdp_ep *ep = d->ep;
	struct news n __uninitialized;
	unsigned long flags;
	bool was_early;

	invalidated(ep, wc);
	spin_lock_irqsave(&ep->lock, flags);
	was_early = ep->early;
	arrived_early(ep, wc);
	received(ep, d, wc, &n);
	judge(ep, wc->status);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (was_early)
		kdp_ep_kick(ep);
	news_out(&n);
}

void kdp_srq_arrived(struct kdp_ep *ep, struct kdp_dto *d, const struct ib_wc *wc)
{
	struct news n __uninitialized;
	unsigned long flags;
	bool soft;

	invalidated(ep, wc);
	spin_lock_irqsave(&ep->lock, flags);
	arrived_early(ep, wc);
	d->notify = true;
	received(ep, d, wc, &n);
	judge(ep, wc->status);
	ep->taken++;
	soft = ep->soft_armed && ep->soft != DAT_WATERMARK_INFINITE && ep->taken >= ep->soft;
	if (soft)
		ep->soft_armed = false;
	if (ep->hard != DAT_WATERMARK_INFINITE && ep->taken > ep->hard)
		kdp_ep_end(ep, NULL, DPR_ON_BROKEN, 0, false);
	spin_unlock_irqrestore(&ep->lock, flags);
	kdp_ep_kick(ep);
	news_out(&n);
	if (soft)
		kdp_ia_async(ep->obj.ia, DAT_ASYNC_ERROR_EP_BROKEN, (DAT_HANDLE)ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

/* --- requests --- */

struct request {
	union {
		struct ib_send_wr wr;
		struct ib_rdma_wr rdma;
		struct ib_reg_wr reg;
	};
	struct ib_send_wr inv; /* a bind: the invalidation before it */
	enum dpr_op op;
	DAT_DTO_COOKIE cookie;
	DAT_COMPLETION_FLAGS flags;
	unsigned int flags_arg;
	void *mem;             /* of the record */
	int slot;
	u64 bytes;
};

/* Fills all but what the operation has of its own: its opcode and the rest of its work request. */
static inline void request_init(struct request *r, enum dpr_op op, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				unsigned int flags_arg)
{
	r->wr.next = NULL;
	r->wr.sg_list = NULL;
	r->wr.num_sge = 0;
	r->op = op;
	r->cookie = cookie;
	r->flags = flags;
	r->flags_arg = flags_arg;
	r->mem = NULL;
	r->slot = 0;
	r->bytes = 0;
}

static DAT_RETURN may_post(struct kdp_ep *ep, const struct request *r)
{
	return dpr_op_may_request(r->op, ep->state, ep->parts.pz && ep->parts.request,
				  ep->attr.request_completion_flags, r->flags, r->flags_arg);
}

static unsigned int send_flags(DAT_COMPLETION_FLAGS f)
{
	return IB_SEND_SIGNALED | (f & DAT_COMPLETION_SOLICITED_WAIT_FLAG ? IB_SEND_SOLICITED : 0) |
	       (f & (DAT_COMPLETION_BARRIER_FENCE_FLAG | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG) ? IB_SEND_FENCE : 0);
}

static DAT_RETURN post_error(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EAGAIN: return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	case -EOPNOTSUPP: return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	default: return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	}
}

/* Completes a request that no queue pair takes any more. Called with ep->lock held; the caller settles, and news_out(n)
 * follows. */
static void flush(struct kdp_ep *ep, struct request *r, struct kdp_dto *d, struct news *n)
{
	memset(d, 0, sizeof(*d));
	d->op = r->op;
	d->cookie = r->cookie;
	d->notify = true;
	d->slot = r->slot;
	d->lmr = r->mem;
	request_event(ep, d, DAT_DTO_ERR_FLUSHED, n);
}

/* Called with ep->lock held. Returns DAT_SUCCESS if the request, with the invalidation before it, was posted. */
static DAT_RETURN issue(struct kdp_ep *ep, struct request *r, bool with_inv, int inv_slot)
{
	u32 head = ep->sq.head, records = with_inv ? 2 : 1;
	const struct ib_send_wr *bad;
	struct kdp_dto *d;
	int err;

	if (ep->sq.used >= ep->sq.most || outstanding(&ep->sq) + records > ep->sq.mask + 1)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (with_inv) {
		d = next_record(ep, &ep->sq, DPR_OP_INVALIDATE, r->cookie, DAT_COMPLETION_SUPPRESS_FLAG, 0,
				request_done);
		d->rmr = r->mem;
		d->slot = inv_slot;
		r->inv.wr_cqe = &d->cqe;
		r->inv.next = &r->wr;
		kdp_obj_hold(&d->rmr->obj);
		ep->sq.head++;
	}
	d = next_record(ep, &ep->sq, r->op, r->cookie, r->flags, r->bytes, request_done);
	d->lmr = r->mem;
	d->slot = r->slot;
	r->wr.wr_cqe = &d->cqe;
	r->wr.send_flags = send_flags(r->flags);
	ep->sq.head++;
	ep->sq.used++;
	err = ib_post_send(ep->qp, with_inv ? &r->inv : &r->wr, &bad);
	if (!err)
		return DAT_SUCCESS;
	ep->sq.used--;
	/* an invalidation that was posted keeps its record */
	if (with_inv && bad == &r->wr)
		head++;
	else if (with_inv)
		kdp_obj_put(r->mem);
	ep->sq.head = head;
	return post_error(err);
}

void kdp_post_nudge(struct kdp_ep *ep)
{
	struct ib_rdma_wr r = { .wr = { .opcode = IB_WR_RDMA_WRITE, .send_flags = IB_SEND_SIGNALED } };
	DAT_DTO_COOKIE none = { 0 };
	struct kdp_dto *d;

	if (!ep->qp || !ep->sq.dto || outstanding(&ep->sq) > ep->sq.mask)
		return;
	d = next_record(ep, &ep->sq, OP_NUDGE, none, DAT_COMPLETION_SUPPRESS_FLAG, 0, request_done);
	r.wr.wr_cqe = &d->cqe;
	ep->sq.head++;
	if (ib_post_send(ep->qp, &r.wr, NULL))
		ep->sq.head--;
}

/* Called with ep->lock held, which `flags` belong to; releases it. */
static DAT_RETURN finish(struct kdp_ep *ep, struct request *r, bool with_inv, int inv_slot, DAT_RETURN ret,
			 unsigned long flags) __releases(&ep->lock)
{
	struct kdp_dto flushed __uninitialized;
	struct news n __uninitialized;
	bool is_flushed = false;

	if (!ret) {
		bool over = !ep->qp || (ep->state == DAT_EP_STATE_DISCONNECTED && !outstanding(&ep->sq));

		ret = over ? kdp_removed() : issue(ep, r, with_inv, inv_slot);
		/* behind the end of the connection each request is flushed */
		is_flushed = ret && ep->state == DAT_EP_STATE_DISCONNECTED;
		if (is_flushed) {
			flush(ep, r, &flushed, &n);
			ret = DAT_SUCCESS;
		}
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	if (is_flushed) {
		settle(&flushed, false);
		news_out(&n);
	}
	return ret;
}

/* Shortens the segments of a Read to the length of its source. */
static int trim(struct ib_sge *sge, int n, u64 bytes)
{
	int i;

	for (i = 0; i < n && bytes; i++) {
		sge[i].length = min_t(u64, sge[i].length, bytes);
		bytes -= sge[i].length;
	}
	return i;
}

static DAT_RETURN gather(struct kdp_ep *ep, struct request *r, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			 const DAT_RMR_TRIPLET *remote, struct ib_sge *sge)
{
	DAT_RETURN ret;

	if (n < 0 || n > KDP_IOV_MAX || n > dpr_op_iov(r->op, &ep->attr))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = kdp_segments(ep->obj.ia, ep->parts.pz, n, iov, dpr_op_rules[r->op].need, sge, &r->wr.num_sge, &r->bytes);
	if (!ret)
		ret = dpr_op_length(r->op, &ep->attr, remote, &r->bytes);
	if (!ret && r->op == DPR_OP_READ)
		r->wr.num_sge = trim(sge, r->wr.num_sge, r->bytes);
	return ret;
}

static DAT_RETURN post(DAT_EP_HANDLE handle, struct request *r, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		       const DAT_RMR_TRIPLET *remote)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	struct ib_sge sge[KDP_IOV_MAX] __uninitialized; /* the first n are filled */
	unsigned long flags;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	r->wr.sg_list = sge;
	spin_lock_irqsave(&ep->lock, flags);
	ret = may_post(ep, r);
	if (!ret)
		ret = gather(ep, r, n, iov, remote, sge);
	return finish(ep, r, false, 0, ret, flags);
}

DAT_RETURN kdp_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	struct request r __uninitialized;

	request_init(&r, DPR_OP_SEND, cookie, flags, 5);
	r.wr.opcode = IB_WR_SEND;
	return post(ep, &r, n, iov, NULL);
}

DAT_RETURN kdp_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
					    DAT_RMR_CONTEXT context)
{
	struct request r = { .op = DPR_OP_SEND_INV, .cookie = cookie, .flags = flags, .flags_arg = 5 };

	if (invalidate != DAT_TRUE && invalidate != DAT_FALSE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (!invalidate)
		return kdp_ep_post_send(ep, n, iov, cookie, flags);
	r.wr.opcode = IB_WR_SEND_WITH_INV;
	r.wr.ex.invalidate_rkey = context;
	return post(ep, &r, n, iov, NULL);
}

static DAT_RETURN rdma(DAT_EP_HANDLE ep, enum dpr_op op, enum ib_wr_opcode opcode, DAT_COUNT n,
		       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
		       DAT_COMPLETION_FLAGS flags)
{
	struct request r __uninitialized;

	if (!remote)
		return kdp_ep_of(ep) ? DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5)
				     : DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	request_init(&r, op, cookie, flags, 6);
	r.wr.opcode = opcode;
	r.rdma.remote_addr = remote->virtual_address;
	r.rdma.rkey = remote->rmr_context;
	return post(ep, &r, n, iov, remote);
}

DAT_RETURN kdp_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return rdma(ep, DPR_OP_READ, IB_WR_RDMA_READ, n, iov, cookie, remote, flags);
}

DAT_RETURN kdp_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	return rdma(ep, DPR_OP_WRITE, IB_WR_RDMA_WRITE, n, iov, cookie, remote, flags);
}

DAT_RETURN kdp_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE handle, const DAT_RMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct request r = { .op = DPR_OP_READ_TO_RMR, .cookie = cookie, .flags = flags, .flags_arg = 5 };
	struct kdp_ep *ep = kdp_ep_of(handle);
	unsigned long irq;
	struct ib_sge sge;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!local)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!remote)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (local->segment_length < remote->segment_length)
		return DPR_ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
	r.wr.opcode = IB_WR_RDMA_READ;
	r.wr.sg_list = &sge;
	r.wr.num_sge = 1;
	r.rdma.remote_addr = remote->virtual_address;
	r.rdma.rkey = remote->rmr_context;
	r.bytes = remote->segment_length;
	spin_lock_irqsave(&ep->lock, irq);
	ret = may_post(ep, &r);
	if (!ret)
		ret = kdp_rmr_local(ep->obj.ia, ep->parts.pz, local, &sge);
	sge.length = remote->segment_length;
	return finish(ep, &r, false, 0, ret, irq);
}

DAT_RETURN kdp_post_lmr(struct kdp_ep *ep, enum dpr_op op, struct kdp_lmr *l, DAT_DTO_COOKIE cookie,
			DAT_COMPLETION_FLAGS flags, unsigned int flags_arg)
{
	struct request r = { .op = op, .cookie = cookie, .flags = flags, .flags_arg = flags_arg, .mem = l };
	unsigned long irq;
	DAT_RETURN ret;

	if (op == DPR_OP_FMR) {
		r.wr.opcode = IB_WR_REG_MR;
		r.reg.mr = l->mr;
		r.reg.key = l->mr->rkey;
		r.reg.access = kdp_access(l->obj.ia, l->priv);
	} else {
		r.wr.opcode = IB_WR_LOCAL_INV;
		r.wr.ex.invalidate_rkey = l->rkey;
	}
	spin_lock_irqsave(&ep->lock, irq);
	ret = may_post(ep, &r);
	if (!ret && l->pz != ep->parts.pz)
		ret = DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	return finish(ep, &r, false, 0, ret, irq);
}

/* Returns true if an unbound RMR is unbound on a connected endpoint: the device has nothing to do. */
static bool nothing_to_do(struct kdp_ep *ep, struct request *r, int old, int fresh, struct news *n)
{
	struct kdp_dto d = { .op = DPR_OP_UNBIND, .cookie = r->cookie, .rmr = r->mem,
			     .quiet = r->flags & DAT_COMPLETION_SUPPRESS_FLAG,
			     .notify = !(r->flags & DAT_COMPLETION_UNSIGNALLED_FLAG) };

	if (old >= 0 || fresh >= 0 || ep->state != DAT_EP_STATE_CONNECTED)
		return false;
	request_event(ep, &d, DAT_DTO_SUCCESS, n);
	return true;
}

DAT_RETURN kdp_post_bind(struct kdp_ep *ep, struct kdp_rmr *m, int old, int fresh, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags)
{
	struct request r = { .op = fresh >= 0 ? DPR_OP_BIND : DPR_OP_UNBIND, .cookie = cookie, .flags = flags,
			     .flags_arg = 8, .mem = m, .slot = fresh >= 0 ? fresh : old };
	bool with_inv = fresh >= 0 && old >= 0, nothing;
	struct news n __uninitialized;
	unsigned long irq;
	DAT_RETURN ret;

	if (fresh >= 0) {
		r.wr.opcode = IB_WR_REG_MR;
		r.reg.mr = m->slot[fresh].mr;
		r.reg.key = m->slot[fresh].rkey;
		r.reg.access = kdp_access(m->obj.ia, m->slot[fresh].priv);
	} else if (old >= 0) {
		r.wr.opcode = IB_WR_LOCAL_INV;
		r.wr.ex.invalidate_rkey = m->slot[old].rkey;
	}
	if (with_inv) {
		r.inv.opcode = IB_WR_LOCAL_INV;
		r.inv.ex.invalidate_rkey = m->slot[old].rkey;
		r.inv.send_flags = IB_SEND_SIGNALED;
	}
	spin_lock_irqsave(&ep->lock, irq);
	ret = may_post(ep, &r);
	if (!ret && m->pz != ep->parts.pz)
		ret = DPR_ERR(DAT_PROTECTION_VIOLATION, DAT_NO_SUBTYPE);
	if (!ret && !(ep->parts.request->flags & DAT_EVD_RMR_BIND_FLAG))
		ret = DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_REQUEST);
	nothing = !ret && nothing_to_do(ep, &r, old, fresh, &n);
	if (nothing) {
		spin_unlock_irqrestore(&ep->lock, irq);
		news_out(&n);
		return DAT_SUCCESS;
	}
	/* the reference of the record */
	if (!ret) {
		kdp_obj_hold(&m->obj);
		WRITE_ONCE(m->latest, fresh);
		ret = finish(ep, &r, with_inv, old, ret, irq);
		if (ret) {
			WRITE_ONCE(m->latest, old);
			kdp_obj_put(&m->obj);
		}
		return ret;
	}
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

/* --- receives --- */

static int hand_over(struct kdp_ep *ep, struct kdp_dto *d, struct ib_sge *sge, int n)
{
	struct ib_recv_wr wr = { .wr_cqe = &d->cqe, .sg_list = sge, .num_sge = n };

	return ib_post_recv(ep->qp, &wr, NULL);
}

static struct ib_sge *waiting(struct kdp_queue *q, u32 index)
{
	return &q->sge[(size_t)(index & q->mask) * q->iov];
}

int kdp_recv_hand_over(struct kdp_ep *ep)
{
	int err = 0;

	while (!err && ep->rq.given != ep->rq.head) {
		struct kdp_dto *d = record(&ep->rq, ep->rq.given);

		err = hand_over(ep, d, waiting(&ep->rq, d->index), d->nsge);
		if (!err)
			ep->rq.given++;
	}
	return err;
}

static void flush_recv(struct kdp_ep *ep, DAT_DTO_COOKIE cookie)
{
	DAT_EVENT ev;

	dpr_op_event(&ev, DPR_OP_RECV, (DAT_HANDLE)ep, NULL, cookie, DAT_DTO_ERR_FLUSHED, 0);
	if (ep->parts.recv)
		kdp_evd_put(ep->parts.recv, &ev, true);
}

void kdp_recv_flush(struct kdp_ep *ep)
{
	for (; ep->rq.given != ep->rq.head; ep->rq.given++)
		flush_recv(ep, record(&ep->rq, ep->rq.given)->cookie);
	ep->rq.tail = ep->rq.head;
}

/* Called with ep->lock held. */
static DAT_RETURN issue_recv(struct kdp_ep *ep, DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags, struct ib_sge *sge,
			     int n, u64 bytes)
{
	struct kdp_dto *d;
	int err = 0;

	/* behind the end no queue pair takes it, and those before it have completed or are about to */
	if (ep->state == DAT_EP_STATE_DISCONNECTED && (!ep->qp || !outstanding(&ep->rq))) {
		flush_recv(ep, cookie);
		return DAT_SUCCESS;
	}
	if (outstanding(&ep->rq) >= ep->rq.most)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	d = next_record(ep, &ep->rq, DPR_OP_RECV, cookie, flags, bytes, recv_done);
	d->nsge = n;
	if (ep->qp)
		err = hand_over(ep, d, sge, n);
	else
		memcpy(waiting(&ep->rq, d->index), sge, n * sizeof(*sge));
	if (!err) {
		ep->rq.head++;
		if (ep->qp)
			ep->rq.given++;
		return DAT_SUCCESS;
	}
	if (ep->state != DAT_EP_STATE_DISCONNECTED)
		return post_error(err);
	flush_recv(ep, cookie);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS completion)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	struct ib_sge sge[KDP_IOV_MAX] __uninitialized; /* the first n are filled */
	struct kdp_evd *evd;
	unsigned long flags;
	DAT_RETURN ret;
	int nsge;
	u64 bytes;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	spin_lock_irqsave(&ep->lock, flags);
	ret = dpr_op_may_recv(ep->state, ep->srq, ep->parts.pz, ep->parts.recv, ep->attr.recv_completion_flags,
			      completion);
	if (!ret && (n < 0 || n > KDP_IOV_MAX || n > ep->attr.max_recv_iov))
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!ret && n && !iov)
		ret = DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ret)
		ret = kdp_segments(ep->obj.ia, ep->parts.pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, sge, &nsge, &bytes);
	if (!ret)
		ret = issue_recv(ep, cookie, completion, sge, nsge, bytes);
	evd = ep->state == DAT_EP_STATE_DISCONNECTED ? ep->parts.recv : NULL;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (evd)
		kdp_evd_kick(evd);
	return ret;
}

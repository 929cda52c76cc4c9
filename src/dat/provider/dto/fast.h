/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path of transfers: one segment, default flags, a connected endpoint with room, and a
 * completion with success. Anything else is left untouched for request.c, recv.c and event.c, which
 * would do the same here, and determine the errors.
 */
#ifndef DAT_PROVIDER_DTO_FAST_H
#define DAT_PROVIDER_DTO_FAST_H

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/lmr.h"
#include "util/lock.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns the region of `context`, mostly that of the last segment. Regions are never unmapped, so
 * the last one is compared whether or not it is alive. */
static inline const struct dpr_lmr *dpr_fast_lmr(struct dpr_ep *ep, DAT_LMR_CONTEXT context)
	UT_REQUIRES(ep->lock)
{
	const struct dpr_lmr *l = ep->last_lmr;

	if (l && dpr_key_is(&l->key, ep->obj.ia, DPR_KEY_LOCAL, context))
		return l;
	l = (struct dpr_lmr *)dpr_key_find(ep->obj.ia, DPR_KEY_LOCAL, context);
	if (l)
		ep->last_lmr = l;
	return l;
}

static inline bool dpr_fast_segment(struct dpr_ep *ep, const DAT_LMR_TRIPLET *t,
				     DAT_MEM_PRIV_FLAGS need) UT_REQUIRES(ep->lock)
{
	const struct dpr_lmr *l = dpr_fast_lmr(ep, t->lmr_context);
	uint64_t off;

	if (!l || l->pz != ep->pz || need & ~l->priv || l->va != DAT_VA_TYPE_VA)
		return false;
	off = t->virtual_address - l->base;
	return t->segment_length && off <= l->length && t->segment_length <= l->length - off;
}

/* Returns the record of a transfer, or NULL without room. */
static inline struct dpr_dto *dpr_fast_record(struct dpr_ep *ep, struct dpr_dtoq *q,
					       enum dpr_op op, DAT_DTO_COOKIE cookie,
					       uint32_t bytes)
{
	struct dpr_dto *d;

	if (dpr_dtoq_used(q) >= q->limit)
		return NULL;
	d = dpr_dtoq_next(q);
	dpr_dto_begin(d, ep, op, cookie, bytes, DAT_COMPLETION_DEFAULT_FLAG);
	return d;
}

/* Returns true if state and length admit the request; its segment is not checked. */
static inline bool dpr_fast_fits(struct dpr_ep *ep, enum dpr_op op, uint32_t bytes,
				  const DAT_RMR_TRIPLET *remote) UT_REQUIRES(ep->lock)
{
	if (ep->state != DAT_EP_STATE_CONNECTED || !ep->qp || !ep->request ||
	    ep->attr.max_request_iov < 1 || dpr_ep_is_ud(ep))
		return false;
	if (!remote)
		return bytes <= ep->attr.max_message_size;
	return bytes <= ep->attr.max_rdma_size &&
	       (op == DPR_OP_READ ? bytes == remote->segment_length
				  : bytes <= remote->segment_length);
}

/* Inlined three times, each with a constant operation. Returns false if nothing was posted. */
__attribute__((always_inline)) static inline bool
dpr_fast_post(struct dpr_ep *ep, enum dpr_op op, const DAT_LMR_TRIPLET *t, DAT_DTO_COOKIE cookie,
	       const DAT_RMR_TRIPLET *remote) UT_REQUIRES(ep->lock)
{
	const bool read = op == DPR_OP_READ, write = op == DPR_OP_WRITE;
	const int count = read ? DCNT_EP_POST_READ : write ? DCNT_EP_POST_WRITE : DCNT_EP_POST_SEND;
	uint32_t bytes = t->segment_length;
	struct ibv_send_wr *bad, wr;
	struct ibv_sge sge;
	struct dpr_dto *d;

	if (!dpr_fast_fits(ep, op, bytes, remote) ||
	    !dpr_fast_segment(ep, t, read ? DAT_MEM_PRIV_LOCAL_WRITE_FLAG
					   : DAT_MEM_PRIV_LOCAL_READ_FLAG))
		return false;
	d = dpr_fast_record(ep, &ep->sq, op, cookie, bytes);
	if (!d)
		return false;
	sge = (struct ibv_sge){ t->virtual_address, bytes, t->lmr_context };
	wr.wr_id = (uintptr_t)d;
	wr.next = NULL;
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.opcode = read ? IBV_WR_RDMA_READ : write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (!read && bytes <= ep->inline_max)
		wr.send_flags |= IBV_SEND_INLINE;
	if (remote) {
		wr.wr.rdma.remote_addr = remote->virtual_address;
		wr.wr.rdma.rkey = remote->rmr_context;
	}
	/* counted first: the completion may be drained before ibv_post_send returns */
	ep->sq.head++;
	if (ibv_post_send(ep->qp, &wr, &bad)) {
		ep->sq.head--; /* request.c meets the error too, and returns it */
		return false;
	}
	ep->sq.quiet_run = 0;
	dpr_bump(&ep->counters[count], 1);
	dpr_bump(&ep->counters[count + 1], bytes);
	return true;
}

static inline bool dpr_fast_recv(struct dpr_ep *ep, const DAT_LMR_TRIPLET *t,
				  DAT_DTO_COOKIE cookie) UT_REQUIRES(ep->lock)
{
	struct ibv_recv_wr *bad, wr;
	struct ibv_sge sge;
	struct dpr_dto *d;

	if (ep->state != DAT_EP_STATE_CONNECTED || !ep->qp || ep->srq || !ep->recv ||
	    ep->attr.max_recv_iov < 1 || ep->rq.given != ep->rq.head ||
	    !dpr_fast_segment(ep, t, DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
		return false;
	d = dpr_fast_record(ep, &ep->rq, DPR_OP_RECV, cookie, t->segment_length);
	if (!d)
		return false;
	sge = (struct ibv_sge){ t->virtual_address, t->segment_length, t->lmr_context };
	wr = (struct ibv_recv_wr){ .wr_id = (uintptr_t)d, .sg_list = &sge, .num_sge = 1 };
	ep->rq.given = ++ep->rq.head;
	if (ibv_post_recv(ep->qp, &wr, &bad)) {
		ep->rq.given = --ep->rq.head;
		return false;
	}
	dpr_bump(&ep->counters[DCNT_EP_POST_RECV], 1);
	dpr_bump(&ep->counters[DCNT_EP_POST_RECV_DATA], t->segment_length);
	return true;
}

/* Returns the queue whose oldest record the completion retires, or NULL if the fast path does not
 * apply. The state is read without its lock: see event.h on graceful disconnects. */
static inline struct dpr_dtoq *dpr_fast_queue(struct dpr_ep *ep, const struct dpr_dto *d,
					       const struct ibv_wc *wc) UT_NO_TSA;
static inline struct dpr_dtoq *dpr_fast_queue(struct dpr_ep *ep, const struct dpr_dto *d,
					       const struct ibv_wc *wc)
{
	struct dpr_dtoq *q = d->op == DPR_OP_RECV ? &ep->rq : &ep->sq;

	if (wc->qp_num != atomic_load_explicit(&ep->qpn, memory_order_relaxed) ||
	    atomic_load_explicit(&ep->early, memory_order_acquire) ||
	    d->index != atomic_load_explicit(&q->tail, memory_order_relaxed))
		return NULL;
	if (d->op == DPR_OP_RECV)
		return wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) || dpr_ep_is_ud(ep)
			       ? NULL : q;
	if (d->op > DPR_OP_READ || d->quiet || d->rmr ||
	    __atomic_load_n(&ep->state, __ATOMIC_RELAXED) == DAT_EP_STATE_DISCONNECT_PENDING)
		return NULL;
	return q;
}

/*
 * Turns a completion into *ev, without evd_handle. Returns false if the fast path does not apply.
 */
static inline bool dpr_fast_event(const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify) UT_NO_TSA;
static inline bool dpr_fast_event(const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify)
{
	struct dpr_dto *d = (struct dpr_dto *)(uintptr_t)wc->wr_id;
	struct dpr_ep *ep = d ? d->ep : NULL;
	struct dpr_dtoq *q;
	uint32_t bytes;
	DAT_DTOS what;

	if (wc->status != IBV_WC_SUCCESS || !ep)
		return false;
	q = dpr_fast_queue(ep, d, wc);
	if (!q)
		return false;
	bytes = d->bytes;
	what = d->op == DPR_OP_WRITE ? DAT_DTO_RDMA_WRITE
	       : d->op == DPR_OP_READ ? DAT_DTO_RDMA_READ : DAT_DTO_SEND;
	if (q == &ep->rq) {
		bytes = wc->byte_len;
		what = DAT_DTO_RECEIVE;
		dpr_bump(&ep->counters[DCNT_EP_RECV], 1);
		dpr_bump(&ep->counters[DCNT_EP_RECV_DATA], bytes);
	}
	*notify = d->notify;
	ev->event_number = DAT_DTO_COMPLETION_EVENT;
	ev->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = (DAT_EP_HANDLE)ep,
		.user_cookie = d->cookie,
		.status = DAT_DTO_SUCCESS,
		.transfered_length = bytes,
		.operation = what,
	};
	atomic_store_explicit(&q->tail, d->index + 1, memory_order_release);
	return true;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/event.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/dto/srq.h"
#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/dto/status.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/keys.h"
#include "dat/provider/mem/rmr.h"

#include <dat2/dat_ib_extensions.h>

static void release(struct dpr_dto *d, bool ok)
{
	if (d->rmr)
		dpr_rmr_done(d, ok);
	d->rmr = NULL;
}

static void retire(struct dpr_dtoq *q, struct dpr_dto *last, bool ok)
{
	uint32_t i = atomic_load_explicit(&q->tail, memory_order_relaxed);
	uint32_t end = last->index + 1, inner = 0;

	for (; i != end; i++) {
		struct dpr_dto *d = dpr_dtoq_at(q, i);

		if (d->rmr)
			release(d, d != last || ok);
		inner += d->op == DPR_OP_INVALIDATE;
	}
	/* before tail: a poster that sees the slots free must not count these */
	if (inner)
		atomic_fetch_sub_explicit(&q->inner, inner, memory_order_relaxed);
	atomic_store_explicit(&q->tail, end, memory_order_release);
}

void dpr_dtoq_fini(struct dpr_dtoq *q)
{
	uint32_t i = atomic_load_explicit(&q->tail, memory_order_acquire);

	/* a queue of receives (iov_max is not 0) has no references */
	for (; !q->iov_max && i != q->head; i++)
		release(dpr_dtoq_at(q, i), false);
	dpr_dtoq_drop(q);
}

/* The state is read without its lock: see event.h on graceful disconnects. */
static bool may_drain(struct dpr_ep *ep) UT_NO_TSA;
static bool may_drain(struct dpr_ep *ep)
{
	return __atomic_load_n(&ep->state, __ATOMIC_RELAXED) == DAT_EP_STATE_DISCONNECT_PENDING &&
	       !dpr_dtoq_used(&ep->sq);
}

static struct dpr_ep *hold(struct dpr_ep *ep)
{
	dpr_obj_hold(&ep->obj);
	return ep;
}

/*
 * Also recorded in the endpoint: a disconnect of the peer that is handled meanwhile is then BROKEN.
 */
static struct dpr_ep *failed(struct dpr_ep *ep)
{
	atomic_store(&ep->failed, true);
	return hold(ep);
}

static bool request_event(struct dpr_dto *d, const struct ibv_wc *wc, DAT_EVENT *ev,
				      bool *notify, struct dpr_ep **broken,
				      struct dpr_ep **drained) UT_NO_TSA;
static bool request_event(struct dpr_dto *d, const struct ibv_wc *wc, DAT_EVENT *ev,
				      bool *notify, struct dpr_ep **broken,
				      struct dpr_ep **drained)
{
	bool ok = wc->status == IBV_WC_SUCCESS;
	struct dpr_ep *ep = d->ep;

	/* of a queue pair that is destroyed */
	if (wc->qp_num != atomic_load_explicit(&ep->qpn, memory_order_relaxed))
		return false;
	if (ok && d->quiet) {
		retire(&ep->sq, d, true);
		if (may_drain(ep))
			*drained = hold(ep);
		return false;
	}
	*notify = !ok || d->notify;
	dpr_dto_fill(ev, ep, (enum dpr_op)d->op, d->cookie, dpr_dto_status(wc->status), d->bytes,
		     d->rmr);
	if (!ok && wc->status != IBV_WC_WR_FLUSH_ERR)
		*broken = failed(ep);
	ok = ok || d->op != DPR_OP_INVALIDATE; /* visible */
	retire(&ep->sq, d, wc->status == IBV_WC_SUCCESS);
	if (may_drain(ep))
		*drained = hold(ep);
	return ok;
}

/* Completes the event of a successful receive by the operation that consumed it, and counts it. */
static void received(struct dpr_ep *ep, const struct ibv_wc *wc, DAT_EVENT *ev)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	bool imm = wc->wc_flags & IBV_WC_WITH_IMM;
	unsigned int n = DCNT_EP_RECV;

	if (dpr_ep_is_ud(ep)) {
		dpr_dto_extend(ev, imm ? DAT_IB_DTO_RECV_UD_IMMED : DAT_IB_DTO_RECV_UD,
			       DAT_IB_UD_RECV, true);
		n = DCNT_EP_RECV_UD;
	} else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		dpr_dto_extend(ev, DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA, true);
		n = DCNT_EP_RECV_RDMA_IMM;
	} else if (imm) {
		dpr_dto_extend(ev, DAT_IB_DTO_RECV_MSG_IMMED, DAT_IB_RECV_IMMED_DATA, true);
		n = DCNT_EP_RECV_IMM;
	} else if (wc->wc_flags & IBV_WC_WITH_INV) {
		d->operation = DAT_DTO_RECEIVE_WITH_INVALIDATE;
		d->rmr_context = wc->invalidated_rkey;
		dpr_rmr_invalidated(ep->obj.ia, wc->invalidated_rkey);
	}
	/* As in Debian's provider: the sender's number in the sender's byte order. */
	if (imm)
		((DAT_IB_EXTENSION_EVENT_DATA *)ev->event_extension_data)->val.immed.data =
			wc->imm_data;
	dpr_bump(&ep->counters[n], 1);
	dpr_bump(&ep->counters[n + 1], wc->byte_len);
}

/* Counts a receive taken from the SRQ and compares the marks of dat_ep_set_watermark. */
static void taken(struct dpr_ep *ep, struct dpr_ep **broken, struct dpr_ep **drained)
{
	DAT_COUNT n = atomic_fetch_add_explicit(&ep->taken, 1, memory_order_relaxed) + 1;
	DAT_COUNT soft = atomic_load_explicit(&ep->soft, memory_order_relaxed);
	DAT_COUNT hard = atomic_load_explicit(&ep->hard, memory_order_relaxed);

	if (soft >= 0 && n >= soft && atomic_exchange(&ep->soft_armed, false)) {
		atomic_store(&ep->soft_due, true);
		if (!*drained)
			*drained = hold(ep);
	}
	if (hard >= 0 && n > hard && !*broken)
		*broken = failed(ep);
}

/* The EVD may be of another adapter on the device than endpoint and SRQ, which are of one. */
static bool recv_event(struct dpr_dto *d, const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify,
		       struct dpr_ep **broken, struct dpr_ep **drained) UT_NO_TSA;
static bool recv_event(struct dpr_dto *d, const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify,
		       struct dpr_ep **broken, struct dpr_ep **drained)
{
	struct dpr_srq *srq = d->ep ? NULL : d->srq;
	struct dpr_ep *ep = d->ep ? d->ep
				  : (struct dpr_ep *)dpr_key_find(srq->obj.ia, DPR_KEY_QP, wc->qp_num);
	DAT_DTO_COOKIE cookie = d->cookie;

	*notify = d->notify || wc->status != IBV_WC_SUCCESS;
	if (srq)
		dpr_srq_reaped(srq, d, ep);
	if (!ep || wc->qp_num != atomic_load_explicit(&ep->qpn, memory_order_relaxed))
		return false;
	if (!srq)
		retire(&ep->rq, d, true);
	dpr_dto_fill(ev, ep, DPR_OP_RECV, cookie, dpr_dto_status(wc->status), wc->byte_len, NULL);
	if (wc->status == IBV_WC_SUCCESS)
		received(ep, wc, ev);
	else if (wc->status != IBV_WC_WR_FLUSH_ERR)
		*broken = failed(ep);
	if (srq)
		taken(ep, broken, drained);
	return true;
}

bool dpr_dto_event(const struct ibv_wc *wc, DAT_EVENT *ev, bool *notify, struct dpr_ep **broken,
		   struct dpr_ep **drained)
{
	struct dpr_dto *d = (struct dpr_dto *)(uintptr_t)wc->wr_id;

	*broken = *drained = NULL;
	if (!d)
		return false;
	if (d->op == DPR_OP_RECV)
		return recv_event(d, wc, ev, notify, broken, drained);
	return request_event(d, wc, ev, notify, broken, drained);
}

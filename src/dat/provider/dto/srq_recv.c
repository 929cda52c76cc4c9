/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/srq_recv.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/request.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/segments.h"

#include <dat2/dat_ib_extensions.h>
#include <stdlib.h>

static int chunk(struct dpr_srq *s, DAT_COUNT n) UT_REQUIRES(s->lock)
{
	struct dpr_srq_chunk *c = calloc(1, sizeof(*c) + (size_t)n * sizeof(c->record[0]));

	if (!c)
		return -1;
	c->next = s->chunks;
	s->chunks = c;
	for (DAT_COUNT i = 0; i < n; i++) {
		c->record[i].next = s->free;
		s->free = &c->record[i];
	}
	s->made += n;
	return 0;
}

int dpr_srq_records(struct dpr_srq *s, DAT_COUNT n)
{
	return n <= s->made ? 0 : chunk(s, n - s->made);
}

static DAT_RETURN issue(struct dpr_srq *s, struct ibv_sge *sge, int n, uint64_t bytes,
			DAT_DTO_COOKIE cookie) UT_REQUIRES(s->lock)
{
	struct dpr_dto *d = s->free;
	struct ibv_recv_wr *bad, wr = {
		.wr_id = (uintptr_t)d,
		.sg_list = sge,
		.num_sge = n,
	};
	int err;

	s->free = d->next;
	dpr_dto_begin(d, NULL, DPR_OP_RECV, cookie, bytes, DAT_COMPLETION_DEFAULT_FLAG);
	d->srq = s;
	err = ibv_post_srq_recv(s->srq, &wr, &bad);
	if (err) {
		d->next = s->free;
		s->free = d;
		return dpr_post_error(err);
	}
	s->posted++;
	s->outstanding++;
	return DAT_SUCCESS;
}

void dpr_srq_drain(struct dpr_srq *s)
{
	struct dpr_ia *ia = s->obj.ia;
	struct dpr_evd *e[64];
	struct dpr_obj *o;
	unsigned int n = 0;

	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia) {
		struct dpr_ep *ep = dpr_ep_of((DAT_HANDLE)o);

		if (!ep || ep->srq != s || n == sizeof(e) / sizeof(e[0]))
			continue;
		ut_lock(&ep->lock);
		if (ep->recv && (!n || e[n - 1] != ep->recv)) {
			dpr_obj_hold(&ep->recv->obj);
			e[n++] = ep->recv;
		}
		ut_unlock(&ep->lock);
	}
	ut_unlock(&ia->lock);
	while (n--) {
		dpr_evd_drain(e[n]);
		dpr_obj_put(&e[n]->obj);
	}
}

static bool room(struct dpr_srq *s)
{
	bool yes;

	ut_lock(&s->lock);
	yes = s->free && s->posted < s->max;
	ut_unlock(&s->lock);
	return yes;
}

static DAT_RETURN post(struct dpr_srq *s, struct ibv_sge *sge, int n, uint64_t bytes,
		       DAT_DTO_COOKIE cookie)
{
	DAT_RETURN ret;

	ut_lock(&s->lock);
	if (s->failed)
		ret = DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
	else if (!s->free || s->posted >= s->max)
		ret = DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	else
		ret = issue(s, sge, n, bytes, cookie);
	ut_unlock(&s->lock);
	return ret;
}

DAT_RETURN dpr_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			     DAT_DTO_COOKIE cookie)
{
	struct dpr_srq *s = dpr_srq_of(handle);
	struct ibv_sge sge[DPR_IOV_MAX];
	struct dpr_gather g;
	DAT_RETURN ret;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (n < 0 || n > DPR_IOV_MAX || n > s->iov_max)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (n && !iov)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	ret = dpr_segments(s->obj.ia, s->pz, n, iov, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, sge, &g);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!room(s))
		dpr_srq_drain(s);
	return post(s, sge, g.n, g.bytes, cookie);
}

/* --- completions --- */

void dpr_ep_soft_event(struct dpr_ep *ep)
{
	if (atomic_exchange(&ep->soft_due, false))
		dpr_async_event(ep->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
				(DAT_HANDLE)ep, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

void dpr_srq_reaped(struct dpr_srq *s, struct dpr_dto *d, const struct dpr_ep *ep)
{
	ut_lock(&s->lock);
	s->posted--;
	if (!ep)
		s->outstanding--;
	d->next = s->free;
	s->free = d;
	ut_unlock(&s->lock);
}

static bool receive(unsigned int operation)
{
	return operation == DAT_DTO_RECEIVE || operation == DAT_DTO_RECEIVE_WITH_INVALIDATE ||
	       operation == DAT_IB_DTO_RECV_IMMED || operation == DAT_IB_DTO_RECV_MSG_IMMED ||
	       operation == DAT_IB_DTO_RECV_UD || operation == DAT_IB_DTO_RECV_UD_IMMED;
}

void dpr_srq_event_reaped(const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	struct dpr_ep *ep;
	struct dpr_srq *s;

	if ((ev->event_number != DAT_DTO_COMPLETION_EVENT &&
	     ev->event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT) ||
	    !receive((unsigned int)d->operation))
		return;
	ep = (struct dpr_ep *)d->ep_handle; /* its slab is never unmapped */
	s = ep->srq;
	if (!s)
		return;
	atomic_fetch_sub_explicit(&ep->taken, 1, memory_order_relaxed);
	ut_lock(&s->lock);
	s->outstanding--;
	ut_unlock(&s->lock);
}

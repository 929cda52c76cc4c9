/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/dto/srq.h"

#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/mem/pz.h"

#include <dat2/dat_ib_extensions.h>
#include <stdlib.h>

static void construct(struct dpr_obj *o)
{
	ut_mutex_init(&((struct dpr_srq *)o)->lock);
}

static void release(struct dpr_obj *o)
{
	struct dpr_srq *s = (struct dpr_srq *)o;

	if (s->srq)
		ibv_destroy_srq(s->srq);
	ut_lock(&s->lock);
	s->srq = NULL;
	while (s->chunks) {
		struct dpr_srq_chunk *c = s->chunks;

		s->chunks = c->next;
		free(c);
	}
	s->free = NULL;
	ut_unlock(&s->lock);
	dpr_unuse(&s->pz->obj);
	dpr_obj_put(&s->pz->obj);
}

static void finish(struct dpr_obj *o)
{
	dpr_obj_end(o, DCNT_IA_SRQ_FREE);
}

const struct dpr_class dpr_srq_class = {
	.kind = DPR_SRQ,
	.type = DAT_HANDLE_TYPE_SRQ,
	.size = sizeof(struct dpr_srq),
	.construct = construct,
	.release = release,
	.close = finish,
};

static DAT_RETURN check(const struct dpr_ia *ia, const DAT_SRQ_ATTR *a)
{
	const struct ibv_device_attr *d = &ia->dev.orig_attr;

	if (!d->max_srq)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!a || a->max_recv_dtos <= 0 || a->max_recv_dtos > d->max_srq_wr || a->max_recv_iov < 0 ||
	    a->max_recv_iov > d->max_srq_sge || a->max_recv_iov > DPR_IOV_MAX ||
	    a->low_watermark != DAT_SRQ_LW_DEFAULT)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return DAT_SUCCESS;
}

static int make(struct dpr_srq *s, const DAT_SRQ_ATTR *a) UT_REQUIRES(s->lock)
{
	struct ibv_srq_init_attr init = {
		.srq_context = s,
		.attr = { .max_wr = (uint32_t)a->max_recv_dtos,
			  .max_sge = a->max_recv_iov ? (uint32_t)a->max_recv_iov : 1 },
	};

	s->srq = NULL;
	s->chunks = NULL;
	s->free = NULL;
	s->made = s->posted = s->outstanding = 0;
	s->low = DAT_SRQ_LW_DEFAULT;
	s->failed = false;
	s->max = a->max_recv_dtos;
	s->iov_max = a->max_recv_iov;
	if (dpr_srq_records(s, s->max))
		return -1;
	s->srq = ibv_create_srq(s->pz->pd, &init);
	return s->srq ? 0 : -1;
}

DAT_RETURN dpr_srq_create(DAT_IA_HANDLE handle, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR *attr,
			  DAT_SRQ_HANDLE *ret)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_pz *pz = dpr_pz_of(zone);
	struct dpr_srq *s;
	DAT_RETURN why;
	int err;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!pz || pz->obj.ia != ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	why = check(ia, attr);
	if (why != DAT_SUCCESS)
		return why;
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	s = dpr_obj_new(ia, DPR_SRQ);
	if (!s)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	s->pz = pz;
	dpr_use(&pz->obj);
	dpr_obj_hold(&pz->obj);
	ut_lock(&s->lock);
	err = make(s, attr);
	ut_unlock(&s->lock);
	if (err)
		return dpr_obj_undo(&s->obj, DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ));
	dpr_count(&ia->counters[DCNT_IA_SRQ_CREATE], 1);
	*ret = (DAT_SRQ_HANDLE)s;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *p)
{
	struct dpr_srq *s = dpr_srq_of(handle);
	DAT_RETURN ret = dpr_query_args(s, DAT_INVALID_HANDLE_SRQ,
					mask & ~(DAT_SRQ_PARAM_MASK)DAT_SRQ_FIELD_ALL, p);

	if (ret)
		return ret;
	dpr_srq_drain(s);
	ut_lock(&s->lock);
	*p = (DAT_SRQ_PARAM){
		.ia_handle = dpr_ia_public(s->obj.ia),
		.srq_state = s->failed ? DAT_SRQ_STATE_ERROR : DAT_SRQ_STATE_OPERATIONAL,
		.pz_handle = (DAT_PZ_HANDLE)s->pz,
		.max_recv_dtos = s->max,
		.max_recv_iov = s->iov_max,
		.low_watermark = s->low,
		.available_dto_count = s->posted,
		.outstanding_dto_count = s->outstanding,
	};
	ut_unlock(&s->lock);
	return DAT_SUCCESS;
}

/* A device that cannot resize keeps its size, which is enough to become smaller. */
static DAT_RETURN resize(struct dpr_srq *s, DAT_COUNT n) UT_REQUIRES(s->lock)
{
	struct ibv_srq_attr a = { .max_wr = (uint32_t)n };

	if (s->failed)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
	if (n < s->outstanding || n < s->low)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	if (dpr_srq_records(s, n))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	if (ibv_modify_srq(s->srq, &a, IBV_SRQ_MAX_WR) && n > s->max)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
	s->max = n;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT n)
{
	struct dpr_srq *s = dpr_srq_of(handle);
	DAT_RETURN ret;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (n <= 0 || n > s->obj.ia->dev.orig_attr.max_srq_wr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	dpr_srq_drain(s);
	ut_lock(&s->lock);
	ret = resize(s, n);
	ut_unlock(&s->lock);
	return ret;
}

static DAT_RETURN set_lw(struct dpr_srq *s, DAT_COUNT low) UT_REQUIRES(s->lock)
{
	struct ibv_srq_attr a = { .srq_limit = (uint32_t)low };

	if (low < 0 || low > s->max)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (s->failed)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_ERROR);
	if (ibv_modify_srq(s->srq, &a, IBV_SRQ_LIMIT))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	s->low = low;
	return DAT_SUCCESS;
}

DAT_RETURN dpr_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low)
{
	struct dpr_srq *s = dpr_srq_of(handle);
	DAT_RETURN ret;

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	ut_lock(&s->lock);
	ret = set_lw(s, low);
	ut_unlock(&s->lock);
	return ret;
}

DAT_RETURN dpr_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dpr_srq *s = dpr_srq_of(handle);

	if (!s)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (atomic_load(&s->obj.uses))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
	finish(&s->obj);
	return DAT_SUCCESS;
}

/* The low watermark fires once; the consumer sets it again. */
void dpr_srq_async(struct dpr_srq *s, enum ibv_event_type type)
{
	bool limit = type == IBV_EVENT_SRQ_LIMIT_REACHED;

	ut_lock(&s->lock);
	if (limit)
		s->low = DAT_SRQ_LW_DEFAULT;
	else
		s->failed = true;
	ut_unlock(&s->lock);
	dpr_async_event(s->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, (DAT_HANDLE)s,
			limit ? DAT_SRQ_LOW_WATERMARK_EVENT : DAT_SRQ_OTHER_ERROR);
}

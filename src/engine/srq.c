/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/srq.h"

#include "engine/cq.h"
#include "engine/dev.h"
#include "engine/event.h"
#include "engine/mkey.h"
#include "engine/recv_queue.h"
#include "engine/refuse.h"
#include "engine/ring.h"
#include "engine/xrcd.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

static int check_spec(struct eng_dev *dev, const struct eng_srq_spec *s)
{
	const struct ibv_device_attr *a = &dev->attr.orig_attr;

	if (!s->pd || s->pd->dev != dev || !s->cq != !s->xrcd)
		return eng_refuse(dev, ENG_R_SRQ_OBJECTS);
	if (s->cq && (s->cq->dev != dev || s->xrcd->dev != dev))
		return eng_refuse(dev, ENG_R_SRQ_OBJECTS);
	if (s->attr.max_wr < 1 || s->attr.max_wr > (uint32_t)a->max_srq_wr ||
	    s->attr.max_sge > (uint32_t)a->max_srq_sge)
		return eng_refuse(dev, ENG_R_SRQ_SIZE);
	return 0;
}

/* Peers name the number on the wire. It is chosen as a QPN is, with the slot bits of this process: a target
 * queue pair of another process forwards by them. */
static int choose_number(struct eng_dev *dev, struct eng_srq *srq) UT_REQUIRES(dev->lock);
static int choose_number(struct eng_dev *dev, struct eng_srq *srq)
{
	uint32_t n = eng_dev_number(dev, &dev->srqs);

	if (!n)
		return eng_refuse(dev, ENG_R_MEMORY);
	srq->number = n;
	return ut_idtab_add(&dev->srqs, n, srq);
}

static int enter(struct eng_dev *dev, struct eng_srq *srq)
{
	int r;

	if (!srq->xrcd)
		return 0;
	ut_lock(&dev->lock);
	r = dev->qpn_mask ? 0 : dev->ops->attach(dev);
	if (r == 0)
		r = choose_number(dev, srq);
	eng_dev_unlock(dev);
	return r;
}

static int srq_new(struct eng_ctx *ctx, const struct eng_srq_spec *spec, struct eng_srq **ret)
{
	struct eng_srq *srq = ut_zalloc(sizeof(*srq));
	int r;

	if (!srq)
		return eng_refuse(ctx->dev, ENG_R_MEMORY);
	srq->ctx = ctx;
	srq->dev = ctx->dev;
	srq->pd = spec->pd;
	srq->cq = spec->cq;
	srq->xrcd = spec->xrcd;
	srq->max_sge = spec->attr.max_sge;
	if (eng_ring_init(&srq->ring, spec->attr.max_wr, eng_recv_stride(srq->max_sge)) < 0) {
		free(srq);
		return eng_refuse(ctx->dev, ENG_R_MEMORY);
	}
	r = enter(srq->dev, srq);
	if (r < 0) {
		eng_ring_fini(&srq->ring);
		free(srq);
		return r;
	}
	*ret = srq;
	return 0;
}

int eng_srq_create(struct eng_ctx *ctx, struct eng_srq_spec *spec, struct eng_srq **ret)
{
	struct eng_dev *dev = ctx->dev;
	int r = dev->refuses(dev, "create_srq");
	struct eng_srq *srq = NULL;

	if (r == 0)
		r = check_spec(dev, spec);
	if (r < 0)
		return r;
	if (eng_count(&dev->n_srq, (uint32_t)dev->attr.orig_attr.max_srq) < 0)
		return eng_refuse(dev, ENG_R_SRQ_LIMIT);
	r = srq_new(ctx, spec, &srq);
	if (r < 0) {
		eng_uncount(&dev->n_srq);
		return r;
	}
	atomic_fetch_add(&srq->pd->users, 1);
	if (srq->xrcd) {
		atomic_fetch_add(&srq->cq->users, 1);
		atomic_fetch_add(&srq->xrcd->users, 1);
	}
	spec->attr.srq_limit = 0;
	*ret = srq;
	return 0;
}

int eng_srq_destroy(struct eng_srq *srq)
{
	struct eng_dev *dev = srq->dev;

	if (atomic_load(&srq->users))
		return eng_refuse(dev, ENG_R_SRQ_USED);
	if (srq->xrcd) {
		ut_lock(&dev->lock);
		ut_idtab_del(&dev->srqs, srq->number);
		eng_dev_unlock(dev);
		atomic_fetch_sub(&srq->cq->users, 1);
		atomic_fetch_sub(&srq->xrcd->users, 1);
	}
	atomic_fetch_sub(&srq->pd->users, 1);
	eng_uncount(&dev->n_srq);
	eng_ring_fini(&srq->ring);
	free(srq);
	return 0;
}

struct eng_srq *eng_srq_find(struct eng_dev *dev, uint32_t number)
{
	eng_dev_held(dev);
	return ut_idtab_get(&dev->srqs, number);
}

static int modify(struct eng_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	uint32_t max = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->ring.max;
	uint32_t limit = mask & IBV_SRQ_LIMIT ? attr->srq_limit : srq->limit;
	int r = 0;

	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return eng_refuse(srq->dev, ENG_R_SRQ_MASK);
	if (max < 1 || max > (uint32_t)srq->dev->attr.orig_attr.max_srq_wr || limit > max ||
	    max < eng_ring_used(&srq->ring))
		return eng_refuse(srq->dev, ENG_R_SRQ_VALUES);
	if (max != srq->ring.max)
		r = eng_ring_resize(&srq->ring, max);
	if (r < 0)
		return eng_refuse(srq->dev, ENG_R_MEMORY);
	if (r == 0)
		srq->limit = limit;
	return r;
}

int eng_srq_modify(struct eng_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	struct eng_dev *dev = srq->dev;
	int r;

	/* Both ends are stopped: consumers hold the progress lock, posting threads that of the ring. */
	ut_lock(&dev->lock);
	ut_lock(&srq->ring.lock);
	r = modify(srq, attr, mask);
	ut_unlock(&srq->ring.lock);
	eng_dev_unlock(dev);
	return r;
}

int eng_srq_query(struct eng_srq *srq, struct ibv_srq_attr *ret)
{
	ut_lock(&srq->ring.lock);
	*ret = (struct ibv_srq_attr){
		.max_wr = srq->ring.max, .max_sge = srq->max_sge, .srq_limit = srq->limit
	};
	ut_unlock(&srq->ring.lock);
	return 0;
}

int eng_srq_post(struct eng_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int r = 0;

	ut_lock(&srq->ring.lock);
	for (; wr; wr = wr->next) {
		r = eng_recv_put(&srq->ring, srq->max_sge, wr);
		if (r < 0) {
			*bad = wr;
			eng_refuse(srq->dev, r == -ENOMEM ? ENG_R_SRQ_FULL : ENG_R_SRQ_SGES);
			break;
		}
	}
	ut_unlock(&srq->ring.lock);
	return r;
}

bool eng_srq_take(struct eng_srq *srq, struct eng_rwqe *buf)
{
	bool got;

	ut_lock(&srq->ring.lock);
	got = eng_recv_pop(&srq->ring, buf);
	if (got && srq->limit && eng_ring_used(&srq->ring) < srq->limit) {
		srq->limit = 0;
		eng_async_raise(srq->ctx, IBV_EVENT_SRQ_LIMIT_REACHED, srq->user);
	}
	ut_unlock(&srq->ring.lock);
	return got;
}

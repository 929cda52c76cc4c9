/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How completion queues come and go, and change their size. */
#include "engine/cq.h"

#include "engine/dev.h"
#include "engine/event.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

static int bad_size(struct eng_dev *dev, uint32_t cqe)
{
	return cqe < 1 || dev->attr.orig_attr.max_cqe < 1 ||
	       cqe > (uint32_t)dev->attr.orig_attr.max_cqe;
}

static void chan_count(struct eng_chan *chan, int by)
{
	if (!chan)
		return;
	ut_lock(&chan->lock);
	chan->cqs += (unsigned)by;
	ut_unlock(&chan->lock);
}

static struct eng_cq *cq_alloc(uint32_t cqe)
{
	struct eng_cq *cq = ut_zalloc(sizeof(*cq));

	if (!cq)
		return NULL;
	ut_mutex_init(&cq->lock);
	ut_lock(&cq->lock);
	cq->size = cqe;
	cq->cap = pow2(cqe);
	/* Zeroed memory of this size comes from the kernel untouched, so a
	 * boastful depth costs nothing until it is used. */
	cq->ring = ut_calloc(cq->cap, sizeof(*cq->ring));
	ut_unlock(&cq->lock);
	return cq;
}

static void cq_free(struct eng_cq *cq)
{
	ut_lock(&cq->lock);
	free(cq->ring);
	ut_unlock(&cq->lock);
	ut_mutex_fini(&cq->lock);
	free(cq);
}

static bool has_ring(struct eng_cq *cq)
{
	bool yes;

	ut_lock(&cq->lock);
	yes = cq->ring != NULL;
	ut_unlock(&cq->lock);
	return yes;
}

int eng_cq_create(struct eng_ctx *ctx, uint32_t cqe, struct eng_chan *chan, bool timestamps,
		  struct eng_cq **ret)
{
	struct eng_dev *dev = ctx->dev;
	struct eng_cq *cq;

	if (bad_size(dev, cqe))
		return -EINVAL;
	if (eng_count(&dev->n_cq, (uint32_t)dev->attr.orig_attr.max_cq) < 0)
		return -ENOMEM;
	cq = cq_alloc(cqe);
	if (!cq || !has_ring(cq)) {
		if (cq)
			cq_free(cq);
		eng_uncount(&dev->n_cq);
		return -ENOMEM;
	}
	cq->ctx = ctx;
	cq->dev = dev;
	cq->chan = chan;
	cq->timestamps = timestamps;
	ut_list_init(&cq->ready);
	ut_list_init(&cq->held);
	chan_count(chan, 1);
	*ret = cq;
	return 0;
}

int eng_cq_destroy(struct eng_cq *cq)
{
	struct eng_dev *dev = cq->dev;

	if (atomic_load(&cq->users))
		return -EBUSY;
	/* Producers hold the progress lock; without users none comes again. */
	ut_lock(&dev->lock);
	ut_list_del(&cq->held);
	eng_dev_unlock(dev);
	if (cq->chan)
		eng_chan_drop(cq->chan, cq);
	chan_count(cq->chan, -1);
	cq_free(cq);
	eng_uncount(&dev->n_cq);
	return 0;
}

int eng_cq_resize(struct eng_cq *cq, uint32_t cqe)
{
	struct eng_cqe *ring, *old;
	uint32_t cap, n = 0;

	if (bad_size(cq->dev, cqe))
		return -EINVAL;
	cap = pow2(cqe);
	ring = ut_calloc(cap, sizeof(*ring));
	if (!ring)
		return -ENOMEM;
	/* What was posted before this call counts: another thread may be about to complete it. */
	ut_lock(&cq->dev->lock);
	cq->dev->ops->progress(cq->dev);
	eng_dev_unlock(cq->dev);
	ut_lock(&cq->lock);
	if (cq->tail - cq->head > cqe) {
		ut_unlock(&cq->lock);
		free(ring);
		return -EINVAL;
	}
	for (uint32_t i = cq->head; i != cq->tail; i++)
		ring[n++] = cq->ring[i & (cq->cap - 1)];
	old = cq->ring;
	cq->ring = ring;
	cq->cap = cap;
	cq->size = cqe;
	cq->head = 0;
	cq->tail = n;
	ut_unlock(&cq->lock);
	free(old);
	return 0;
}

int eng_cq_modify(struct eng_cq *cq, uint16_t count, uint16_t period)
{
	ut_lock(&cq->lock);
	cq->mod_count = count;
	cq->mod_period = period;
	ut_unlock(&cq->lock);
	return 0;
}

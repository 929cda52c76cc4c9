/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues. Every one is an ibv_cq_ex behind, as its size costs little
 * and one destructor serves both. */
#include "abi/verbs/cq.h"

#include "abi/verbs/context.h"
#include "abi/verbs/cq_ex.h"
#include "abi/verbs/export.h"
#include "abi/verbs/pd.h"
#include "engine/cq.h"
#include "engine/event.h"
#include "engine/refuse.h"
#include "util/alloc.h"

#include <stdlib.h>

#define TIMESTAMPS \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define OFFERED ((uint64_t)IBV_WC_STANDARD_FLAGS | TIMESTAMPS)

static int size_of(struct eng_cq *cq)
{
	uint32_t size;

	ut_lock(&cq->lock);
	size = cq->size;
	ut_unlock(&cq->lock);
	return (int)size;
}

static void fill_public(struct vrb_cq *cq, struct ibv_context *c,
			const struct ibv_cq_init_attr_ex *attr)
{
	cq->pub.context = c;
	cq->pub.channel = attr->channel;
	cq->pub.cq_context = attr->cq_context;
	cq->pub.cqe = size_of(cq->cq);
	pthread_mutex_init(&cq->pub.mutex, NULL);
	pthread_cond_init(&cq->pub.cond, NULL);
	ut_mutex_init(&cq->polling);
	cq->cq->user = &cq->pub;
	if (attr->channel) {
		pthread_mutex_lock(&c->mutex);
		attr->channel->refcnt++;
		pthread_mutex_unlock(&c->mutex);
	}
	vrb_hold(c);
}

struct ibv_cq *vrb_make_cq(struct ibv_context *c, const struct ibv_cq_init_attr_ex *attr)
{
	struct eng_chan *chan = attr->channel ? vrb_of(attr->channel, vrb_chan)->chan : NULL;
	struct vrb_cq *cq;
	struct eng_dev *dev = vrb_live(c);
	int rc;

	if (!dev)
		return NULL;
	if (attr->comp_vector >= (uint32_t)c->num_comp_vectors)
		return vrb_null(eng_refuse(dev, ENG_R_CQ_VECTOR));
	cq = ut_zalloc(sizeof(*cq));
	if (!cq)
		return vrb_null(eng_refuse(dev, ENG_R_MEMORY));
	rc = eng_cq_create(vrb_ctx(c)->eng, attr->cqe, chan, attr->wc_flags & TIMESTAMPS,
			   &cq->cq);
	if (rc) {
		free(cq);
		return vrb_null(rc);
	}
	fill_public(cq, c, attr);
	return (struct ibv_cq *)(void *)&cq->pub;
}

VRB_NOW(create_cq) struct ibv_cq *vrb_create_cq(struct ibv_context *c, int cqe, void *cq_context,
						struct ibv_comp_channel *channel, int vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)vector,
	};

	return vrb_make_cq(c, &attr);
}

static enum eng_refusal check_ex(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return ENG_R_CQ_LACKS;
	if (attr->wc_flags & ~OFFERED)
		return ENG_R_CQ_LACKS;
	/* An overrun cannot be ignored here: the ring has a consumer. */
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return ENG_R_CQ_LACKS;
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain || !vrb_is_parent_domain(attr->parent_domain)))
		return ENG_R_CQ_PARENT;
	return ENG_ACCEPTED;
}

struct ibv_cq_ex *vrb_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr)
{
	struct eng_dev *dev = vrb_live(c);
	struct ibv_cq *pub;
	struct vrb_cq *cq;
	int rc;

	if (!dev)
		return NULL;
	rc = eng_refuse(dev, check_ex(attr));
	if (rc)
		return vrb_null(rc);
	pub = vrb_make_cq(c, attr);
	if (!pub)
		return NULL;
	cq = vrb_of(pub, vrb_cq);
	cq->single_threaded = (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
			      (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) {
		cq->pd = vrb_of(attr->parent_domain, vrb_pd);
		cq->single_threaded |= cq->pd->td != NULL;
		vrb_pd_use(cq->pd);
	}
	vrb_fill_cq_ex(&cq->pub);
	return &cq->pub;
}

VRB_NOW(resize_cq) int vrb_resize_cq(struct ibv_cq *pub, int cqe)
{
	struct vrb_cq *cq = vrb_of(pub, vrb_cq);
	int rc;

	if (!vrb_live(pub->context))
		return EIO;
	rc = eng_cq_resize(cq->cq, cqe < 0 ? 0 : (uint32_t)cqe);
	if (!rc)
		pub->cqe = size_of(cq->cq);
	return vrb_error(rc);
}

int vrb_modify_cq(struct ibv_cq *pub, struct ibv_modify_cq_attr *attr)
{
	struct eng_dev *dev = vrb_live(pub->context);

	if (!dev)
		return EIO;
	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return vrb_error(eng_refuse(dev, ENG_R_CQ_MODIFY_LACKS));
	if (!attr->attr_mask)
		return vrb_error(eng_refuse(dev, ENG_R_CQ_MODIFY));
	return vrb_error(eng_cq_modify(vrb_of(pub, vrb_cq)->cq, attr->moderate.cq_count,
				       attr->moderate.cq_period));
}

/* The engine's queue is destroyed while no event of it is being delivered. */
static int end_with_channel(struct vrb_cq *cq, struct vrb_chan *ch)
{
	int rc;

	ut_lock(&ch->events);
	rc = eng_cq_destroy(cq->cq);
	ut_unlock(&ch->events);
	return rc;
}

static int end_engine(struct vrb_cq *cq)
{
	struct vrb_context *c = vrb_ctx(cq->pub.context);
	int rc;

	ut_lock(&c->events);
	rc = cq->pub.channel ? end_with_channel(cq, vrb_of(cq->pub.channel, vrb_chan))
			     : eng_cq_destroy(cq->cq);
	if (!rc)
		eng_async_drop(c->eng, &cq->pub);
	ut_unlock(&c->events);
	return rc;
}

static void await_acks(struct vrb_cq *cq)
{
	pthread_mutex_lock(&cq->pub.mutex);
	while (cq->pub.comp_events_completed != cq->comp_delivered ||
	       cq->pub.async_events_completed != cq->async_delivered)
		pthread_cond_wait(&cq->pub.cond, &cq->pub.mutex);
	pthread_mutex_unlock(&cq->pub.mutex);
}

VRB_NOW(destroy_cq) int vrb_destroy_cq(struct ibv_cq *pub)
{
	struct vrb_cq *cq = vrb_of(pub, vrb_cq);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	rc = end_engine(cq);
	if (rc)
		return vrb_error(rc);
	await_acks(cq);
	if (pub->channel) {
		pthread_mutex_lock(&c->mutex);
		pub->channel->refcnt--;
		pthread_mutex_unlock(&c->mutex);
	}
	vrb_pd_unuse(cq->pd);
	pthread_mutex_destroy(&pub->mutex);
	pthread_cond_destroy(&pub->cond);
	ut_mutex_fini(&cq->polling);
	free(cq);
	vrb_release(c);
	return 0;
}

int vrb_poll_cq(struct ibv_cq *pub, int n, struct ibv_wc *wc)
{
	if (!vrb_live(pub->context))
		return -EIO;
	return eng_cq_poll(vrb_of(pub, vrb_cq)->cq, n, wc);
}

int vrb_req_notify_cq(struct ibv_cq *pub, int solicited_only)
{
	if (!vrb_live(pub->context))
		return EIO;
	eng_cq_arm(vrb_of(pub, vrb_cq)->cq, solicited_only);
	return 0;
}

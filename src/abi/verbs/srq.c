/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues, basic and XRC: checks and handles; engine/srq.c has the receives, and responders take
 * them. */
#include "abi/verbs/srq.h"

#include "abi/verbs/context.h"
#include "abi/verbs/pd.h"
#include "abi/verbs/wait.h"
#include "engine/refuse.h"
#include "engine/srq.h"

#include "abi/verbs/export.h"
#include "engine/event.h"
#include "util/alloc.h"

#include <stdlib.h>

static struct vrb_srq *make_srq(struct ibv_context *c, struct vrb_pd *pd,
				struct eng_srq_spec *spec, void *srq_context)
{
	struct vrb_srq *srq;
	int rc;

	if (!vrb_live(c))
		return NULL;
	srq = ut_zalloc(sizeof(*srq));
	if (!srq)
		return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_MEMORY));
	rc = eng_srq_create(vrb_ctx(c)->eng, spec, &srq->srq);
	if (rc) {
		free(srq);
		return vrb_null(rc);
	}
	srq->pd = pd;
	srq->srq->user = &srq->pub;
	srq->pub.context = c;
	srq->pub.srq_context = srq_context;
	srq->pub.pd = &pd->pub;
	pthread_mutex_init(&srq->pub.mutex, NULL);
	pthread_cond_init(&srq->pub.cond, NULL);
	vrb_pd_use(pd);
	vrb_hold(c);
	return srq;
}

VRB_NOW(create_srq) struct ibv_srq *vrb_create_srq(struct ibv_pd *pub,
						   struct ibv_srq_init_attr *attr)
{
	struct vrb_pd *pd = vrb_of(pub, vrb_pd);
	struct eng_srq_spec spec = { .pd = pd->pd, .attr = attr->attr };
	struct vrb_srq *srq = make_srq(pub->context, pd, &spec, attr->srq_context);

	if (!srq)
		return NULL;
	attr->attr.max_wr = spec.attr.max_wr;
	attr->attr.max_sge = spec.attr.max_sge;
	return &srq->pub;
}

static enum eng_refusal check_ex(const struct ibv_srq_init_attr_ex *attr, bool xrc)
{
	const uint32_t need = xrc ? IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ : 0;

	if (attr->comp_mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_RESERVED - 1))
		return ENG_R_SRQ_FIELDS;
	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type != IBV_SRQT_BASIC &&
	    !xrc)
		return attr->srq_type == IBV_SRQT_TM ? ENG_R_SRQ_LACKS : ENG_R_SRQ_TYPE;
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TM)
		return ENG_R_SRQ_LACKS;
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd ||
	    (attr->comp_mask & need) != need || (xrc && (!attr->xrcd || !attr->cq)))
		return ENG_R_SRQ_TYPE;
	return ENG_ACCEPTED;
}

struct ibv_srq *vrb_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr)
{
	bool xrc = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type == IBV_SRQT_XRC;
	struct eng_srq_spec spec = { .attr = attr->attr };
	struct vrb_srq *srq;
	struct eng_dev *dev = vrb_live(c);
	int rc;

	if (!dev)
		return NULL;
	rc = eng_refuse(dev, check_ex(attr, xrc));
	if (rc)
		return vrb_null(rc);
	spec.pd = vrb_of(attr->pd, vrb_pd)->pd;
	if (xrc) {
		spec.cq = vrb_of(attr->cq, vrb_cq)->cq;
		spec.xrcd = vrb_of(attr->xrcd, vrb_xrcd)->x;
	}
	srq = make_srq(c, vrb_of(attr->pd, vrb_pd), &spec, attr->srq_context);
	if (!srq)
		return NULL;
	if (xrc) {
		srq->xrcd = vrb_of(attr->xrcd, vrb_xrcd);
		atomic_fetch_add(&srq->xrcd->users, 1);
	}
	attr->attr.max_wr = spec.attr.max_wr;
	attr->attr.max_sge = spec.attr.max_sge;
	return &srq->pub;
}

int vrb_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	if (!vrb_of(srq, vrb_srq)->xrcd)
		return vrb_error(eng_refuse(vrb_ctx(srq->context)->dev, ENG_R_SRQ_NUMBER));
	*number = vrb_of(srq, vrb_srq)->srq->number;
	return 0;
}

VRB_NOW(modify_srq) int vrb_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if (!vrb_live(srq->context))
		return EIO;
	return vrb_error(eng_srq_modify(vrb_of(srq, vrb_srq)->srq, attr, mask));
}

VRB_NOW(query_srq) int vrb_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (!vrb_live(srq->context))
		return EIO;
	return vrb_error(eng_srq_query(vrb_of(srq, vrb_srq)->srq, attr));
}

static int end_engine(struct vrb_srq *srq)
{
	struct vrb_context *c = vrb_ctx(srq->pub.context);
	int rc;

	ut_lock(&c->events);
	rc = eng_srq_destroy(srq->srq);
	if (!rc)
		eng_async_drop(c->eng, &srq->pub);
	ut_unlock(&c->events);
	return rc;
}

VRB_NOW(destroy_srq) int vrb_destroy_srq(struct ibv_srq *pub)
{
	struct vrb_srq *srq = vrb_of(pub, vrb_srq);
	struct ibv_context *c = pub->context;
	int rc;

	if (!vrb_live(c))
		return EIO;
	rc = end_engine(srq);
	if (rc)
		return vrb_error(rc);
	vrb_await_acks(&pub->mutex, &pub->cond, &pub->events_completed, &srq->async_delivered);
	pthread_mutex_destroy(&pub->mutex);
	pthread_cond_destroy(&pub->cond);
	vrb_pd_unuse(srq->pd);
	if (srq->xrcd)
		atomic_fetch_sub(&srq->xrcd->users, 1);
	free(srq);
	vrb_release(c);
	return 0;
}

int vrb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int rc, keep = errno;

	if (!vrb_live(srq->context)) {
		*bad = wr;
		return EIO;
	}
	rc = eng_srq_post(vrb_of(srq, vrb_srq)->srq, wr, bad);
	errno = keep;
	return -rc;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events. */
#include "abi/verbs/async.h"

#include "abi/verbs/context.h"
#include "abi/verbs/export.h"
#include "abi/verbs/wait.h"
#include "engine/event.h"

enum element { OF_CQ, OF_QP, OF_SRQ, OF_PORT };

static enum element element_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_CQ_ERR:
		return OF_CQ;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return OF_QP;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return OF_SRQ;
	default:
		return OF_PORT;
	}
}

static void fill_event(const struct eng_event *e, struct ibv_async_event *ret)
{
	ret->event_type = e->type;
	switch (element_of(e->type)) {
	case OF_CQ:
		ret->element.cq = e->user;
		vrb_of(e->user, vrb_cq)->async_delivered++;
		break;
	case OF_QP:
		ret->element.qp = e->user;
		vrb_of(e->user, vrb_qp)->async_delivered++;
		break;
	case OF_SRQ:
		ret->element.srq = e->user;
		vrb_of(e->user, vrb_srq)->async_delivered++;
		break;
	case OF_PORT:
		ret->element.port_num = e->port_num;
		break;
	}
}

int vrb_take_async(struct ibv_context *pub, struct ibv_async_event *ret)
{
	struct vrb_context *c = vrb_ctx(pub);
	struct eng_event e;
	int rc;

	ut_lock(&c->events);
	rc = eng_async_get(c->eng, &e);
	if (!rc)
		fill_event(&e, ret);
	ut_unlock(&c->events);
	return rc;
}

static void let_go(void *pub)
{
	vrb_release(pub);
}

static int await_async(struct ibv_context *pub, struct eng_dev *dev, struct ibv_async_event *ret)
{
	int rc;

	while ((rc = vrb_take_async(pub, ret)) == -EAGAIN) {
		int w = vrb_wait(dev, pub->async_fd);

		if (!w)
			continue;
		return w == -EAGAIN ? vrb_take_async(pub, ret) : w;
	}
	return rc;
}

VRB_NOW(get_async_event) int vrb_get_async_event(struct ibv_context *pub,
						 struct ibv_async_event *event)
{
	struct eng_dev *dev = vrb_live(pub);
	int rc, keep = errno;

	if (!dev)
		return -1;
	/* Programs close the device while a thread sleeps here for ever. With a kernel the thread would sleep
	 * on; so the objects that it sleeps on stay. */
	vrb_hold(pub);
	pthread_cleanup_push(let_go, pub);
	rc = await_async(pub, dev, event);
	pthread_cleanup_pop(1);
	if (rc)
		return vrb_minus(rc);
	errno = keep;
	return 0;
}

static void acknowledge(pthread_mutex_t *m, pthread_cond_t *cond, uint32_t *count)
{
	pthread_mutex_lock(m);
	++*count;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(m);
}

VRB_NOW(ack_async_event) void vrb_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_qp *qp = event->element.qp;
	struct ibv_cq *cq = event->element.cq;
	struct ibv_srq *srq = event->element.srq;

	switch (element_of(event->event_type)) {
	case OF_CQ:
		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	case OF_QP:
		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
		break;
	case OF_SRQ:
		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	case OF_PORT:
		break;
	}
}

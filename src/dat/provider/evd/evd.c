/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/evd/evd.h"

#include "dat/provider/evd/cno.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/modes.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define STREAMS (DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DEFAULT_FLAG | DAT_IB_EVD_EXTENSION_FLAG)
#define COMPLETIONS (DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG)
#define CQ_SPARE 64

static DAT_RETURN no_room(void)
{
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

static DAT_RETURN no_evd(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
}

static void evd_construct(struct dpr_obj *o)
{
	struct dpr_evd *e = (struct dpr_evd *)o;

	ut_mutex_init(&e->shape);
	ut_mutex_init(&e->lock);
	dpr_timer_init(&e->settle, dpr_evd_settle);
	ut_list_init(&e->watch.on);
}

static int make_cq(struct dpr_evd *e, struct dpr_ia *ia, int qlen)
{
	int max = ia->dev.orig_attr.max_cqe;

	e->channel = ibv_create_comp_channel(ia->verbs);
	if (!e->channel)
		return errno;
	fcntl(e->channel->fd, F_SETFL, fcntl(e->channel->fd, F_GETFL) | O_NONBLOCK);
	fcntl(e->channel->fd, F_SETFD, FD_CLOEXEC);
	e->cq = ibv_create_cq(ia->verbs, qlen + CQ_SPARE < max ? qlen + CQ_SPARE : max, e,
			      e->channel, 0);
	if (e->cq)
		return 0;
	ibv_destroy_comp_channel(e->channel);
	e->channel = NULL;
	return errno ? errno : ENOMEM;
}

static void evd_clear(struct dpr_evd *e, DAT_COUNT qlen, DAT_EVD_FLAGS flags) UT_NO_TSA
{
	e->flags = flags;
	e->channel = NULL;
	e->cq = NULL;
	e->hidden = 0;
	e->wake = -1;
	e->watch = (struct dpr_watch){ .fd = -1, .ready = dpr_evd_ready };
	ut_list_init(&e->watch.on);
	e->ring = (struct dpr_evring){ 0 };
	e->qlen = (unsigned int)qlen;
	e->cno = NULL;
	e->waiting = e->unwaitable = e->disabled = e->dead = e->overflow = e->armed = e->woken =
		false;
	e->feeds = e->solicited = e->unsignalled = e->unacked = 0;
	e->after = NULL;
	e->nafter = e->after_size = 0;
	e->early = NULL;
	e->nearly = e->early_size = 0;
	for (int i = 0; i < DCNT_EVD_ALL_COUNTERS; i++)
		e->counters[i] = e->counted[i] = 0;
}

/* Takes e off every list, and dpr_evd_of refuses the handle. The last reference frees it. */
static void evd_end(struct dpr_evd *e) UT_NO_TSA
{
	struct dpr_cno *cno;

	if (!dpr_obj_kill(&e->obj))
		return;
	dpr_count(&e->obj.ia->counters[DCNT_IA_EVD_FREE], 1);
	ut_lock(&e->shape);
	ut_lock(&e->lock);
	cno = e->cno;
	e->cno = NULL;
	if (e->waiting)
		dpr_evd_wake(e);
	ut_unlock(&e->lock);
	if (cno && e->channel)
		dpr_loop_unwatch(&e->watch);
	ut_unlock(&e->shape);
	if (cno)
		dpr_cno_leave(cno);
	dpr_async_del(e->obj.ia, e);
	dpr_timer_cancel(&e->settle);
	dpr_evd_settle_now(e);
	dpr_obj_put(&e->obj);
}

static void evd_release(struct dpr_obj *o) UT_NO_TSA
{
	struct dpr_evd *e = (struct dpr_evd *)o;

	/* an endpoint that ended later may have left an action */
	dpr_timer_cancel(&e->settle);
	dpr_evd_settle_now(e);
	if (e->cq) {
		if (e->unacked)
			ibv_ack_cq_events(e->cq, e->unacked);
		ibv_destroy_cq(e->cq);
		ibv_destroy_comp_channel(e->channel);
	}
	if (e->wake >= 0)
		close(e->wake);
	dpr_evring_fini(&e->ring);
	free(e->early);
}

static void evd_close(struct dpr_obj *o)
{
	evd_end((struct dpr_evd *)o);
}

const struct dpr_class dpr_evd_class = {
	.kind = DPR_EVD,
	.type = DAT_HANDLE_TYPE_EVD,
	.size = sizeof(struct dpr_evd),
	.construct = evd_construct,
	.release = evd_release,
	.close = evd_close,
};

bool dpr_evd_serves(const struct dpr_evd *e, const struct dpr_ia *ia, DAT_EVD_FLAGS stream)
{
	return e->obj.ia->verbs == ia->verbs && dpr_evd_takes(e, stream);
}

DAT_RETURN dpr_evd_make(struct dpr_ia *ia, DAT_COUNT qlen, struct dpr_cno *cno, DAT_EVD_FLAGS flags,
			struct dpr_evd **ret)
{
	struct dpr_evd *e = dpr_obj_new(ia, DPR_EVD);
	DAT_RETURN err = DAT_SUCCESS;

	if (!e)
		return no_room();
	evd_clear(e, qlen, flags);
	if (dpr_evring_init(&e->ring, (unsigned int)qlen) ||
	    (flags & COMPLETIONS && make_cq(e, ia, qlen)) ||
	    (flags & DAT_EVD_ASYNC_FLAG && dpr_async_add(ia, e)))
		err = no_room();
	if (err == DAT_SUCCESS && cno)
		err = dpr_evd_modify_cno((DAT_EVD_HANDLE)e, (DAT_CNO_HANDLE)cno);
	dpr_count(&ia->counters[DCNT_IA_EVD_CREATE], 1);
	if (err != DAT_SUCCESS)
		evd_end(e);
	else
		*ret = e;
	return err;
}

DAT_RETURN dpr_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
			  DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	struct dpr_ia *ia = dpr_ia_of(ia_handle);
	struct dpr_cno *c = dpr_cno_of(cno);
	struct dpr_evd *e;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (qlen <= 0)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (cno && (!c || c->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
	if (!flags || (unsigned int)flags & ~(unsigned int)STREAMS)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!evd)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (qlen > ia->dev.orig_attr.max_cqe)
		return no_room();
	ret = dpr_evd_make(ia, qlen, c, flags, &e);
	if (ret == DAT_SUCCESS)
		*evd = (DAT_EVD_HANDLE)e;
	return ret;
}

DAT_RETURN dpr_evd_free(DAT_EVD_HANDLE evd)
{
	struct dpr_evd *e = dpr_evd_of(evd);
	bool busy, own;

	if (!e)
		return no_evd();
	ut_lock(&e->obj.ia->lock);
	own = e->obj.ia->async == e;
	ut_unlock(&e->obj.ia->lock);
	if (own)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_ASYNC);
	ut_lock(&e->lock);
	busy = e->waiting || atomic_load(&e->obj.uses);
	ut_unlock(&e->lock);
	if (busy)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	evd_end(e);
	return DAT_SUCCESS;
}

/* The completion queue is resized first, since that may fail; it never becomes smaller. */
static DAT_RETURN resize(struct dpr_evd *e, unsigned int qlen) UT_REQUIRES(e->shape)
{
	bool notified = false;
	unsigned int was;
	int err;

	if (e->cq && qlen + e->hidden > (unsigned int)e->cq->cqe &&
	    ibv_resize_cq(e->cq, (int)(qlen + e->hidden)))
		return no_room();
	ut_lock(&e->lock);
	was = e->ring.count;
	err = dpr_evring_resize(&e->ring, qlen);
	if (!err)
		e->qlen = qlen;
	/* completions may have waited for room in the ring */
	if (!err && was && dpr_evd_drain_locked(e, &notified))
		dpr_evd_notify(e, notified);
	ut_unlock(&e->lock);
	if (err == -EBUSY)
		return DPR_ERR(DAT_INVALID_STATE, DAT_NO_SUBTYPE);
	return err ? no_room() : DAT_SUCCESS;
}

DAT_RETURN dpr_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen)
{
	struct dpr_evd *e = dpr_evd_of(evd);
	DAT_RETURN ret;

	if (!e)
		return no_evd();
	if (qlen <= 0)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (qlen > e->obj.ia->dev.orig_attr.max_cqe)
		return no_room();
	ut_lock(&e->shape);
	ret = resize(e, (unsigned int)qlen);
	ut_unlock(&e->shape);
	return ret;
}

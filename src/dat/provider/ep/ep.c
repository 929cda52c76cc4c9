/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/ep.h"

#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/dto/event.h"
#include "dat/provider/dto/srq.h"
#include "dat/provider/ep/create.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/qp.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/drain.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/feed.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/mem/rmr.h"

#include <errno.h>

static void ep_construct(struct dpr_obj *o)
{
	struct dpr_ep *ep = (struct dpr_ep *)o;

	ut_mutex_init(&ep->lock);
	ut_mutex_init(&ep->life);
	dpr_timer_init(&ep->poll, dpr_ep_poll);
}

static void ep_release(struct dpr_obj *o)
{
	struct dpr_ep *ep = (struct dpr_ep *)o;

	dpr_dtoq_fini(&ep->sq);
	dpr_dtoq_fini(&ep->rq);
}

static void ep_close(struct dpr_obj *o)
{
	struct dpr_ep *ep = (struct dpr_ep *)o;

	dpr_ep_finish(ep);
}

const struct dpr_class dpr_ep_class = {
	.kind = DPR_EP,
	.type = DAT_HANDLE_TYPE_EP,
	.size = sizeof(struct dpr_ep),
	.construct = ep_construct,
	.release = ep_release,
	.close = ep_close,
};

/* --- reaping --- */

/* Returns the EVDs with references: dat_ep_modify and dat_ep_free may drop them meanwhile. */
static void hold_evds(struct dpr_ep *ep, struct dpr_evd *evd[2])
{
	ut_lock(&ep->lock);
	evd[0] = ep->request;
	evd[1] = ep->recv != ep->request ? ep->recv : NULL;
	for (int i = 0; i < 2; i++)
		if (evd[i])
			dpr_obj_hold(&evd[i]->obj);
	ut_unlock(&ep->lock);
}

void dpr_ep_drain(struct dpr_ep *ep, struct dpr_evd *e) UT_NO_TSA
{
	if (!e)
		return;
	dpr_obj_hold(&e->obj);
	ut_unlock(&ep->lock);
	dpr_evd_drain(e);
	dpr_obj_put(&e->obj);
	ut_lock(&ep->lock);
}

void dpr_ep_reap(struct dpr_ep *ep)
{
	struct dpr_evd *evd[2];

	hold_evds(ep, evd);
	for (int i = 0; i < 2; i++) {
		if (!evd[i])
			continue;
		dpr_evd_drain(evd[i]);
		dpr_obj_put(&evd[i]->obj);
	}
}

/* --- the queue pair's end --- */

static void to_error(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

void dpr_ep_qp_error(struct dpr_ep *ep)
{
	if (ep->qp)
		to_error(ep->qp);
}

static struct ibv_qp *take_qp(struct dpr_ep *ep)
{
	struct ibv_qp *qp;

	ut_lock(&ep->lock);
	qp = ep->qp;
	ep->qp = NULL;
	if (qp) {
		dpr_qpn_del(ep->obj.ia, qp->qp_num);
		atomic_store(&ep->qpn, 0);
	}
	ut_unlock(&ep->lock);
	return qp;
}

/*
 * The records are freed after the queue pair, and a completion must not meet freed records: an EVD
 * without room for the last of them loses the endpoint's queued events, as the standard allows.
 */
static void forget_posted(struct dpr_ep *ep)
{
	struct dpr_evd *evd[2];

	dpr_ep_reap(ep);
	hold_evds(ep, evd);
	for (int i = 0; i < 2; i++) {
		if (!evd[i])
			continue;
		if (!dpr_evd_room(evd[i]))
			dpr_evd_purge(evd[i], ep);
		dpr_obj_put(&evd[i]->obj);
	}
}

/* Called with ep->life held, or with the only reference of ep. The queues are empty and new
 * afterwards. */
static void drop_qp(struct dpr_ep *ep)
{
	struct ibv_qp *qp;

	ut_lock(&ep->lock);
	dpr_ep_qp_error(ep);
	ut_unlock(&ep->lock);
	dpr_ep_reap(ep);
	qp = take_qp(ep);
	if (!qp)
		return;
	dpr_rmr_ep_gone(ep);
	ibv_destroy_qp(qp);
	forget_posted(ep);
	ut_lock(&ep->lock);
	dpr_ep_queues(ep, &ep->attr);
	ut_unlock(&ep->lock);
}

/* Takes the attempt or connection out of ep. */
static struct dpr_conn *take_conn(struct dpr_ep *ep)
{
	struct dpr_conn *c;

	ut_lock(&ep->lock);
	c = ep->conn;
	ep->conn = NULL;
	if (c)
		dpr_conn_disconnect(c);
	ut_unlock(&ep->lock);
	return c;
}

static void drop_conn(struct dpr_ep *ep)
{
	struct dpr_conn *c = take_conn(ep);

	if (c) {
		dpr_conn_leave(c);
		dpr_conn_put(c);
	}
	dpr_ud_drop(ep);
}

/* --- the end --- */

static struct dpr_ep_parts take_parts(struct dpr_ep *ep)
{
	struct dpr_ep_parts p;

	ut_lock(&ep->lock);
	p = dpr_ep_parts(ep);
	ep->pz = NULL;
	ep->recv = ep->request = ep->connect = NULL;
	ut_unlock(&ep->lock);
	return p;
}

/* Waiting receives end without an event; their buffers are the consumer's again. */
void dpr_ep_finish(struct dpr_ep *ep)
{
	struct dpr_ep_parts p;

	if (!dpr_obj_kill(&ep->obj))
		return;
	ut_lock(&ep->lock);
	ep->state = DAT_EP_STATE_DISCONNECTED;
	atomic_store(&ep->early, false);
	ut_unlock(&ep->lock);
	dpr_timer_cancel(&ep->poll);
	drop_conn(ep);
	drop_qp(ep);
	p = take_parts(ep);
	if (p.recv)
		dpr_evd_purge(p.recv, ep);
	if (p.request)
		dpr_evd_purge(p.request, ep);
	dpr_parts_drop(&p, &ep->attr);
	if (ep->srq) {
		dpr_unuse(&ep->srq->obj);
		dpr_obj_put(&ep->srq->obj);
	}
	dpr_obj_put(&ep->obj);
}

static struct dpr_ep_step look(struct dpr_ep *ep, enum dpr_ep_do what)
{
	struct dpr_ep_step s;

	ut_lock(&ep->lock);
	s = dpr_ep_step(ep->state, what, dpr_ep_configured(ep));
	ut_unlock(&ep->lock);
	return s;
}

DAT_RETURN dpr_ep_free(DAT_EP_HANDLE handle)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ep_step s;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ut_lock(&ep->life);
	s = look(ep, DPR_DO_FREE);
	if (!s.ret) {
		dpr_obj_hold(&ep->obj); /* ep->life is unlocked after the end */
		dpr_ep_finish(ep);
	}
	ut_unlock(&ep->life);
	if (!s.ret)
		dpr_obj_put(&ep->obj);
	return s.ret;
}

/* Returns ep to UNCONNECTED, with new queues. All completions of the old queue pair are in the
 * EVDs. */
static void reset(struct dpr_ep *ep)
{
	drop_conn(ep);
	drop_qp(ep);
	ut_lock(&ep->lock);
	dpr_ep_apply(ep, DPR_DO_RESET);
	ut_unlock(&ep->lock);
}

DAT_RETURN dpr_ep_reset(DAT_EP_HANDLE handle)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ep_step s;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ut_lock(&ep->life);
	s = look(ep, DPR_DO_RESET);
	/* in the other legal states there is nothing to do */
	if (!s.ret && look(ep, DPR_DO_DISCONNECT).ret == DAT_SUCCESS)
		reset(ep);
	ut_unlock(&ep->life);
	return s.ret;
}


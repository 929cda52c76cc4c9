/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/ud.h"

#include "dat/provider/cm/active.h"
#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/cr.h"
#include "dat/core/private.h"
#include "dat/provider/cm/ud_peer.h"
#include "dat/provider/dto/recv.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/qp.h"
#include "dat/core/state.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/pz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- the queue pair --- */

static int to_rts(struct dpr_ia *ia, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = ia->port,
		.qkey = RDMA_UDP_QKEY,
	};

	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) ? -1 : 0;
}

static DAT_RETURN ready(struct dpr_ep *ep) UT_REQUIRES(ep->lock)
{
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;

	if (ep->qp)
		return DAT_SUCCESS;
	dpr_ep_qp_attr(ep, &attr);
	qp = ibv_create_qp(ep->pz->pd, &attr);
	if (!qp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	ep->qp = qp;
	atomic_store(&ep->qpn, qp->qp_num);
	dpr_qpn_add(ep->obj.ia, qp->qp_num, ep);
	if (!to_rts(ep->obj.ia, qp) && !dpr_ep_flush_posted(ep))
		return DAT_SUCCESS;
	dpr_qpn_del(ep->obj.ia, qp->qp_num);
	atomic_store(&ep->qpn, 0);
	ep->qp = NULL;
	ibv_destroy_qp(qp);
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

/* Returns DAT_SUCCESS if ep may connect or accept: by the table the first time, always from then
 * on. */
static DAT_RETURN may(struct dpr_ep *ep, enum dpr_ep_do what) UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret;

	if (ep->state == DAT_EP_STATE_CONNECTED)
		return DAT_SUCCESS;
	ret = dpr_ep_step(ep->state, what, dpr_ep_configured(ep)).ret;
	return ret ? ret : ready(ep);
}

static void link_to(struct dpr_ep *ep, struct dpr_conn *c) UT_REQUIRES(ep->lock)
{
	dpr_conn_join(c, ep);
	c->linked = c->waiting = true;
	ut_list_add_tail(&ep->uds, &c->of_ep);
}

static void unlink_from(struct dpr_conn *c)
{
	c->linked = c->waiting = false;
	ut_list_del(&c->of_ep);
}

/* --- events --- */

static void queue_event(struct dpr_ep *ep, struct dpr_conn *c, int number, DAT_IB_EXT_TYPE type,
			uint32_t qpn) UT_REQUIRES(ep->lock)
{
	DAT_IB_EXTENSION_EVENT_DATA *x;
	DAT_EVENT ev;

	if (!ep->connect)
		return;
	memset(&ev, 0, sizeof(ev));
	x = (DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data;
	ev.event_number = (DAT_EVENT_NUMBER)number;
	ev.event_data.connect_event_data = (DAT_CONNECTION_EVENT_DATA){
		.ep_handle = (DAT_EP_HANDLE)ep,
		.private_data_size = c->in.len,
		.private_data = c->in.data,
	};
	x->type = type;
	x->status = c->ah ? DAT_OP_SUCCESS : DAT_IB_OP_ERR;
	x->remote_ah.ah = c->ah;
	x->remote_ah.qpn = qpn;
	memcpy(&x->remote_ah.ia_addr, &c->remote, sizeof(x->remote_ah.ia_addr));
	x->context.as_ptr = c;
	dpr_evd_push(ep->connect, &ev, true, false);
}

static void have(struct dpr_ep *ep, struct dpr_conn *c, DAT_IB_EXT_TYPE type, uint32_t qpn)
	UT_REQUIRES(ep->lock)
{
	c->waiting = false;
	ep->state = DAT_EP_STATE_CONNECTED;
	dpr_bump(&ep->counters[DCNT_EP_CONNECT], 1);
	queue_event(ep, c, DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED, type, qpn);
}

/* --- connect --- */

DAT_RETURN dpr_ud_connect(struct dpr_ep *ep, struct dpr_conn *c, DAT_TIMEOUT timeout)
{
	DAT_RETURN ret;
	int err = 0;

	ut_lock(&ep->lock);
	ret = may(ep, DPR_DO_CONNECT);
	if (!ret) {
		dpr_conn_hold(c);
		link_to(ep, c);
		if (timeout != DAT_TIMEOUT_INFINITE)
			err = dpr_timer_arm(&c->timer, timeout);
		if (!err)
			err = dpr_conn_start(c);
	}
	ut_unlock(&ep->lock);
	if (err)
		dpr_ud_failed(c, false);
	return ret;
}

int dpr_ud_request(struct dpr_conn *c, struct dpr_ep *ep)
{
	struct dpr_ud_peer us = { .lid = ep->obj.ia->port_attr.lid };
	struct dpr_private out = c->out;
	struct rdma_conn_param p = { .retry_count = 7 };

	us.qpn = atomic_load(&ep->qpn);
	memcpy(us.gid, &c->id->route.addr.addr.ibaddr.sgid, sizeof(us.gid));
	dpr_ud_wrap(&out, &us);
	p.private_data = out.data;
	p.private_data_len = out.len;
	p.qp_num = us.qpn;
	return dpr_count_cm(c->ia, DCNT_IA_CM_REQ_TX, rdma_connect(c->id, &p));
}

void dpr_ud_established(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	struct dpr_ep *ep = dpr_conn_lock_ep(c);
	struct ibv_ah_attr attr = e->ud.ah_attr;

	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	if (c->waiting) {
		dpr_timer_cancel(&c->timer); /* in the loop: the handler does not run */
		c->in = e->in;
		c->ah = ibv_create_ah(ep->pz->pd, &attr);
		have(ep, c, DAT_IB_UD_REMOTE_AH, e->ud.qp_num);
	}
	dpr_conn_unlock_ep(ep);
}

/*
 * c stays with the endpoint, since the event points to its private data; the consumer may free it.
 */
void dpr_ud_failed(struct dpr_conn *c, bool rejected)
{
	struct dpr_ep *ep = dpr_conn_lock_ep(c);

	if (!ep)
		return;
	dpr_ep_assert_locked(ep);
	if (c->waiting) {
		dpr_timer_cancel(&c->timer); /* in the loop, or not armed */
		c->waiting = false;
		queue_event(ep, c, rejected ? DAT_IB_UD_CONNECTION_REJECT_EVENT
					    : DAT_IB_UD_CONNECTION_ERROR_EVENT,
			    rejected ? DAT_IB_UD_CONNECT_REJECT : DAT_IB_UD_CONNECT_ERROR, 0);
	}
	dpr_conn_unlock_ep(ep);
}

/* A status of SIDR is no reason: only the frame tells that the consumer rejected. */
void dpr_ud_rejected(struct dpr_conn *c, const struct dpr_cm_event *e)
{
	c->in = e->in;
	dpr_ud_failed(c, dpr_private_rejected(&c->in, e->status, true) ==
				 DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* --- accept --- */

static int answer(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out)
	UT_REQUIRES(ep->lock)
{
	struct rdma_conn_param p = {
		.private_data = out->len ? out->data : NULL,
		.private_data_len = out->len,
		.qp_num = atomic_load(&ep->qpn),
	};

	return dpr_count_cm(cr->obj.ia, DCNT_IA_CM_REP_TX, rdma_accept(cr->conn->id, &p));
}

DAT_RETURN dpr_ud_accept(struct dpr_cr *cr, struct dpr_ep *ep, const struct dpr_private *out)
{
	struct dpr_conn *c = cr->conn;
	DAT_RETURN ret;

	ut_lock(&ep->lock);
	ret = may(ep, DPR_DO_ACCEPT);
	if (!ret) {
		c->ud = true;
		dpr_conn_hold(c);
		link_to(ep, c);
		c->in = cr->in;
		if (!answer(cr, ep, out)) {
			c->ah = dpr_ud_ah(ep->obj.ia, ep->pz->pd, c->id, &cr->peer);
			have(ep, c, DAT_IB_UD_PASSIVE_REMOTE_AH, cr->peer.qpn);
		} else {
			c->waiting = false;
			queue_event(ep, c, DAT_IB_UD_CONNECTION_ERROR_EVENT, DAT_IB_UD_CONNECT_ERROR, 0);
		}
	}
	ut_unlock(&ep->lock);
	return ret;
}

/* --- the end --- */

static void forget(struct dpr_conn *c)
{
	if (c->ah)
		ibv_destroy_ah(c->ah);
	c->ah = NULL;
	dpr_conn_leave(c);
	dpr_conn_put(c);
}

void dpr_ud_drop(struct dpr_ep *ep)
{
	struct dpr_conn *c;

	do {
		ut_lock(&ep->lock);
		c = ut_list_first(&ep->uds, struct dpr_conn, of_ep);
		if (c)
			unlink_from(c);
		ut_unlock(&ep->lock);
		if (c)
			forget(c);
	} while (c);
}

/* Contexts and address handles come from the consumer: only those in ep->uds are used. */
static struct dpr_conn *find(struct dpr_ep *ep, const void *context, const struct ibv_ah *ah)
	UT_REQUIRES(ep->lock)
{
	struct dpr_conn *c;

	ut_list_each(c, &ep->uds, of_ep)
		if (context ? c == context && !c->released : c->ah == ah)
			return c;
	return NULL;
}

/* The address stays until dat_ib_ud_ah_free. */
DAT_RETURN dpr_ud_cm_free(struct dpr_ep *ep, DAT_CONTEXT cm)
{
	struct dpr_conn *c = NULL;
	bool last = false;

	ut_lock(&ep->lock);
	if (cm.as_ptr)
		c = find(ep, cm.as_ptr, NULL);
	if (c) {
		c->released = true;
		last = !c->ah;
		if (last)
			unlink_from(c);
	}
	ut_unlock(&ep->lock);
	if (last)
		forget(c);
	return c ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

DAT_RETURN dpr_ud_ah_free(struct dpr_ep *ep, DAT_IB_ADDR_HANDLE *handle)
{
	struct ibv_ah *ah = NULL;
	struct dpr_conn *c = NULL;
	bool last = false;

	if (!handle || !handle->ah)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ut_lock(&ep->lock);
	c = find(ep, NULL, handle->ah);
	if (c) {
		ah = c->ah;
		c->ah = NULL;
		last = c->released;
		if (last)
			unlink_from(c);
	}
	ut_unlock(&ep->lock);
	if (ah)
		ibv_destroy_ah(ah);
	if (last)
		forget(c);
	return ah ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

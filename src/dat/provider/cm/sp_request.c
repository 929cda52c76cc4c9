/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/sp_request.h"

#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/cr.h"
#include "dat/core/private.h"
#include "dat/provider/cm/sp.h"
#include "dat/provider/cm/ud_peer.h"
#include "dat/provider/ep/create.h"
#include "dat/provider/ep/ep.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

void dpr_conn_refuse(struct dpr_conn *c)
{
	struct dpr_private p = { .len = 0 };

	dpr_private_reject(&p, true);
	rdma_reject(c->id, p.data, p.len);
	dpr_count(&c->ia->counters[DCNT_IA_CM_ERR_REJ_TX], 1);
}

/* --- the endpoint --- */

/* Returns the former state, for unclaim. */
static DAT_EP_STATE claim(struct dpr_ep *ep)
{
	DAT_EP_STATE before;

	ut_lock(&ep->lock);
	before = ep->state;
	dpr_ep_apply(ep, DPR_ON_REQUEST);
	ut_unlock(&ep->lock);
	return before;
}

static void unclaim(struct dpr_ep *ep, DAT_EP_STATE before)
{
	ut_lock(&ep->lock);
	ep->state = before;
	ut_unlock(&ep->lock);
}

void dpr_cr_return_ep(struct dpr_ep *ep)
{
	if (ep->made_here) {
		dpr_ep_finish(ep);
	} else {
		ut_lock(&ep->lock);
		dpr_ep_apply(ep, DPR_DO_REJECT);
		ut_unlock(&ep->lock);
	}
	dpr_obj_put(&ep->obj);
}

/* Returns true if the provider makes the endpoint. deliver() refuses an RSP that is spent
 * meanwhile. */
static bool makes_ep(struct dpr_sp *sp)
{
	bool none;

	ut_lock(&sp->lock);
	none = !sp->ep;
	ut_unlock(&sp->lock);
	return (sp->kind == DPR_PSP && sp->flags == DAT_PSP_PROVIDER_FLAG) ||
	       (sp->kind == DPR_RSP && none);
}

/* --- the request --- */

static struct dpr_cr *cr_new(struct dpr_conn *c, const struct dpr_cr *as)
{
	struct dpr_cr *cr = dpr_obj_new(c->ia, DPR_CR);

	if (!cr)
		return NULL;
	dpr_conn_hold(c);
	cr->conn = c;
	cr->ep = NULL;
	atomic_store(&cr->taken, false);
	cr->in = as->in;
	cr->responder_resources = as->responder_resources;
	cr->initiator_depth = as->initiator_depth;
	cr->ud = as->ud;
	cr->peer = as->peer;
	cr->remote = as->remote;
	return cr;
}

static void cr_drop(struct dpr_cr *cr)
{
	if (!dpr_obj_kill(&cr->obj))
		return;
	dpr_conn_put(cr->conn);
	dpr_obj_put(&cr->obj);
}

static bool queue(struct dpr_sp *sp, struct dpr_cr *cr)
{
	DAT_EVENT ev;

	memset(&ev, 0, sizeof(ev));
	ev.event_number = cr->ud ? (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_REQUEST_EVENT
				 : DAT_CONNECTION_REQUEST_EVENT;
	ev.event_data.cr_arrival_event_data = (DAT_CR_ARRIVAL_EVENT_DATA){
		.sp_handle.psp_handle = (DAT_PSP_HANDLE)sp,
		.local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&sp->obj.ia->addr,
		.conn_qual = sp->qual,
		.cr_handle = (DAT_CR_HANDLE)cr,
	};
	if (cr->ud)
		((DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data)->type =
			DAT_IB_UD_CONNECT_REQUEST;
	return dpr_evd_push(sp->evd, &ev, true, true) == DPR_PUSHED;
}

/* With sp->lock held the service point is neither spent twice nor freed meanwhile. */
static bool deliver(struct dpr_sp *sp, struct dpr_cr *cr, struct dpr_ep *made,
		 struct rdma_cm_id **spent) UT_REQUIRES(sp->lock)
{
	struct dpr_ep *ep = made ? made : sp->ep;
	DAT_EP_STATE before = DAT_EP_STATE_UNCONNECTED;

	if (!sp->listen || sp->spent)
		return false;
	if (ep && !made)
		before = claim(ep);
	cr->ep = ep;
	if (!queue(sp, cr)) {
		if (ep && !made)
			unclaim(ep, before);
		cr->ep = NULL;
		return false;
	}
	if (sp->kind == DPR_RSP) {
		sp->spent = true;
		sp->ep = NULL; /* its reference becomes the request's */
		*spent = sp->listen;
		sp->listen = NULL;
	}
	return true;
}

bool dpr_sp_offer(struct dpr_sp *sp, struct dpr_conn *c, const struct dpr_cr *as)
{
	bool makes = makes_ep(sp), ok = false;
	struct dpr_ep *made = makes ? dpr_ep_for_request(sp->obj.ia) : NULL;
	struct dpr_cr *cr = cr_new(c, as);
	struct rdma_cm_id *spent = NULL;

	if (made)
		dpr_obj_hold(&made->obj); /* the request's reference */
	if (cr && (made || !makes)) {
		ut_lock(&sp->lock);
		ok = deliver(sp, cr, made, &spent);
		ut_unlock(&sp->lock);
	}
	if (spent)
		rdma_destroy_id(spent);
	if (ok)
		return true;
	if (cr)
		cr_drop(cr);
	if (made)
		dpr_cr_return_ep(made);
	return false;
}

/* --- from the peer --- */

static void peer_address(struct rdma_cm_id *id, struct sockaddr_storage *to)
{
	struct sockaddr *sa = rdma_get_peer_addr(id);

	memset(to, 0, sizeof(*to));
	memcpy(to, sa, sa->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						 : sizeof(struct sockaddr_in));
}

void dpr_sp_request(struct dpr_sp *sp, const struct dpr_cm_event *e)
{
	struct dpr_conn *c = dpr_conn_new(sp->obj.ia, false);
	struct dpr_cr as = {
		.in = e->in,
		.responder_resources = e->responder_resources,
		.initiator_depth = e->initiator_depth,
		.ud = e->id->ps == RDMA_PS_UDP,
	};

	if (!c) {
		rdma_destroy_id(e->id);
		return;
	}
	c->id = e->id;
	c->id->context = c;
	peer_address(c->id, &as.remote);
	c->remote = as.remote;
	c->qual = ntohs(rdma_get_dst_port(c->id));
	dpr_count(&c->ia->counters[DCNT_IA_SP_CR], 1);
	if ((as.ud && !dpr_ud_unwrap(&as.in, &as.peer)) || !dpr_sp_offer(sp, c, &as))
		dpr_conn_refuse(c);
	dpr_conn_put(c);
}

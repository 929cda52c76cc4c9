/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/connect.h"

#include "dat/core/ask.h"
#include "dat/core/private.h"
#include "dat/provider/cm/active.h"
#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/ud.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/ep/qp.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <errno.h>
#include <string.h>

static struct dpr_ask_limits limits(const struct dpr_ep *ep)
{
	return (struct dpr_ask_limits){
		.family = ep->obj.ia->addr.sa.sa_family,
		.private_max = dpr_ep_is_ud(ep) ? DPR_UD_REQ : ep->obj.ia->private_max,
	};
}

static DAT_RETURN errno_to_dat(int err)
{
	return DPR_ERR(DAT_INSUFFICIENT_RESOURCES,
		       err == ENOMEM ? DAT_RESOURCE_MEMORY : DAT_RESOURCE_DEVICE);
}

static DAT_RETURN attempt(struct dpr_ep *ep, const struct dpr_ask *a, struct dpr_conn **ret)
{
	struct dpr_conn *c = dpr_conn_new(ep->obj.ia, true);
	int err;

	if (!c)
		return errno_to_dat(ENOMEM);
	c->out = a->out;
	c->remote = a->to;
	c->qual = a->qual;
	c->common = a->common;
	c->ud = dpr_ep_is_ud(ep);
	err = dpr_ia_id(ep->obj.ia, c, c->ud ? RDMA_PS_UDP : RDMA_PS_TCP, 0, &c->id);
	if (err) {
		dpr_conn_put(c);
		return errno_to_dat(err);
	}
	*ret = c;
	return DAT_SUCCESS;
}

/* Makes c the endpoint's attempt, with the caller's reference. From here on the loop continues it.
 * *err becomes a positive errno if the first step failed. */
static DAT_RETURN commit(struct dpr_ep *ep, struct dpr_conn *c, DAT_TIMEOUT timeout, int *err)
	UT_REQUIRES(ep->lock)
{
	DAT_RETURN ret = dpr_ep_step(ep->state, DPR_DO_CONNECT, dpr_ep_configured(ep)).ret;

	if (!ret)
		ret = dpr_ep_make_qp(ep, c->id);
	if (ret)
		return ret;
	dpr_conn_join(c, ep);
	ep->conn = c;
	atomic_store(&ep->early, true);
	atomic_store(&ep->failed, false);
	dpr_ep_apply(ep, DPR_DO_CONNECT);
	if (timeout != DAT_TIMEOUT_INFINITE)
		*err = -dpr_timer_arm(&c->timer, timeout);
	if (!*err)
		*err = dpr_conn_start(c);
	return DAT_SUCCESS;
}

static DAT_RETURN go(struct dpr_ep *ep, const struct dpr_ask *a)
{
	struct dpr_conn *c;
	DAT_RETURN ret;
	int err = 0;

	ret = attempt(ep, a, &c);
	if (ret)
		return ret;
	if (c->ud) {
		ret = dpr_ud_connect(ep, c, a->timeout);
		dpr_conn_put(c);
		return ret;
	}
	dpr_conn_hold(c);
	ut_lock(&ep->lock);
	ret = commit(ep, c, a->timeout, &err);
	ut_unlock(&ep->lock);
	if (ret)
		dpr_conn_put(c); /* the reference meant for the endpoint */
	else if (err)
		dpr_conn_failed(c, DAT_CONNECTION_EVENT_UNREACHABLE);
	dpr_conn_put(c);
	return ret;
}

static DAT_RETURN may(struct dpr_ep *ep)
{
	DAT_RETURN ret;

	ut_lock(&ep->lock);
	ret = dpr_ep_step(ep->state, DPR_DO_CONNECT, dpr_ep_configured(ep)).ret;
	if (dpr_ep_is_ud(ep) && ep->state == DAT_EP_STATE_CONNECTED)
		ret = DAT_SUCCESS; /* a datagram endpoint connects to one more peer */
	ut_unlock(&ep->lock);
	return ret;
}

static DAT_RETURN establish(struct dpr_ep *ep, const struct dpr_ask *a)
{
	DAT_RETURN ret;

	ut_lock(&ep->life);
	ret = may(ep);
	if (!ret)
		ret = go(ep, a);
	ut_unlock(&ep->life);
	return ret;
}

DAT_RETURN dpr_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual,
			  DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data,
			  DAT_QOS quality, DAT_CONNECT_FLAGS flags)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ask_limits l;
	struct dpr_ask a;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	l = limits(ep);
	ret = dpr_ask_connect(&a, &l, remote, qual, timeout, size, data, quality, flags);
	return ret ? ret : establish(ep, &a);
}

/* Fills in the peer to which dup is connected. */
static DAT_RETURN peer_of(struct dpr_ep *dup, struct dpr_ask *a)
{
	DAT_RETURN ret;

	ut_lock(&dup->lock);
	ret = dpr_ep_step(dup->state, DPR_DO_DUP_SOURCE, true).ret;
	if (!ret && !dup->conn)
		ret = DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ret) {
		a->to = dup->conn->remote;
		a->qual = dup->conn->qual;
		a->common = dup->conn->common;
	}
	ut_unlock(&dup->lock);
	return ret;
}

DAT_RETURN dpr_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
			      DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality)
{
	struct dpr_ep *ep = dpr_ep_of(handle), *dup = dpr_ep_of(dup_handle);
	struct dpr_ask_limits l;
	struct dpr_ask a;
	DAT_RETURN ret;

	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	l = limits(ep);
	ret = dpr_ask_dup(&a, &l, timeout, size, data, quality);
	if (!ret)
		ret = may(ep);
	if (!ret)
		ret = peer_of(dup, &a);
	return ret ? ret : establish(ep, &a);
}

DAT_RETURN dpr_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote,
				 DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ask_limits l;
	struct dpr_ask a;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	l = limits(ep);
	ret = dpr_ask_common(&a, &l, remote, timeout, size, data);
	return ret ? ret : establish(ep, &a);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/parts.h"

#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/feed.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"
#include "dat/provider/mem/pz.h"

/*
 * Completions that are swallowed: two under way of suppressed requests (one per half queue), the
 * marker of a graceful disconnect, and the invalidation of a rebind.
 */
enum { HIDDEN = 4 };

static DAT_RETURN evd_of(struct dpr_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream,
			 DAT_RETURN_SUBTYPE sub, struct dpr_evd **evd)
{
	struct dpr_evd *e = handle ? dpr_evd_of(handle) : NULL;

	*evd = e;
	if (handle && (!e || !dpr_evd_serves(e, ia, stream)))
		return DPR_ERR(DAT_INVALID_HANDLE, sub);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_parts_find(struct dpr_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, struct dpr_ep_parts *p)
{
	DAT_RETURN ret;

	p->pz = pz ? dpr_pz_of(pz) : NULL;
	if (pz && (!p->pz || p->pz->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	ret = evd_of(ia, recv, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_RECV, &p->recv);
	if (!ret)
		ret = evd_of(ia, request, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_REQUEST,
			     &p->request);
	if (!ret)
		ret = evd_of(ia, connect, DAT_EVD_CONNECTION_FLAG, DAT_INVALID_HANDLE_EVD_CONN,
			     &p->connect);
	return ret;
}

DAT_RETURN dpr_parts_take(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr)
{
	if (p->recv && dpr_evd_feed(p->recv, 0, attr->recv_completion_flags))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	if (p->request && dpr_evd_feed(p->request, HIDDEN, attr->request_completion_flags)) {
		if (p->recv)
			dpr_evd_unfeed(p->recv, 0, attr->recv_completion_flags);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	}
	if (p->recv)
		dpr_obj_hold(&p->recv->obj);
	if (p->request)
		dpr_obj_hold(&p->request->obj);
	if (p->pz) {
		dpr_use(&p->pz->obj);
		dpr_obj_hold(&p->pz->obj);
	}
	if (p->connect) {
		dpr_use(&p->connect->obj);
		dpr_obj_hold(&p->connect->obj);
	}
	return DAT_SUCCESS;
}

void dpr_parts_drop(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr)
{
	if (p->recv) {
		dpr_evd_unfeed(p->recv, 0, attr->recv_completion_flags);
		dpr_obj_put(&p->recv->obj);
	}
	if (p->request) {
		dpr_evd_unfeed(p->request, HIDDEN, attr->request_completion_flags);
		dpr_obj_put(&p->request->obj);
	}
	if (p->connect) {
		dpr_unuse(&p->connect->obj);
		dpr_obj_put(&p->connect->obj);
	}
	if (p->pz) {
		dpr_unuse(&p->pz->obj);
		dpr_obj_put(&p->pz->obj);
	}
}

struct dpr_ep_parts dpr_ep_parts(const struct dpr_ep *ep)
{
	return (struct dpr_ep_parts){ ep->pz, ep->recv, ep->request, ep->connect };
}

/*
 * Both queues of a queue pair need a completion queue, whether or not anything is posted to them.
 */
bool dpr_ep_configured(const struct dpr_ep *ep)
{
	return ep->pz && ep->connect && (ep->recv || ep->request);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/query.h"

#include "dat/provider/cm/conn.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/obj.h"

#include <string.h>

static bool connected(DAT_EP_STATE s)
{
	return s == DAT_EP_STATE_CONNECTED || s == DAT_EP_STATE_DISCONNECT_PENDING;
}

/* The remote address is that of the connection, and known while ep is connected. */
static void ends(const struct dpr_ep *ep, DAT_EP_PARAM *p) UT_REQUIRES(ep->lock)
{
	struct dpr_conn *c = ep->conn;

	p->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->addr;
	if (!c || !c->id)
		return;
	p->local_port_qual = ntohs(rdma_get_src_port(c->id));
	if (!connected(ep->state))
		return;
	p->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&c->remote;
	p->remote_port_qual = ntohs(rdma_get_dst_port(c->id));
	if (c->common)
		p->comm = (DAT_COMM){ c->remote.ss_family, SOCK_STREAM, IPPROTO_TCP };
}

DAT_RETURN dpr_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	DAT_RETURN ret = dpr_query_args(ep, DAT_INVALID_HANDLE_EP,
					mask & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_ALL, param);

	if (ret)
		return ret;
	memset(param, 0, sizeof(*param));
	ut_lock(&ep->lock);
	param->ia_handle = dpr_ia_public(ep->obj.ia);
	param->ep_state = ep->state;
	ends(ep, param);
	param->pz_handle = (DAT_PZ_HANDLE)ep->pz;
	param->recv_evd_handle = (DAT_EVD_HANDLE)ep->recv;
	param->request_evd_handle = (DAT_EVD_HANDLE)ep->request;
	param->connect_evd_handle = (DAT_EVD_HANDLE)ep->connect;
	param->srq_handle = (DAT_SRQ_HANDLE)ep->srq;
	param->ep_attr = ep->attr;
	ut_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* Idle: nothing is outstanding. A completed operation that was not reaped is not outstanding. */
DAT_RETURN dpr_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle)
{
	struct dpr_ep *ep = dpr_ep_of(handle);
	bool idle;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	idle = dpr_ep_idle(ep);
	ut_lock(&ep->lock);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = ep->srq || !dpr_dtoq_used(&ep->rq) ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = idle ? DAT_TRUE : DAT_FALSE;
	ut_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* How many messages the buffers span is not known: verbs have no such query. */
DAT_RETURN dpr_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
	struct dpr_ep *ep = dpr_ep_of(handle);

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	dpr_ep_reap(ep);
	ut_lock(&ep->lock);
	if (allocated)
		*allocated = ep->srq ? ep->taken : (DAT_COUNT)dpr_dtoq_used(&ep->rq);
	if (span)
		*span = DAT_VALUE_UNKNOWN;
	ut_unlock(&ep->lock);
	return DAT_SUCCESS;
}

/* The marks limit what an endpoint takes from its SRQ. */
DAT_RETURN dpr_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dpr_ep *ep = dpr_ep_of(handle);

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (soft < DAT_WATERMARK_INFINITE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard < DAT_WATERMARK_INFINITE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ep->srq)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	ut_lock(&ep->lock);
	ep->hard = hard;
	ep->soft = soft;
	ep->soft_armed = soft != DAT_WATERMARK_INFINITE;
	ut_unlock(&ep->lock);
	return DAT_SUCCESS;
}

// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/ep.h"

#include "dat/core/attr.h"
#include "dat/core/modify.h"
#include "kdapl/conn.h"
#include "kdapl/main.h"
#include "kdapl/mem.h"
#include "kdapl/post.h"
#include "kdapl/srq.h"

/* --- states --- */

struct dpr_ep_step kdp_ep_apply(struct kdp_ep *ep, enum dpr_ep_do what)
{
	struct dpr_ep_step s = dpr_ep_step(ep->state, what, kdp_ep_configured(ep));

	if (!s.ret)
		ep->state = s.next;
	return s;
}

/* The private data of events without any: consumers read it without a look at its size. */
static u8 nothing[256];

void kdp_ep_queue_event(struct kdp_ep *ep, struct kdp_evd *evd, DAT_EVENT_NUMBER event, DAT_COUNT size, void *data)
{
	DAT_EVENT ev;

	memset(&ev, 0, sizeof(ev));
	ev.event_number = event;
	ev.event_data.connect_event_data = (DAT_CONNECTION_EVENT_DATA){
		.ep_handle = (DAT_EP_HANDLE)ep,
		.private_data_size = size,
		.private_data = size ? data : nothing,
	};
	kdp_evd_put(evd, &ev, true);
}

bool kdp_ep_established(struct kdp_ep *ep, DAT_COUNT size, void *data)
{
	struct dpr_ep_step s = kdp_ep_apply(ep, DPR_ON_ESTABLISHED);

	if (s.ret)
		return false;
	kdp_ep_queue_event(ep, ep->parts.connect, s.event, size, data);
	ep->early = false;
	kdp_held_release(ep);
	if (ep->failed) /* an error waited for this event too */
		kdp_ep_end(ep, NULL, DPR_ON_BROKEN, 0, false);
	return true;
}

void kdp_ep_kick(struct kdp_ep *ep)
{
	struct kdp_parts p;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	p = ep->parts;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (p.connect)
		kdp_evd_kick(p.connect);
	if (p.recv && p.recv != p.connect)
		kdp_evd_kick(p.recv);
	if (p.request && p.request != p.recv && p.request != p.connect)
		kdp_evd_kick(p.request);
}

bool kdp_ep_end(struct kdp_ep *ep, const struct kdp_conn *of, enum dpr_ep_do what, DAT_EVENT_NUMBER event, bool data)
{
	struct dpr_ep_step s = dpr_ep_step(ep->state, what, true);

	if (of && ep->conn != of)
		return false;
	if (s.ret || s.next == ep->state || s.next != DAT_EP_STATE_DISCONNECTED || ep->ending)
		return false;
	/* while the answer of the connection manager is under way, that decides */
	if (what == DPR_ON_BROKEN && ep->early && ep->failed && !of)
		return false;
	ep->was_connected = ep->state == DAT_EP_STATE_CONNECTED || ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
	ep->ending = true;
	ep->why = what;
	ep->end_event = s.event ? s.event : event;
	ep->end_data = data;
	ep->state = DAT_EP_STATE_DISCONNECTED;
	kdp_obj_hold(&ep->obj);
	if (!queue_work(kdp_wq, &ep->end))
		kdp_obj_put(&ep->obj); /* impossible: `ending` was false */
	return true;
}

/* Everything completes before the event of the end. */
static void end_work(struct work_struct *w)
{
	struct kdp_ep *ep = container_of(w, struct kdp_ep, end);
	struct kdp_conn *c;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	c = ep->conn;
	if (c)
		kdp_conn_hold(c);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (c)
		kdp_conn_drain(c, ep->was_connected);
	spin_lock_irqsave(&ep->lock, flags);
	ep->early = false;
	kdp_held_release(ep);
	kdp_recv_flush(ep);
	/* The peer may disconnect because of an error on this side, and its disconnect may be seen before the error: a
	 * Terminate of iWARP is both. */
	if (ep->failed && ep->was_connected && (ep->why == DPR_ON_DISCONNECTED || ep->why == DPR_ON_DRAINED))
		ep->end_event = DAT_CONNECTION_EVENT_BROKEN;
	if (ep->end_event && ep->parts.connect)
		kdp_ep_queue_event(ep, ep->parts.connect, ep->end_event, ep->end_data && c ? c->in.len : 0,
				   c ? c->in.data : NULL);
	ep->ending = false;
	spin_unlock_irqrestore(&ep->lock, flags);
	kdp_ep_kick(ep);
	if (c)
		kdp_conn_put(c);
	kdp_obj_put(&ep->obj);
}

/* --- the object --- */

/* Takes the connection from ep and closes it. Called with life held. */
static void unplug(struct kdp_ep *ep)
{
	struct kdp_conn *c;
	unsigned long flags;

	flush_work(&ep->end);
	spin_lock_irqsave(&ep->lock, flags);
	c = ep->conn;
	ep->conn = NULL;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!c)
		return;
	kdp_conn_drain(c, true);
	spin_lock_irqsave(&ep->lock, flags);
	ep->qp = NULL;
	spin_unlock_irqrestore(&ep->lock, flags);
	kdp_conn_close(c);
}

/* The device leaves, or the consumer frees: the event of the former is queued before the queue pair goes. */
static void ep_detach(struct kdp_obj *o)
{
	struct kdp_ep *ep = (struct kdp_ep *)o;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (o->alive == KDP_ALIVE)
		kdp_ep_end(ep, ep->conn, DPR_ON_BROKEN, DAT_CONNECTION_EVENT_BROKEN, false);
	spin_unlock_irqrestore(&ep->lock, flags);
	unplug(ep);
}

static void drop_parts(const struct kdp_parts *p)
{
	if (p->recv)
		kdp_unuse(&p->recv->obj);
	if (p->request)
		kdp_unuse(&p->request->obj);
	if (p->connect)
		kdp_unuse(&p->connect->obj);
	if (p->pz)
		kdp_unuse(&p->pz->obj);
}

static void take_parts(const struct kdp_parts *p)
{
	if (p->recv)
		kdp_use(&p->recv->obj);
	if (p->request)
		kdp_use(&p->request->obj);
	if (p->connect)
		kdp_use(&p->connect->obj);
	if (p->pz)
		kdp_use(&p->pz->obj);
}

static void ep_finish(struct kdp_obj *o)
{
	struct kdp_ep *ep = (struct kdp_ep *)o;
	struct kdp_parts p = ep->parts;
	unsigned long flags;

	if (p.recv)
		kdp_evd_purge(p.recv, (DAT_EP_HANDLE)ep);
	if (p.request && p.request != p.recv)
		kdp_evd_purge(p.request, (DAT_EP_HANDLE)ep);
	spin_lock_irqsave(&ep->lock, flags);
	kdp_held_drop(ep);
	memset(&ep->parts, 0, sizeof(ep->parts));
	spin_unlock_irqrestore(&ep->lock, flags);
	drop_parts(&p);
	if (ep->srq)
		kdp_unuse(&ep->srq->obj);
}

static void ep_release(struct kdp_obj *o)
{
	kdp_queues_free((struct kdp_ep *)o);
}

const struct kdp_class kdp_ep_class = {
	.type = DAT_HANDLE_TYPE_EP,
	.cache = "kdapl_ep",
	.size = sizeof(struct kdp_ep),
	.detach = ep_detach,
	.finish = ep_finish,
	.release = ep_release,
};

/* --- create --- */

static DAT_RETURN evd_of(struct kdp_ia *ia, DAT_EVD_HANDLE handle, DAT_EVD_FLAGS stream, DAT_RETURN_SUBTYPE sub,
			 struct kdp_evd **evd)
{
	struct kdp_evd *e = handle ? kdp_evd_of(handle) : NULL;

	*evd = e;
	if (handle && (!e || e->obj.ia != ia || !(e->flags & stream)))
		return DPR_ERR(DAT_INVALID_HANDLE, sub);
	return DAT_SUCCESS;
}

static DAT_RETURN find_parts(struct kdp_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			     DAT_EVD_HANDLE connect, struct kdp_parts *p)
{
	DAT_RETURN ret;

	p->pz = pz ? kdp_pz_of(pz) : NULL;
	if (pz && (!p->pz || p->pz->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	ret = evd_of(ia, recv, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_RECV, &p->recv);
	if (!ret)
		ret = evd_of(ia, request, DAT_EVD_DTO_FLAG, DAT_INVALID_HANDLE_EVD_REQUEST, &p->request);
	if (!ret)
		ret = evd_of(ia, connect, DAT_EVD_CONNECTION_FLAG, DAT_INVALID_HANDLE_EVD_CONN, &p->connect);
	return ret;
}

/* Per-event notification by the sender's solicited flag does not exist in the kernel's completions. */
static DAT_RETURN grant(struct kdp_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg, DAT_EP_ATTR *to)
{
	DAT_EP_ATTR most = kdp_ia_limits(ia);

	if (READ_ONCE(ia->removed))
		return kdp_removed();
	if (attr && attr->service_type == DPR_SERVICE_UD)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (attr && (attr->recv_completion_flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG))
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	return dpr_attr_grant(&most, false, attr, arg, to);
}

DAT_RETURN kdp_ep_make(struct kdp_ia *ia, const struct kdp_parts *p, struct kdp_srq *srq, const DAT_EP_ATTR *attr,
		       bool hidden, struct kdp_ep **ret)
{
	struct kdp_ep *ep = kdp_obj_new(ia, &kdp_ep_class, hidden);

	if (!ep)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	spin_lock_init(&ep->lock);
	INIT_LIST_HEAD(&ep->held);
	INIT_WORK(&ep->end, end_work);
	ep->state = DAT_EP_STATE_UNCONFIGURED_UNCONNECTED;
	ep->attr = *attr;
	ep->soft = ep->hard = DAT_WATERMARK_INFINITE;
	ep->srq = srq;
	if (srq)
		kdp_use(&srq->obj);
	if (kdp_queues_make(ep, attr)) {
		kdp_obj_drop(&ep->obj);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ep->parts = *p;
	take_parts(p);
	if (kdp_ep_configured(ep))
		ep->state = DAT_EP_STATE_UNCONNECTED;
	if (srq && attr->srq_soft_hw > 0) {
		ep->soft = attr->srq_soft_hw;
		ep->soft_armed = true;
	}
	*ret = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN create(DAT_IA_HANDLE handle, const DAT_HANDLE parts[4], DAT_SRQ_HANDLE srq_handle, bool with_srq,
			 const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ret)
{
	DAT_RETURN_SUBTYPE arg = with_srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6;
	struct kdp_srq *srq = with_srq ? kdp_srq_of(srq_handle) : NULL;
	struct kdp_ia *ia = kdp_ia_of(handle);
	struct kdp_parts p;
	DAT_EP_ATTR granted;
	struct kdp_ep *ep;
	DAT_RETURN r;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	r = find_parts(ia, parts[0], parts[1], parts[2], parts[3], &p);
	if (r)
		return r;
	if (with_srq && (!srq || srq->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
	if (!ret)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg + 1);
	r = grant(ia, attr, arg, &granted);
	if (!r)
		r = kdp_ep_make(ia, &p, srq, &granted, false, &ep);
	if (!r)
		*ret = (DAT_EP_HANDLE)ep;
	return r;
}

DAT_RETURN kdp_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
			 DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	const DAT_HANDLE parts[] = { pz, recv, request, connect };

	return create(ia, parts, NULL, false, attr, ep);
}

DAT_RETURN kdp_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE request,
				  DAT_EVD_HANDLE connect, DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
				  DAT_EP_HANDLE *ep)
{
	const DAT_HANDLE parts[] = { pz, recv, request, connect };

	return create(ia, parts, srq, true, attr, ep);
}

struct kdp_ep *kdp_ep_for_request(struct kdp_ia *ia)
{
	static const struct kdp_parts none;
	struct kdp_ep *ep = NULL;
	unsigned long flags;
	DAT_EP_ATTR attr;

	if (grant(ia, NULL, DAT_NO_SUBTYPE, &attr) || kdp_ep_make(ia, &none, NULL, &attr, false, &ep))
		return NULL;
	spin_lock_irqsave(&ep->lock, flags);
	ep->made_here = true;
	kdp_ep_apply(ep, DPR_ON_REQUEST);
	spin_unlock_irqrestore(&ep->lock, flags);
	return ep;
}

/* --- query, modify --- */

DAT_RETURN kdp_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	DAT_RETURN ret = dpr_query_args(ep, DAT_INVALID_HANDLE_EP, mask & ~DAT_EP_FIELD_ALL, param);
	unsigned long flags;

	if (ret)
		return ret;
	memset(param, 0, sizeof(*param));
	spin_lock_irqsave(&ep->lock, flags);
	param->ia_handle = (DAT_IA_HANDLE)ep->obj.ia;
	param->ep_state = ep->state;
	param->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->obj.ia->addr;
	param->pz_handle = (DAT_PZ_HANDLE)ep->parts.pz;
	param->recv_evd_handle = (DAT_EVD_HANDLE)ep->parts.recv;
	param->request_evd_handle = (DAT_EVD_HANDLE)ep->parts.request;
	param->connect_evd_handle = (DAT_EVD_HANDLE)ep->parts.connect;
	param->srq_handle = (DAT_SRQ_HANDLE)ep->srq;
	param->ep_attr = ep->attr;
	if (ep->conn && ep->state == DAT_EP_STATE_CONNECTED) {
		struct kdp_conn *c = ep->conn;

		param->remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&c->remote;
		param->remote_port_qual = c->active ? c->qual : ntohs(*dpr_port_of(&c->remote));
		param->local_port_qual = c->active ? 0 : c->qual;
		if (c->common) {
			param->comm.domain = c->remote.ss_family;
			param->comm.type = SOCK_STREAM;
			param->comm.protocol = IPPROTO_TCP;
		}
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return DAT_SUCCESS;
}

static DAT_RETURN new_parts(struct kdp_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *q, struct kdp_parts *p)
{
	const struct kdp_parts *is = &ep->parts;

	return find_parts(ep->obj.ia, mask & DAT_EP_FIELD_PZ_HANDLE ? q->pz_handle : (DAT_PZ_HANDLE)is->pz,
			  mask & DAT_EP_FIELD_RECV_EVD_HANDLE ? q->recv_evd_handle : (DAT_EVD_HANDLE)is->recv,
			  mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE ? q->request_evd_handle : (DAT_EVD_HANDLE)is->request,
			  mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE ? q->connect_evd_handle
								 : (DAT_EVD_HANDLE)is->connect, p);
}

/* A queue in which receives wait keeps its size, since their records have segments. */
static DAT_RETURN resize(struct kdp_ep *ep, const DAT_EP_ATTR *to)
{
	if (!dpr_modify_resizes(&ep->attr, to))
		return DAT_SUCCESS;
	if (ep->rq.head != ep->rq.tail)
		return DPR_ERR(DAT_INVALID_STATE, dpr_ep_state_name(ep->state));
	return kdp_queues_make(ep, to) ? DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) : DAT_SUCCESS;
}

/* Called with life held: states in which a change is legal move by calls that hold it. */
static DAT_RETURN change(struct kdp_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *q)
{
	DAT_RETURN ret = dpr_modify_legal(ep->state, mask);
	DAT_EP_ATTR asked = ep->attr, to;
	struct kdp_parts p, old;
	unsigned long flags;

	if (ret)
		return ret;
	dpr_modify_merge(&asked, &q->ep_attr, mask);
	ret = grant(ep->obj.ia, &asked, DAT_INVALID_ARG3, &to);
	if (!ret)
		ret = new_parts(ep, mask, q, &p);
	if (!ret)
		ret = resize(ep, &to);
	if (ret)
		return ret;
	take_parts(&p);
	spin_lock_irqsave(&ep->lock, flags);
	old = ep->parts;
	ep->parts = p;
	if (ep->srq && to.srq_soft_hw != ep->attr.srq_soft_hw) {
		ep->soft = to.srq_soft_hw;
		ep->soft_armed = to.srq_soft_hw != DAT_HW_DEFAULT;
	}
	ep->attr = to;
	kdp_ep_apply(ep, DPR_DO_MODIFY_ATTR); /* ep may have become configured or unconfigured */
	spin_unlock_irqrestore(&ep->lock, flags);
	drop_parts(&old);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = dpr_modify_args(mask, param);
	if (ret)
		return ret;
	mutex_lock(&ep->obj.life);
	ret = change(ep, mask, param);
	mutex_unlock(&ep->obj.life);
	return ret;
}

/* --- ends --- */

DAT_RETURN kdp_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS close)
{
	enum dpr_ep_do what = close == DAT_CLOSE_GRACEFUL_FLAG ? DPR_DO_DISCONNECT_GRACEFUL : DPR_DO_DISCONNECT;
	struct kdp_ep *ep = kdp_ep_of(handle);
	struct dpr_ep_step s;
	unsigned long flags;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (close != DAT_CLOSE_ABRUPT_FLAG && close != DAT_CLOSE_GRACEFUL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	spin_lock_irqsave(&ep->lock, flags);
	s = dpr_ep_step(ep->state, what, true);
	if (!s.ret && s.next == DAT_EP_STATE_DISCONNECT_PENDING) {
		ep->state = s.next;
		if (ep->sq.head == ep->sq.tail)
			kdp_ep_end(ep, NULL, DPR_ON_DRAINED, 0, false);
	} else if (!s.ret) {
		kdp_ep_end(ep, NULL, what, 0, false);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return s.ret;
}

static void clear_queue(struct kdp_queue *q)
{
	q->head = q->tail = q->given = q->used = 0;
}

DAT_RETURN kdp_ep_reset(DAT_EP_HANDLE handle)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	struct dpr_ep_step s;
	unsigned long flags;
	bool ended;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	mutex_lock(&ep->obj.life);
	spin_lock_irqsave(&ep->lock, flags);
	s = dpr_ep_step(ep->state, DPR_DO_RESET, kdp_ep_configured(ep));
	ended = ep->state == DAT_EP_STATE_DISCONNECTED;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (!s.ret && ended) {
		unplug(ep);
		spin_lock_irqsave(&ep->lock, flags);
		clear_queue(&ep->sq);
		clear_queue(&ep->rq);
		ep->failed = ep->early = false;
		ep->taken = 0;
		ep->state = s.next;
		spin_unlock_irqrestore(&ep->lock, flags);
	}
	mutex_unlock(&ep->obj.life);
	return s.ret;
}

DAT_RETURN kdp_ep_free(DAT_EP_HANDLE handle)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = dpr_ep_step(READ_ONCE(ep->state), DPR_DO_FREE, true).ret;
	if (ret)
		return ret;
	return kdp_obj_end(&ep->obj, false) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
}

/* --- status --- */

DAT_RETURN kdp_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			     DAT_BOOLEAN *request_idle)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	unsigned long flags;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	spin_lock_irqsave(&ep->lock, flags);
	if (state)
		*state = ep->state;
	if (recv_idle)
		*recv_idle = ep->rq.head == ep->rq.tail ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = ep->sq.head == ep->sq.tail ? DAT_TRUE : DAT_FALSE;
	spin_unlock_irqrestore(&ep->lock, flags);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *buffers, DAT_COUNT *span)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	unsigned long flags;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	spin_lock_irqsave(&ep->lock, flags);
	if (buffers)
		*buffers = ep->srq ? ep->taken : (DAT_COUNT)(ep->rq.head - ep->rq.tail);
	if (span)
		*span = DAT_VALUE_UNKNOWN;
	spin_unlock_irqrestore(&ep->lock, flags);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	unsigned long flags;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (!ep->srq)
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_RECV_WATERMARK);
	if (soft < DAT_WATERMARK_INFINITE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (hard < DAT_WATERMARK_INFINITE)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	spin_lock_irqsave(&ep->lock, flags);
	ep->soft = soft;
	ep->hard = hard;
	ep->soft_armed = soft != DAT_WATERMARK_INFINITE;
	spin_unlock_irqrestore(&ep->lock, flags);
	return DAT_SUCCESS;
}

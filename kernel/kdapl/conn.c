// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/conn.h"

#include "kdapl/main.h"
#include "kdapl/mem.h"
#include "kdapl/post.h"
#include "kdapl/srq.h"

#include <linux/cpumask.h>
#include <linux/slab.h>
#include <rdma/ib_cm.h>

enum {
	STEP_MS = 4000,  /* address and route, as Debian's provider */
	RNR_RETRY = 7,   /* IBTA 9.7.5.2.8: without end */
	/* IBTA 12.7.38 has 7 at most. rxe takes 7 for "without end", and a request to a peer that has gone would never complete */
	RETRY = 6,
	DRAIN = 1,       /* receives by which ib_drain_qp() finds the end */
	/*
	 * iWARP: after this time, the connecting end writes nothing to its peer. siw accepts before it takes over the
	 * socket: what arrives in between stays unread until the next segment, which the peer may never send.
	 */
	NUDGE_MS = 100,
};

/* --- the object --- */

static void on_timeout(struct work_struct *w);

struct kdp_conn *kdp_conn_new(struct kdp_ia *ia, bool active)
{
	struct kdp_conn *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	kref_init(&c->ref);
	kdp_obj_hold(&ia->obj);
	c->ia = ia;
	c->active = active;
	INIT_DELAYED_WORK(&c->timer, on_timeout);
	return c;
}

static void conn_free(struct kref *ref)
{
	struct kdp_conn *c = container_of(ref, struct kdp_conn, ref);

	kdp_obj_put(&c->ia->obj);
	kfree(c);
}

void kdp_conn_hold(struct kdp_conn *c)
{
	kref_get(&c->ref);
}

void kdp_conn_put(struct kdp_conn *c)
{
	kref_put(&c->ref, conn_free);
}

void kdp_conn_drain(struct kdp_conn *c, bool disconnect)
{
	struct ib_qp *qp;
	bool mine;

	rdma_lock_handler(c->id);
	qp = c->qp;
	mine = qp && !c->drained;
	c->drained = true;
	c->closing = true;
	rdma_unlock_handler(c->id);
	if (!mine)
		return;
	if (disconnect)
		rdma_disconnect(c->id);
	ib_drain_qp(qp);
}

void kdp_conn_close(struct kdp_conn *c)
{
	kdp_conn_drain(c, true);
	cancel_delayed_work_sync(&c->timer);
	if (c->qp)
		rdma_destroy_qp(c->id);
	if (c->cq)
		ib_free_cq(c->cq);
	rdma_destroy_id(c->id);
	c->qp = NULL;
	c->cq = NULL;
	kdp_conn_put(c);
}

/* --- the queue pair --- */

static void on_qp_event(struct ib_event *ev, void *context)
{
	struct kdp_conn *c = context;
	struct kdp_ep *ep = c->ep;
	unsigned long flags;

	switch (ev->event) {
	case IB_EVENT_COMM_EST:
		rdma_notify(c->id, IB_EVENT_COMM_EST);
		return;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		break;
	default:
		return;
	}
	spin_lock_irqsave(&ep->lock, flags);
	if (ep->conn == c) {
		ep->failed = true;
		kdp_ep_end(ep, NULL, DPR_ON_BROKEN, 0, false);
	}
	spin_unlock_irqrestore(&ep->lock, flags);
}

static struct ib_qp_init_attr qp_attr(struct kdp_conn *c, struct kdp_ep *ep)
{
	const DAT_EP_ATTR *a = &ep->attr;

	return (struct ib_qp_init_attr){
		.event_handler = on_qp_event,
		.qp_context = c,
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.srq = ep->srq ? ep->srq->srq : NULL,
		.cap = {
			.max_send_wr = kdp_send_size(c->ia, a) + KDP_OWN_REQUESTS,
			.max_recv_wr = ep->srq ? 0 : a->max_recv_dtos + DRAIN,
			.max_send_sge = max3(dpr_op_iov(DPR_OP_SEND, a), dpr_op_iov(DPR_OP_WRITE, a),
					     dpr_op_iov(DPR_OP_READ, a)),
			.max_recv_sge = ep->srq ? 0 : a->max_recv_iov,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = c->ia->dev->port,
	};
}

static u32 cq_size(struct kdp_conn *c, struct kdp_ep *ep)
{
	u32 recv = ep->srq ? ep->srq->attr.max_recv_dtos : ep->attr.max_recv_dtos;

	return min_t(u32, kdp_send_size(c->ia, &ep->attr) + KDP_OWN_REQUESTS + recv + DRAIN, c->ia->attrs.max_cqe);
}

static int make_qp(struct kdp_conn *c, struct kdp_ep *ep)
{
	struct ib_qp_init_attr a;
	int err;

	c->cq = ib_alloc_cq_any(c->ia->ib, c, cq_size(c, ep), IB_POLL_SOFTIRQ);
	if (IS_ERR(c->cq)) {
		err = PTR_ERR(c->cq);
		c->cq = NULL;
		return err;
	}
	a = qp_attr(c, ep);
	err = rdma_create_qp(c->id, ep->parts.pz->pd, &a);
	if (!err)
		c->qp = c->id->qp;
	return err;
}

int kdp_conn_make_qp(struct kdp_conn *c, struct kdp_ep *ep)
{
	unsigned long flags;
	int err;

	/* the device cannot leave meanwhile: the detachment of ep closes c, and waits for the handler */
	if (c->closing)
		return -ENODEV;
	err = make_qp(c, ep);
	if (err)
		return err;
	spin_lock_irqsave(&ep->lock, flags);
	ep->qp = c->qp;
	err = kdp_recv_hand_over(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
	return err;
}

struct rdma_conn_param kdp_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out)
{
	return (struct rdma_conn_param){
		.private_data = out->len ? out->data : NULL,
		.private_data_len = out->len,
		.responder_resources = attr->max_rdma_read_in,
		.initiator_depth = attr->max_rdma_read_out,
		.flow_control = 1,
		.retry_count = RETRY,
		.rnr_retry_count = RNR_RETRY,
	};
}

/* --- events of the connection manager; the id's handler lock is held --- */

/* Ends the attempt or the acceptance with this event, for the active side. */
static void fail(struct kdp_conn *c, DAT_EVENT_NUMBER event, bool data)
{
	struct kdp_ep *ep = c->ep;
	unsigned long flags;

	if (!ep)
		return;
	spin_lock_irqsave(&ep->lock, flags);
	kdp_ep_end(ep, c, DPR_ON_REFUSED, event, data);
	spin_unlock_irqrestore(&ep->lock, flags);
}

/* The attempt takes too long, or the connection is NUDGE_MS old. */
static void on_timeout(struct work_struct *w)
{
	struct kdp_conn *c = container_of(to_delayed_work(w), struct kdp_conn, timer);
	struct kdp_ep *ep = c->ep;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	if (ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING)
		kdp_ep_end(ep, c, DPR_ON_REFUSED, DAT_CONNECTION_EVENT_TIMED_OUT, false);
	else if (ep->state == DAT_EP_STATE_CONNECTED && ep->conn == c)
		kdp_post_nudge(ep);
	spin_unlock_irqrestore(&ep->lock, flags);
}

static void ended(struct kdp_conn *c, enum dpr_ep_do why)
{
	struct kdp_ep *ep = c->ep;
	unsigned long flags;

	c->gone = true;
	if (!ep)
		return;
	spin_lock_irqsave(&ep->lock, flags);
	kdp_ep_end(ep, c, why, 0, false);
	spin_unlock_irqrestore(&ep->lock, flags);
}

static void copy_private(struct kdp_conn *c, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;

	c->in.len = p->private_data ? p->private_data_len : 0;
	if (c->in.len)
		memcpy(c->in.data, p->private_data, c->in.len);
}

static void established(struct kdp_conn *c, const struct rdma_cm_event *ev)
{
	struct kdp_ep *ep = c->ep;
	unsigned long flags;

	if (!ep)
		return;
	if (c->active)
		copy_private(c, ev);
	spin_lock_irqsave(&ep->lock, flags);
	if (ep->conn == c && !ep->ending)
		kdp_ep_established(ep, c->active ? c->in.len : 0, c->in.data);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (c->active && c->ia->iwarp)
		mod_delayed_work(kdp_wq, &c->timer, msecs_to_jiffies(NUDGE_MS));
	else
		cancel_delayed_work(&c->timer);
	kdp_ep_kick(ep);
}

static void connect(struct kdp_conn *c)
{
	struct rdma_conn_param p = kdp_conn_param(&c->ep->attr, &c->out);

	if (kdp_conn_make_qp(c, c->ep) || rdma_connect_locked(c->id, &p))
		fail(c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
}

/* The address may lead to another adapter, which rdma_cm found first. */
static void resolved(struct kdp_conn *c)
{
	if (c->id->device != c->ia->ib || c->id->port_num != c->ia->dev->port || rdma_resolve_route(c->id, STEP_MS))
		fail(c, DAT_CONNECTION_EVENT_UNREACHABLE, false);
}

static void rejected(struct kdp_conn *c, const struct rdma_cm_event *ev)
{
	DAT_EVENT_NUMBER event;

	if (!c->active) {
		ended(c, DPR_ON_REFUSED);
		return;
	}
	copy_private(c, ev);
	event = dpr_private_rejected(&c->in, ev->status, c->ia->iwarp);
	fail(c, event, true);
}

int kdp_conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct kdp_conn *c = id->context;

	if (c->closing && ev->event != RDMA_CM_EVENT_DISCONNECTED)
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		resolved(c);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect(c);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		fail(c, DAT_CONNECTION_EVENT_UNREACHABLE, false);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		fail(c, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, false);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(c, ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(c, ev);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended(c, DPR_ON_DISCONNECTED);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ended(c, DPR_ON_BROKEN);
		break;
	default:
		break;
	}
	return 0;
}

/* --- connect --- */

static struct dpr_ask_limits limits(const struct kdp_ep *ep)
{
	return (struct dpr_ask_limits){ .family = 0, .private_max = ep->obj.ia->private_max };
}

/* Makes c the attempt of ep. Returns false if the state does not admit it. */
static DAT_RETURN attach(struct kdp_ep *ep, struct kdp_conn *c, enum dpr_ep_do what)
{
	struct dpr_ep_step s;
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	s = kdp_ep_apply(ep, what);
	if (!s.ret) {
		c->ep = ep;
		ep->conn = c;
		ep->early = true;
		ep->failed = false;
	}
	spin_unlock_irqrestore(&ep->lock, flags);
	return s.ret;
}

static DAT_RETURN start(struct kdp_ep *ep, struct kdp_conn *c, DAT_TIMEOUT timeout)
{
	DAT_RETURN ret;

	if (!kdp_ia_enter(c->ia))
		return kdp_removed();
	ret = attach(ep, c, DPR_DO_CONNECT);
	kdp_ia_leave(c->ia);
	if (ret)
		return ret;
	if (timeout != DAT_TIMEOUT_INFINITE)
		queue_delayed_work(kdp_wq, &c->timer, max_t(unsigned long, usecs_to_jiffies(timeout), 1));
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&c->remote, STEP_MS)) {
		rdma_lock_handler(c->id);
		fail(c, DAT_CONNECTION_EVENT_UNREACHABLE, false);
		rdma_unlock_handler(c->id);
	}
	return DAT_SUCCESS;
}

static DAT_RETURN establish(struct kdp_ep *ep, const struct dpr_ask *a)
{
	struct kdp_conn *c;
	DAT_RETURN ret;

	ret = dpr_ep_step(READ_ONCE(ep->state), DPR_DO_CONNECT, kdp_ep_configured(ep)).ret;
	if (ret)
		return ret;
	c = kdp_conn_new(ep->obj.ia, true);
	if (!c)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	c->out = a->out;
	c->remote = a->to;
	c->qual = a->qual;
	c->common = a->common;
	c->id = rdma_create_id(&init_net, kdp_conn_event, c, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(c->id)) {
		kdp_conn_put(c);
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
	mutex_lock(&ep->obj.life);
	ret = ep->obj.detached ? kdp_removed() : start(ep, c, a->timeout);
	mutex_unlock(&ep->obj.life);
	if (ret)
		kdp_conn_close(c);
	return ret;
}

DAT_RETURN kdp_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			  DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality, DAT_CONNECT_FLAGS flags)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
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
static DAT_RETURN peer_of(struct kdp_ep *dup, struct dpr_ask *a)
{
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&dup->lock, flags);
	ret = dpr_ep_step(dup->state, DPR_DO_DUP_SOURCE, true).ret;
	if (!ret && !dup->conn)
		ret = DPR_ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!ret) {
		a->to = dup->conn->remote;
		a->qual = dup->conn->qual;
		a->common = dup->conn->common;
	}
	spin_unlock_irqrestore(&dup->lock, flags);
	return ret;
}

DAT_RETURN kdp_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout, DAT_COUNT size,
			      const DAT_PVOID data, DAT_QOS quality)
{
	struct kdp_ep *ep = kdp_ep_of(handle), *dup = kdp_ep_of(dup_handle);
	struct dpr_ask_limits l;
	struct dpr_ask a;
	DAT_RETURN ret;

	if (!ep || !dup || dup->obj.ia != ep->obj.ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	l = limits(ep);
	ret = dpr_ask_dup(&a, &l, timeout, size, data, quality);
	if (!ret)
		ret = dpr_ep_step(READ_ONCE(ep->state), DPR_DO_CONNECT, kdp_ep_configured(ep)).ret;
	if (!ret)
		ret = peer_of(dup, &a);
	return ret ? ret : establish(ep, &a);
}

DAT_RETURN kdp_ep_common_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data)
{
	struct kdp_ep *ep = kdp_ep_of(handle);
	struct dpr_ask_limits l;
	struct dpr_ask a;
	DAT_RETURN ret;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	l = limits(ep);
	ret = dpr_ask_common(&a, &l, remote, timeout, size, data);
	return ret ? ret : establish(ep, &a);
}

/* --- accept --- */

void kdp_conn_reject(struct kdp_conn *c, struct dpr_private *out, bool ours)
{
	dpr_private_reject(out, ours);
	rdma_reject(c->id, out->data, out->len, IB_CM_REJ_CONSUMER_DEFINED);
}

/* Makes the queue pair and sends the reply, or rejects. Returns 0 or a negative errno. */
static int answer(struct kdp_conn *c, struct kdp_ep *ep, struct rdma_conn_param *p)
{
	struct dpr_private none = { .len = 0 };
	int err;

	if (c->gone)
		return -ECONNRESET;
	err = kdp_conn_make_qp(c, ep);
	if (err)
		kdp_conn_reject(c, &none, true);
	else
		err = rdma_accept(c->id, p); /* rejects if it fails */
	return err;
}

/* Called with the id's handler lock held. */
static DAT_RETURN accept_locked(struct kdp_conn *c, struct kdp_ep *ep, const struct dpr_private *out)
{
	struct rdma_conn_param p = kdp_conn_param(&ep->attr, out);
	DAT_RETURN ret = attach(ep, c, DPR_DO_ACCEPT);

	if (ret)
		return ret;
	p.responder_resources = min(p.responder_resources, c->responder_resources);
	p.initiator_depth = min(p.initiator_depth, c->initiator_depth);
	/* what fails from here on, the endpoint reports by an event */
	if (answer(c, ep, &p))
		fail(c, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR, false);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_conn_accept(struct kdp_conn *c, struct kdp_ep *ep, const struct dpr_private *out)
{
	DAT_RETURN ret;

	mutex_lock(&ep->obj.life);
	if (ep->obj.detached) {
		ret = kdp_removed();
	} else {
		rdma_lock_handler(c->id);
		ret = accept_locked(c, ep, out);
		rdma_unlock_handler(c->id);
	}
	mutex_unlock(&ep->obj.life);
	return ret;
}

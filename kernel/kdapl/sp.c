// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/sp.h"

#include "dat/core/ask.h"

#include <linux/slab.h>

enum { BACKLOG_MIN = 16, BACKLOG_MAX = 1024 };

/* The arguments by which a service point is made. Fields that its kind does not have are 0. */
struct args {
	const struct kdp_class *class;
	DAT_CONN_QUAL qual;  /* 0: any; of a CSP in its address */
	DAT_PSP_FLAGS flags;
	struct kdp_ep *ep;   /* RSP */
	const DAT_COMM *comm;
	const void *address; /* CSP: a sockaddr */
	bool hidden;
};

/* --- requests --- */

static void cr_detach(struct kdp_obj *o);
static void cr_finish(struct kdp_obj *o);

const struct kdp_class kdp_cr_class = {
	.type = DAT_HANDLE_TYPE_CR,
	.cache = "kdapl_cr",
	.size = sizeof(struct kdp_cr),
	.detach = cr_detach,
	.finish = cr_finish,
};

static struct kdp_cr *kdp_cr_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_CR);
}

/* The endpoint of a rejected request: back to its owner, or gone if the provider made it. */
static void return_ep(struct kdp_ep *ep)
{
	unsigned long flags;

	spin_lock_irqsave(&ep->lock, flags);
	kdp_ep_apply(ep, DPR_DO_REJECT);
	spin_unlock_irqrestore(&ep->lock, flags);
	if (ep->made_here)
		kdp_obj_drop(&ep->obj);
	kdp_obj_put(&ep->obj);
}

/* Nobody answered it. */
static void cr_detach(struct kdp_obj *o)
{
	struct kdp_cr *cr = (struct kdp_cr *)o;
	struct dpr_private out = { .len = 0 };
	struct kdp_conn *c = cr->conn;

	atomic_set(&cr->taken, 1);
	cr->conn = NULL;
	if (!c)
		return;
	kdp_conn_reject(c, &out, true);
	kdp_conn_close(c);
}

static void cr_finish(struct kdp_obj *o)
{
	struct kdp_cr *cr = (struct kdp_cr *)o;

	if (cr->ep)
		return_ep(cr->ep);
	cr->ep = NULL;
}

static struct kdp_cr *cr_new(struct kdp_sp *sp, struct kdp_conn *c, const struct dpr_private *in)
{
	struct kdp_cr *cr = kdp_obj_new(sp->obj.ia, &kdp_cr_class, sp->obj.hidden);

	if (!cr)
		return NULL;
	cr->in = *in;
	memcpy(&cr->remote, &c->id->route.addr.dst_addr, sizeof(cr->remote));
	memcpy(&cr->local, &c->id->route.addr.src_addr, sizeof(cr->local));
	atomic_set(&cr->taken, 0);
	return cr;
}

/* The endpoint that comes with a request: that of the RSP, or a new one. Returns false if the point takes no request. */
static bool provide(struct kdp_sp *sp, struct kdp_ep **ep)
{
	unsigned long flags;
	bool ok = true;

	*ep = NULL;
	mutex_lock(&sp->lock);
	if (sp->obj.class->type == DAT_HANDLE_TYPE_RSP) {
		ok = !sp->spent;
		sp->spent = true;
		*ep = sp->ep;
		sp->ep = NULL;
		if (ok && *ep) {
			spin_lock_irqsave(&(*ep)->lock, flags);
			kdp_ep_apply(*ep, DPR_ON_REQUEST);
			spin_unlock_irqrestore(&(*ep)->lock, flags);
		}
	}
	mutex_unlock(&sp->lock);
	if (sp->flags == DAT_PSP_PROVIDER_FLAG) {
		*ep = kdp_ep_for_request(sp->obj.ia);
		ok = *ep;
		if (ok)
			kdp_obj_hold(&(*ep)->obj);
	}
	return ok;
}

/* Makes a request of c at sp and reports it. On success the request has c. */
static bool offer(struct kdp_sp *sp, struct kdp_conn *c, const struct dpr_private *in)
{
	struct kdp_ep *ep;
	struct kdp_cr *cr;
	DAT_EVENT ev;

	if (!provide(sp, &ep))
		return false;
	cr = cr_new(sp, c, in);
	if (!cr) {
		if (ep)
			return_ep(ep);
		return false;
	}
	cr->ep = ep;
	c->qual = sp->qual;
	c->common = sp->obj.class->type == DAT_HANDLE_TYPE_CSP;
	c->remote = cr->remote;
	memset(&ev, 0, sizeof(ev));
	ev.event_number = DAT_CONNECTION_REQUEST_EVENT;
	ev.event_data.cr_arrival_event_data = (DAT_CR_ARRIVAL_EVENT_DATA){
		.sp_handle.psp_handle = (DAT_HANDLE)sp,
		.local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->local,
		.conn_qual = sp->qual,
		.cr_handle = (DAT_CR_HANDLE)cr,
		.truncate_flag = DAT_FALSE,
	};
	/* from the offer on, the consumer may answer */
	cr->conn = c;
	if (!kdp_evd_offer(sp->evd, &ev)) {
		cr->conn = NULL;
		kdp_obj_drop(&cr->obj);
		return false;
	}
	kdp_evd_kick(sp->evd);
	return true;
}

/* A nonzero result lets rdma_cm destroy the new id. */
static int on_request(struct kdp_sp *sp, struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	struct dpr_private in = { .len = 0 }, out = { .len = 0 };
	struct kdp_conn *c;

	/* a device that leaves destroys sp's listeners, which waits for this, and then detaches requests */
	if (id->device != sp->obj.ia->ib || READ_ONCE(sp->obj.ia->removed))
		return -ENODEV;
	c = kdp_conn_new(sp->obj.ia, false);
	if (!c)
		return -ENOMEM;
	in.len = p->private_data ? p->private_data_len : 0;
	if (in.len)
		memcpy(in.data, p->private_data, in.len);
	c->responder_resources = p->responder_resources;
	c->initiator_depth = p->initiator_depth;
	c->id = id;
	id->context = c;
	id->event_handler = kdp_conn_event;
	if (offer(sp, c, &in))
		return 0;
	kdp_conn_reject(c, &out, true);
	kdp_conn_put(c);
	return -ENOMEM;
}

static int on_listener(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	return ev->event == RDMA_CM_EVENT_CONNECT_REQUEST ? on_request(id->context, id, ev) : 0;
}

/* --- the object --- */

static void sp_detach(struct kdp_obj *o)
{
	struct kdp_sp *sp = (struct kdp_sp *)o;
	unsigned int i;

	for (i = 0; i < KDP_ADDRESSES; i++) {
		if (sp->listen[i])
			rdma_destroy_id(sp->listen[i]);
		sp->listen[i] = NULL;
	}
}

static void sp_finish(struct kdp_obj *o)
{
	struct kdp_sp *sp = (struct kdp_sp *)o;
	unsigned long flags;
	struct kdp_ep *ep;

	mutex_lock(&sp->lock);
	ep = sp->ep;
	sp->ep = NULL;
	mutex_unlock(&sp->lock);
	if (ep) {
		spin_lock_irqsave(&ep->lock, flags);
		kdp_ep_apply(ep, DPR_DO_RSP_FREE);
		spin_unlock_irqrestore(&ep->lock, flags);
		kdp_obj_put(&ep->obj);
	}
	kdp_unuse(&sp->evd->obj);
}

static void sp_release(struct kdp_obj *o)
{
	mutex_destroy(&((struct kdp_sp *)o)->lock);
}

#define SP_CLASS(name, kind)                                  \
	const struct kdp_class kdp_##name##_class = {      \
		.type = DAT_HANDLE_TYPE_##kind,            \
		.cache = "kdapl_" #name,                   \
		.size = sizeof(struct kdp_sp),             \
		.detach = sp_detach,                       \
		.finish = sp_finish,                       \
		.release = sp_release,                     \
	}

SP_CLASS(psp, PSP);
SP_CLASS(rsp, RSP);
SP_CLASS(csp, CSP);

static DAT_RETURN listen_error(const struct args *a, int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case -EADDRINUSE:
		if (a->comm)
			return DPR_ERR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE);
		return a->qual ? DPR_ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE)
			       : DPR_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	case -EACCES:
	case -EPERM:
		return DPR_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	case -ENOMEM:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	default:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
}

/* Requests that the EVD has no room for are rejected. The kernel's iWARP allocates as many records for each listener. */
static int backlog(const struct kdp_sp *sp)
{
	return clamp_t(unsigned int, READ_ONCE(sp->evd->ring.size), BACKLOG_MIN, BACKLOG_MAX);
}

static int listen_on(struct kdp_sp *sp, struct sockaddr_storage *ss, u16 *port, struct rdma_cm_id **ret)
{
	struct rdma_cm_id *id;
	int err;

	*dpr_port_of(ss) = htons(*port);
	id = rdma_create_id(&init_net, on_listener, sp, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_bind_addr(id, (struct sockaddr *)ss);
	if (!err)
		err = rdma_listen(id, backlog(sp));
	if (err) {
		rdma_destroy_id(id);
		return err;
	}
	*port = ntohs(*dpr_port_of((struct sockaddr_storage *)&id->route.addr.src_addr));
	*ret = id;
	return 0;
}

/* Each address, by one port: that of the first if any will do. */
static int listen_all(struct kdp_sp *sp, struct sockaddr_storage *list, unsigned int n, u16 port)
{
	unsigned int i;
	int err = n ? 0 : -EADDRNOTAVAIL;

	for (i = 0; i < n && !err; i++)
		err = listen_on(sp, &list[i], &port, &sp->listen[i]);
	if (err)
		return err;
	if (!sp->qual)
		sp->qual = port;
	return 0;
}

static bool is_any(const struct sockaddr_storage *ss)
{
	static const struct in6_addr none;

	if (ss->ss_family == AF_INET)
		return !((const struct sockaddr_in *)ss)->sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)ss)->sin6_addr, &none, sizeof(none));
}

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr, &((const struct sockaddr_in6 *)b)->sin6_addr,
		       sizeof(struct in6_addr));
}

/* Keeps of the adapter's addresses those that a CSP asks for: one, or all of its family. */
static DAT_RETURN choose(struct kdp_sp *sp, const void *address, struct sockaddr_storage *list, unsigned int *n)
{
	const struct sockaddr *sa = address;
	unsigned int i, kept = 0;

	memset(&sp->addr, 0, sizeof(sp->addr));
	memcpy(&sp->addr, sa, sa->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
	for (i = 0; i < *n; i++)
		if (list[i].ss_family == sa->sa_family && (is_any(&sp->addr) || same_address(&list[i], &sp->addr)))
			list[kept++] = list[i];
	*n = kept;
	return kept ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
}

/* The endpoint is reserved before the service point listens, so that a request finds it. */
static DAT_RETURN reserve(struct kdp_sp *sp, struct kdp_ep *ep)
{
	unsigned long flags;
	DAT_RETURN ret;

	spin_lock_irqsave(&ep->lock, flags);
	ret = kdp_ep_apply(ep, DPR_DO_RSP_CREATE).ret;
	spin_unlock_irqrestore(&ep->lock, flags);
	if (ret)
		return ret;
	kdp_obj_hold(&ep->obj);
	sp->ep = ep;
	return DAT_SUCCESS;
}

static DAT_RETURN start(struct kdp_sp *sp, const struct args *a)
{
	struct sockaddr_storage *list = kcalloc(KDP_ADDRESSES, sizeof(*list), GFP_KERNEL);
	u16 port = a->qual ? dpr_qual_port(a->qual) : 0;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int n = 0;
	int found;

	found = list ? kdp_ia_addresses(sp->obj.ia, list) : -ENOMEM;
	if (found < 0)
		ret = DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	else
		n = found;
	if (!ret && a->ep)
		ret = reserve(sp, a->ep);
	if (!ret && a->address) {
		ret = choose(sp, a->address, list, &n);
		port = ntohs(*dpr_port_of(&sp->addr));
	}
	if (!ret)
		ret = listen_error(a, listen_all(sp, list, n, port));
	if (!ret && a->address)
		*dpr_port_of(&sp->addr) = htons(sp->qual);
	kfree(list);
	return ret;
}

static DAT_RETURN make(struct kdp_ia *ia, const struct args *a, struct kdp_evd *evd, struct kdp_sp **ret)
{
	struct kdp_sp *sp;
	DAT_RETURN r;

	if (!kdp_ia_enter(ia))
		return kdp_removed();
	sp = kdp_obj_new(ia, a->class, a->hidden);
	if (sp) {
		mutex_init(&sp->lock);
		sp->evd = evd;
		kdp_use(&evd->obj);
		sp->qual = a->qual;
		sp->flags = a->flags;
		if (a->comm)
			sp->comm = *a->comm;
	}
	kdp_ia_leave(ia);
	if (!sp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	mutex_lock(&sp->obj.life);
	r = sp->obj.detached ? kdp_removed() : start(sp, a);
	mutex_unlock(&sp->obj.life);
	if (r)
		kdp_obj_end(&sp->obj, false);
	else
		*ret = sp;
	return r;
}

/* Checks what all kinds have, after the arguments of the kind. */
static DAT_RETURN create(struct kdp_ia *ia, const struct args *a, DAT_EVD_HANDLE evd_handle, DAT_HANDLE *handle)
{
	struct kdp_evd *evd = kdp_evd_of(evd_handle);
	struct kdp_sp *sp;
	DAT_RETURN ret;

	if (!evd || evd->obj.ia != ia || !(evd->flags & DAT_EVD_CR_FLAG))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (a->flags != DAT_PSP_CONSUMER_FLAG && a->flags != DAT_PSP_PROVIDER_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!handle)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	ret = make(ia, a, evd, &sp);
	if (!ret)
		*handle = (DAT_HANDLE)sp;
	return ret;
}

DAT_RETURN kdp_psp_make(struct kdp_ia *ia, struct kdp_evd *evd, bool hidden, struct kdp_sp **ret)
{
	const struct args a = { .class = &kdp_psp_class, .hidden = hidden };

	return make(ia, &a, evd, ret);
}

DAT_RETURN kdp_psp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			  DAT_PSP_HANDLE *psp)
{
	const struct args a = { .class = &kdp_psp_class, .qual = qual, .flags = flags };
	struct kdp_ia *ia = kdp_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return create(ia, &a, evd, psp);
}

DAT_RETURN kdp_psp_create_any(DAT_IA_HANDLE handle, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			      DAT_PSP_HANDLE *psp)
{
	const struct args a = { .class = &kdp_psp_class, .flags = flags };
	struct kdp_ia *ia = kdp_ia_of(handle);
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!qual)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = create(ia, &a, evd, psp);
	if (!ret)
		*qual = ((struct kdp_sp *)*psp)->qual;
	return ret;
}

DAT_RETURN kdp_rsp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd,
			  DAT_RSP_HANDLE *rsp)
{
	const struct args a = {
		.class = &kdp_rsp_class,
		.qual = qual,
		.ep = ep_handle ? kdp_ep_of(ep_handle) : NULL,
	};
	struct kdp_ia *ia = kdp_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (ep_handle && (!a.ep || a.ep->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	return create(ia, &a, evd, rsp);
}

DAT_RETURN kdp_csp_create(DAT_IA_HANDLE handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
			  DAT_CSP_HANDLE *csp)
{
	const struct args a = { .class = &kdp_csp_class, .comm = comm, .address = address };
	const struct sockaddr *sa = (const void *)address;
	struct kdp_ia *ia = kdp_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!comm)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!dpr_comm_known(comm, AF_INET) && !dpr_comm_known(comm, AF_INET6))
		return DPR_ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!address)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (sa->sa_family != comm->domain)
		return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	return create(ia, &a, evd, csp);
}

DAT_RETURN kdp_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct kdp_sp *sp = kdp_obj_of(handle, DAT_HANDLE_TYPE_PSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_PSP, mask & ~DAT_PSP_FIELD_ALL, param);

	if (!ret)
		*param = (DAT_PSP_PARAM){ (DAT_IA_HANDLE)sp->obj.ia, sp->qual, (DAT_EVD_HANDLE)sp->evd, sp->flags };
	return ret;
}

DAT_RETURN kdp_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct kdp_sp *sp = kdp_obj_of(handle, DAT_HANDLE_TYPE_RSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_RSP, mask & ~DAT_RSP_FIELD_ALL, param);

	if (ret)
		return ret;
	mutex_lock(&sp->lock);
	*param = (DAT_RSP_PARAM){ (DAT_IA_HANDLE)sp->obj.ia, sp->qual, (DAT_EVD_HANDLE)sp->evd,
				  (DAT_EP_HANDLE)sp->ep };
	mutex_unlock(&sp->lock);
	return DAT_SUCCESS;
}

DAT_RETURN kdp_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct kdp_sp *sp = kdp_obj_of(handle, DAT_HANDLE_TYPE_CSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_CSP, mask & ~DAT_CSP_FIELD_ALL, param);

	if (!ret)
		*param = (DAT_CSP_PARAM){ (DAT_IA_HANDLE)sp->obj.ia, &sp->comm, (DAT_IA_ADDRESS_PTR)&sp->addr,
					  (DAT_EVD_HANDLE)sp->evd };
	return ret;
}

static DAT_RETURN sp_free(DAT_HANDLE handle, DAT_HANDLE_TYPE type, DAT_RETURN_SUBTYPE sub)
{
	struct kdp_sp *sp = kdp_obj_of(handle, type);

	return sp && kdp_obj_end(&sp->obj, false) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_HANDLE, sub);
}

DAT_RETURN kdp_psp_free(DAT_PSP_HANDLE handle)
{
	return sp_free(handle, DAT_HANDLE_TYPE_PSP, DAT_INVALID_HANDLE_PSP);
}

DAT_RETURN kdp_rsp_free(DAT_RSP_HANDLE handle)
{
	return sp_free(handle, DAT_HANDLE_TYPE_RSP, DAT_INVALID_HANDLE_RSP);
}

DAT_RETURN kdp_csp_free(DAT_CSP_HANDLE handle)
{
	return sp_free(handle, DAT_HANDLE_TYPE_CSP, DAT_INVALID_HANDLE_CSP);
}

/* --- answers --- */

/* Returns the request for this thread to answer, or NULL if there is none or another thread answers it. */
static struct kdp_cr *take(DAT_CR_HANDLE handle)
{
	struct kdp_cr *cr = kdp_cr_of(handle);

	return cr && !atomic_xchg(&cr->taken, 1) ? cr : NULL;
}

static DAT_RETURN bad_cr(void)
{
	return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
}

/* Takes the connection from a request that is taken; NULL if the device has left. */
static struct kdp_conn *take_conn(struct kdp_cr *cr)
{
	struct kdp_conn *c;

	mutex_lock(&cr->obj.life);
	c = cr->conn;
	cr->conn = NULL;
	mutex_unlock(&cr->obj.life);
	return c;
}

DAT_RETURN kdp_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct kdp_cr *cr = kdp_cr_of(handle);
	DAT_RETURN ret = dpr_query_args(cr, DAT_INVALID_HANDLE_CR, mask & ~DAT_CR_FIELD_ALL, param);

	if (ret)
		return ret;
	*param = (DAT_CR_PARAM){
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote,
		.remote_port_qual = ntohs(*dpr_port_of(&cr->remote)),
		.private_data_size = cr->in.len,
		.private_data = cr->in.data,
		.local_ep_handle = (DAT_EP_HANDLE)cr->ep,
	};
	return DAT_SUCCESS;
}

static unsigned int answer_max(const struct kdp_cr *cr)
{
	return cr->obj.ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REP;
}

static DAT_RETURN accept_taken(struct kdp_cr *cr, DAT_EP_HANDLE handle, DAT_COUNT size, const void *data)
{
	struct kdp_ep *ep = handle ? kdp_ep_of(handle) : cr->ep;
	struct dpr_private out;
	struct kdp_conn *c;
	DAT_RETURN ret;

	if (!ep || ep->obj.ia != cr->obj.ia || (cr->ep && ep != cr->ep))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (size < 0 || (unsigned int)size > answer_max(cr))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!dpr_private_set(&out, size, data, answer_max(cr)))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	c = take_conn(cr);
	if (!c)
		return kdp_removed();
	ret = kdp_conn_accept(c, ep, &out);
	if (ret) {
		mutex_lock(&cr->obj.life);
		cr->conn = c;
		mutex_unlock(&cr->obj.life);
	}
	return ret;
}

DAT_RETURN kdp_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data)
{
	struct kdp_cr *cr = take(handle);
	DAT_RETURN ret;

	if (!cr)
		return bad_cr();
	ret = accept_taken(cr, ep, size, data);
	if (ret) {
		atomic_set(&cr->taken, 0);
		return ret;
	}
	if (cr->ep) {
		cr->ep->made_here = false; /* the consumer's from here on */
		kdp_obj_put(&cr->ep->obj);
		cr->ep = NULL;
	}
	kdp_obj_end(&cr->obj, false);
	return DAT_SUCCESS;
}

static unsigned int reject_max(const struct kdp_cr *cr)
{
	return cr->obj.ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REJ - DPR_REJ_HEADER;
}

/* The peer may have gone meanwhile: then the result of rdma_reject does not matter. */
DAT_RETURN kdp_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT size, const DAT_PVOID data)
{
	struct kdp_cr *cr = take(handle);
	struct dpr_private out;
	struct kdp_conn *c;

	if (!cr)
		return bad_cr();
	if (!dpr_private_set(&out, size, data, reject_max(cr))) {
		bool fits = size >= 0 && (unsigned int)size <= reject_max(cr);

		atomic_set(&cr->taken, 0);
		return fits ? DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3)
			    : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	c = take_conn(cr);
	if (c) {
		kdp_conn_reject(c, &out, false);
		kdp_conn_close(c);
	}
	kdp_obj_end(&cr->obj, false);
	return DAT_SUCCESS;
}

static struct kdp_sp *find(struct kdp_ia *ia, DAT_CONN_QUAL qual)
{
	struct kdp_obj *o, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&ia->lock, flags);
	list_for_each_entry(o, &ia->objs, of_ia) {
		if (o->alive != KDP_ALIVE || o->hidden ||
		    (o->class->type != DAT_HANDLE_TYPE_PSP && o->class->type != DAT_HANDLE_TYPE_RSP) ||
		    ((struct kdp_sp *)o)->qual != qual)
			continue;
		kdp_obj_hold(o);
		found = o;
		break;
	}
	spin_unlock_irqrestore(&ia->lock, flags);
	return (struct kdp_sp *)found;
}

DAT_RETURN kdp_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
	struct kdp_cr *cr = take(handle);
	struct kdp_conn *c;
	struct kdp_sp *sp;
	bool ok;

	if (!cr)
		return bad_cr();
	sp = find(cr->obj.ia, qual);
	if (!sp) {
		atomic_set(&cr->taken, 0);
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	}
	c = take_conn(cr);
	ok = c && offer(sp, c, &cr->in);
	kdp_obj_put(&sp->obj);
	if (!ok) {
		mutex_lock(&cr->obj.life);
		cr->conn = c;
		mutex_unlock(&cr->obj.life);
		atomic_set(&cr->taken, 0);
		return c ? DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE) : kdp_removed();
	}
	kdp_obj_end(&cr->obj, false);
	return DAT_SUCCESS;
}

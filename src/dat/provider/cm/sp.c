/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/sp.h"

#include "dat/core/ask.h"
#include "dat/core/private.h"
#include "dat/provider/ep/ep.h"
#include "dat/core/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"

#include <errno.h>
#include <string.h>

/* rdma_cm may drop requests beyond its backlog silently. The room in the EVD, which is answered
 * with a reject, shall be the smaller limit. */
enum { BACKLOG = 1024 };

/* The arguments by which a service point is created. Fields that its kind does not have are 0. */
struct args {
	enum dpr_kind kind;
	DAT_CONN_QUAL qual;  /* 0: any; of a CSP in its address */
	DAT_PSP_FLAGS flags;
	struct dpr_ep *ep;   /* RSP */
	const DAT_COMM *comm;
	const void *address; /* CSP: a sockaddr */
};

static void construct(struct dpr_obj *o)
{
	ut_mutex_init(&((struct dpr_sp *)o)->lock);
}

static void sp_close(struct dpr_obj *o);

#define CLASS(name, kind_, type_)                              \
	const struct dpr_class dpr_##name##_class = {          \
		.kind = kind_,                                 \
		.type = type_,                                 \
		.size = sizeof(struct dpr_sp),                 \
		.construct = construct,                        \
		.close = sp_close,                             \
	}

CLASS(psp, DPR_PSP, DAT_HANDLE_TYPE_PSP);
CLASS(rsp, DPR_RSP, DAT_HANDLE_TYPE_RSP);
CLASS(csp, DPR_CSP, DAT_HANDLE_TYPE_CSP);

static struct dpr_sp *sp_new(struct dpr_ia *ia, const struct args *a, struct dpr_evd *evd)
{
	struct dpr_sp *sp = dpr_obj_new(ia, a->kind);

	if (!sp)
		return NULL;
	ut_lock(&sp->lock);
	sp->kind = a->kind;
	sp->listen = sp->listen_ud = NULL;
	sp->evd = evd;
	sp->qual = a->qual;
	sp->flags = a->flags;
	sp->ep = NULL;
	sp->spent = false;
	memset(&sp->comm, 0, sizeof(sp->comm));
	if (a->comm)
		sp->comm = *a->comm;
	memset(&sp->addr, 0, sizeof(sp->addr));
	ut_unlock(&sp->lock);
	dpr_use(&evd->obj);
	dpr_obj_hold(&evd->obj);
	return sp;
}

/*
 * rdma_destroy_id waits until the loop has acknowledged the events of the id, so it is called
 * without the lock, and the last reference goes after it. Returns false if another thread ended sp.
 */
static bool sp_end(struct dpr_sp *sp)
{
	struct rdma_cm_id *id, *ud;
	struct dpr_ep *ep;

	if (!dpr_obj_kill(&sp->obj))
		return false;
	ut_lock(&sp->lock);
	id = sp->listen;
	ud = sp->listen_ud;
	ep = sp->ep;
	sp->listen = sp->listen_ud = NULL;
	sp->ep = NULL;
	ut_unlock(&sp->lock);
	if (id)
		rdma_destroy_id(id);
	if (ud)
		rdma_destroy_id(ud);
	if (ep) {
		ut_lock(&ep->lock);
		dpr_ep_apply(ep, DPR_DO_RSP_FREE);
		ut_unlock(&ep->lock);
		dpr_obj_put(&ep->obj);
	}
	dpr_unuse(&sp->evd->obj);
	dpr_obj_put(&sp->evd->obj);
	dpr_obj_put(&sp->obj);
	return true;
}

static void sp_close(struct dpr_obj *o)
{
	sp_end((struct dpr_sp *)o);
}

/* --- listening --- */

/* Returns 0 or a positive errno. */
static int listen_in(struct dpr_sp *sp, enum rdma_port_space space, uint16_t port,
		     struct rdma_cm_id **id)
{
	int err = dpr_ia_id(sp->obj.ia, dpr_sp_context(sp), space, port, id);

	if (err)
		return err;
	if (!rdma_listen(*id, BACKLOG))
		return 0;
	err = errno;
	rdma_destroy_id(*id);
	return err;
}

/* Port 0: any. Returns 0 or a positive errno. Requests that arrive at once wait for the lock. */
static int start_listening(struct dpr_sp *sp, uint16_t port) UT_REQUIRES(sp->lock)
{
	int err = listen_in(sp, RDMA_PS_TCP, port, &sp->listen);

	if (err) {
		sp->listen = NULL;
		return err;
	}
	dpr_count(&sp->obj.ia->counters[DCNT_IA_CM_LISTEN], 1);
	port = ntohs(rdma_get_src_port(sp->listen));
	if (!sp->qual)
		sp->qual = port;
	if (sp->kind == DPR_CSP)
		*dpr_port_of(&sp->addr) = htons(port);
	/* If another listener has the port for datagrams, this service point receives none. */
	if (sp->obj.ia->iwarp || sp->kind != DPR_PSP ||
	    listen_in(sp, RDMA_PS_UDP, port, &sp->listen_ud))
		sp->listen_ud = NULL;
	return 0;
}

static DAT_RETURN listen_error(const struct args *a, int err)
{
	switch (err) {
	case 0:
		return DAT_SUCCESS;
	case EADDRINUSE:
		if (a->kind == DPR_CSP)
			return DPR_ERR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE);
		return DPR_ERR(a->qual ? DAT_CONN_QUAL_IN_USE : DAT_CONN_QUAL_UNAVAILABLE,
			       DAT_NO_SUBTYPE);
	case EACCES:
	case EPERM:
		return DPR_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	case ENOMEM:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	default:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
}

/* The endpoint is reserved before the service point listens, so that a request finds it. */
static DAT_RETURN reserve(struct dpr_sp *sp, struct dpr_ep *ep) UT_REQUIRES(sp->lock)
{
	DAT_RETURN ret;

	ut_lock(&ep->lock);
	ret = dpr_ep_apply(ep, DPR_DO_RSP_CREATE).ret;
	ut_unlock(&ep->lock);
	if (ret)
		return ret;
	dpr_obj_hold(&ep->obj);
	sp->ep = ep;
	return DAT_SUCCESS;
}

/* The adapter's address or the wildcard. */
static DAT_RETURN local_address(struct dpr_sp *sp, const void *address, uint16_t *port)
{
	const struct sockaddr *sa = address;
	const struct dpr_ia *ia = sp->obj.ia;

	if (sa->sa_family != ia->addr.sa.sa_family)
		return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = address;

		memcpy(&sp->addr, in, sizeof(*in));
		if (in->sin_addr.s_addr && in->sin_addr.s_addr != ia->addr.in.sin_addr.s_addr)
			return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	} else {
		const struct sockaddr_in6 *in6 = address;

		memcpy(&sp->addr, in6, sizeof(*in6));
		if (!IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr) &&
		    memcmp(&in6->sin6_addr, &ia->addr.in6.sin6_addr, sizeof(in6->sin6_addr)))
			return DPR_ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNREACHABLE);
	}
	*port = ntohs(*dpr_port_of(&sp->addr));
	return DAT_SUCCESS;
}

static DAT_RETURN start(struct dpr_sp *sp, const struct args *a) UT_REQUIRES(sp->lock)
{
	uint16_t port = a->qual ? dpr_qual_port(a->qual) : 0;
	DAT_RETURN ret = DAT_SUCCESS;

	if (a->ep)
		ret = reserve(sp, a->ep);
	if (a->address)
		ret = local_address(sp, a->address, &port);
	return ret ? ret : listen_error(a, start_listening(sp, port));
}

struct dpr_sp *dpr_sp_find(struct dpr_ia *ia, DAT_CONN_QUAL qual)
{
	struct dpr_sp *found = NULL;
	struct dpr_obj *o;

	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia) {
		uint32_t kind = atomic_load(&o->kind);

		if (kind != DPR_PSP && kind != DPR_RSP)
			continue;
		if (((struct dpr_sp *)o)->qual != qual)
			continue;
		found = (struct dpr_sp *)o;
		dpr_obj_hold(o);
		break;
	}
	ut_unlock(&ia->lock);
	return found;
}

/* --- create --- */

/* Creates a service point after its kind's own arguments are checked: checks the EVD, the flags and
 * the result, which all kinds have. */
static DAT_RETURN create(struct dpr_ia *ia, const struct args *a, DAT_EVD_HANDLE evd_handle,
			 DAT_HANDLE *handle)
{
	struct dpr_evd *evd = dpr_evd_of(evd_handle);
	struct dpr_sp *sp;
	DAT_RETURN ret;

	if (!evd || !dpr_evd_serves(evd, ia, DAT_EVD_CR_FLAG))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	if (a->flags != DAT_PSP_CONSUMER_FLAG && a->flags != DAT_PSP_PROVIDER_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (!handle)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	sp = sp_new(ia, a, evd);
	if (!sp)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ut_lock(&sp->lock);
	ret = start(sp, a);
	ut_unlock(&sp->lock);
	if (ret)
		sp_end(sp);
	else
		*handle = (DAT_HANDLE)sp;
	return ret;
}

DAT_RETURN dpr_psp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			  DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	const struct args a = { .kind = DPR_PSP, .qual = qual, .flags = flags };
	struct dpr_ia *ia = dpr_ia_of(handle);
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = create(ia, &a, evd, psp);
	if (!ret)
		dpr_count(&ia->counters[DCNT_IA_PSP_CREATE], 1);
	return ret;
}

DAT_RETURN dpr_psp_create_any(DAT_IA_HANDLE handle, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	const struct args a = { .kind = DPR_PSP, .flags = flags };
	struct dpr_ia *ia = dpr_ia_of(handle);
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!qual)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ret = create(ia, &a, evd, psp);
	if (ret)
		return ret;
	*qual = ((struct dpr_sp *)*psp)->qual;
	dpr_count(&ia->counters[DCNT_IA_PSP_CREATE_ANY], 1);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_rsp_create(DAT_IA_HANDLE handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
			  DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
	const struct args a = {
		.kind = DPR_RSP,
		.qual = qual,
		.ep = ep_handle ? dpr_ep_of(ep_handle) : NULL,
		.flags = DAT_PSP_CONSUMER_FLAG,
	};
	struct dpr_ia *ia = dpr_ia_of(handle);
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!dpr_qual_port(qual))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (ep_handle && (!a.ep || a.ep->obj.ia != ia))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	ret = create(ia, &a, evd, rsp);
	if (!ret)
		dpr_count(&ia->counters[DCNT_IA_RSP_CREATE], 1);
	return ret;
}

DAT_RETURN dpr_csp_create(DAT_IA_HANDLE handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			  DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp)
{
	const struct args a = {
		.kind = DPR_CSP,
		.flags = DAT_PSP_CONSUMER_FLAG,
		.comm = comm,
		.address = address,
	};
	struct dpr_ia *ia = dpr_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!comm)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!dpr_comm_known(comm, ia->addr.sa.sa_family))
		return DPR_ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE);
	if (!address)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return create(ia, &a, evd, csp);
}

/* --- query, free --- */

DAT_RETURN dpr_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_PSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_PSP,
					mask & ~DAT_PSP_FIELD_ALL, param);

	if (ret)
		return ret;
	*param = (DAT_PSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.conn_qual = sp->qual,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
		.psp_flags = sp->flags,
	};
	return DAT_SUCCESS;
}

DAT_RETURN dpr_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_RSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_RSP,
					mask & ~DAT_RSP_FIELD_ALL, param);

	if (ret)
		return ret;
	ut_lock(&sp->lock);
	*param = (DAT_RSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.conn_qual = sp->qual,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
		.ep_handle = (DAT_EP_HANDLE)sp->ep,
	};
	ut_unlock(&sp->lock);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, DPR_CSP);
	DAT_RETURN ret = dpr_query_args(sp, DAT_INVALID_HANDLE_CSP,
					mask & ~DAT_CSP_FIELD_ALL, param);

	if (ret)
		return ret;
	*param = (DAT_CSP_PARAM){
		.ia_handle = dpr_ia_public(sp->obj.ia),
		.comm = &sp->comm,
		.address_ptr = (DAT_IA_ADDRESS_PTR)&sp->addr,
		.evd_handle = (DAT_EVD_HANDLE)sp->evd,
	};
	return DAT_SUCCESS;
}

static DAT_RETURN sp_free(DAT_HANDLE handle, enum dpr_kind kind, DAT_RETURN_SUBTYPE sub)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, kind);

	return sp && sp_end(sp) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_HANDLE, sub);
}

DAT_RETURN dpr_psp_free(DAT_PSP_HANDLE handle)
{
	return sp_free(handle, DPR_PSP, DAT_INVALID_HANDLE_PSP);
}

DAT_RETURN dpr_rsp_free(DAT_RSP_HANDLE handle)
{
	return sp_free(handle, DPR_RSP, DAT_INVALID_HANDLE_RSP);
}

DAT_RETURN dpr_csp_free(DAT_CSP_HANDLE handle)
{
	return sp_free(handle, DPR_CSP, DAT_INVALID_HANDLE_CSP);
}

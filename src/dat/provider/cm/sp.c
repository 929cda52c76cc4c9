/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service points: the three kinds of listener, told apart by where the endpoint of a request comes
 * from. A port is claimed by rdma_cm, so that one qualifier has one listener on the whole host. An
 * adapter with datagrams has a second id on the same port, in rdma_cm's other port space.
 */
#include "dat/provider/cm/sp.h"

#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/state.h"
#include "dat/provider/ep/transition.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"

#include <errno.h>
#include <string.h>

/* Of rdma_cm, where what is too much may be met with silence: the EVD's room, which refuses, is to be
 * the narrower place. */
enum { BACKLOG = 1024 };

static void sp_construct(struct dpr_obj *o)
{
	struct dpr_sp *sp = (struct dpr_sp *)o;

	ut_mutex_init(&sp->lock);
}

static void sp_close(struct dpr_obj *o);

#define CLASS(name, kind_, type_)                              \
	const struct dpr_class dpr_##name##_class = {          \
		.kind = kind_,                                 \
		.type = type_,                                 \
		.size = sizeof(struct dpr_sp),                 \
		.construct = sp_construct,                     \
		.close = sp_close,                             \
	}

CLASS(psp, DPR_PSP, DAT_HANDLE_TYPE_PSP);
CLASS(rsp, DPR_RSP, DAT_HANDLE_TYPE_RSP);
CLASS(csp, DPR_CSP, DAT_HANDLE_TYPE_CSP);

/* --- listening --- */

static int hear(struct dpr_sp *sp, enum rdma_port_space space, uint16_t port,
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

/* Port 0: any. Requests may come before this returns; they wait for the lock. */
int dpr_sp_listen(struct dpr_sp *sp, uint16_t port)
{
	int err = hear(sp, RDMA_PS_TCP, port, &sp->listen);

	if (err) {
		sp->listen = NULL;
		return err;
	}
	dpr_count(&sp->obj.ia->counters[DCNT_IA_CM_LISTEN], 1);
	if (!port)
		sp->qual = ntohs(rdma_get_src_port(sp->listen));
	/* Somebody else may have the port for datagrams: then he has those. */
	if (sp->obj.ia->iwarp || sp->kind != DPR_PSP ||
	    hear(sp, RDMA_PS_UDP, (uint16_t)ntohs(rdma_get_src_port(sp->listen)), &sp->listen_ud))
		sp->listen_ud = NULL;
	return 0;
}

struct dpr_sp *dpr_sp_new(struct dpr_ia *ia, enum dpr_kind kind, struct dpr_evd *evd)
{
	struct dpr_sp *sp = dpr_obj_new(ia, kind);

	if (!sp)
		return NULL;
	ut_lock(&sp->lock);
	sp->kind = kind;
	sp->listen = sp->listen_ud = NULL;
	sp->evd = evd;
	sp->qual = 0;
	sp->flags = DAT_PSP_CONSUMER_FLAG;
	sp->ep = NULL;
	sp->spent = false;
	memset(&sp->comm, 0, sizeof(sp->comm));
	memset(&sp->addr, 0, sizeof(sp->addr));
	ut_unlock(&sp->lock);
	dpr_use(&evd->obj);
	dpr_obj_hold(&evd->obj);
	return sp;
}

/* What belongs to it is taken out under its lock and ends without. The ids wait for the loop to have
 * acknowledged their events, and only then the last reference may go. */
bool dpr_sp_end(struct dpr_sp *sp)
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
		dpr_ep_go(ep, DPR_DO_RSP_FREE);
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
	dpr_sp_end((struct dpr_sp *)o);
}

/* --- what the calls share --- */

DAT_RETURN dpr_sp_evd(struct dpr_ia *ia, DAT_EVD_HANDLE handle, struct dpr_evd **evd)
{
	*evd = dpr_evd_of(handle);
	if (!*evd || (*evd)->obj.ia != ia || !dpr_evd_takes(*evd, DAT_EVD_CR_FLAG))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_sp_error(int err)
{
	switch (err) {
	case EADDRINUSE:
		return DPR_ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
	case EACCES:
	case EPERM:
		return DPR_ERR(DAT_CONN_QUAL_UNAVAILABLE, DAT_NO_SUBTYPE);
	case ENOMEM:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	default:
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	}
}

DAT_RETURN dpr_sp_free(DAT_HANDLE handle, enum dpr_kind kind, DAT_RETURN_SUBTYPE sub)
{
	struct dpr_sp *sp = (struct dpr_sp *)dpr_obj_of(handle, kind);

	return sp && dpr_sp_end(sp) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_HANDLE, sub);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points (public, reserved, common) and connection requests. */
#ifndef DAT_PROVIDER_CM_SP_H
#define DAT_PROVIDER_CM_SP_H

#include "dat/provider/cm/conn.h"
#include "dat/provider/cm/ud_peer.h"
#include "dat/provider/ia/obj.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_evd;

/* PSP, RSP and CSP differ in what they answer to a query and in where a request's endpoint comes
 * from; obj.kind tells which. */
struct dpr_sp {
	struct dpr_obj obj;
	enum dpr_kind kind;   /* immutable; obj.kind until it is freed */
	struct ut_mutex lock; /* before an endpoint's */
	struct rdma_cm_id *listen UT_GUARDED_BY(lock); /* NULL: freed, or a spent RSP */
	struct rdma_cm_id *listen_ud UT_GUARDED_BY(lock); /* for datagram endpoints, or NULL */
	struct dpr_evd *evd; /* used, held */
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* RSP: the reserved one; held */
	bool spent UT_GUARDED_BY(lock);        /* RSP: its one request came */
	DAT_COMM comm;                         /* CSP */
	struct sockaddr_storage addr;          /* CSP */
};

struct dpr_cr {
	struct dpr_obj obj;
	struct dpr_conn *conn; /* held */
	struct dpr_ep *ep;     /* of an RSP or a PROVIDER PSP; held */
	struct dpr_private in; /* as received */
	uint8_t responder_resources, initiator_depth; /* what the peer asked for, seen from us */
	_Atomic bool taken; /* being answered */
	bool ud;
	struct dpr_ud_peer peer;
	struct sockaddr_storage remote;
};

/* The context of a listening id: a service point, marked so that no event takes it for a
 * connection. */
static inline void *dpr_sp_context(struct dpr_sp *sp)
{
	return (void *)((uintptr_t)sp | 1);
}

static inline struct dpr_sp *dpr_sp_of_context(void *context)
{
	uintptr_t p = (uintptr_t)context;

	return p & 1 ? (struct dpr_sp *)(p & ~(uintptr_t)1) : NULL;
}

static inline struct dpr_cr *dpr_cr_of(DAT_HANDLE h)
{
	return (struct dpr_cr *)dpr_obj_of(h, DPR_CR);
}

DAT_RETURN dpr_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
			  DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dpr_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd,
			      DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp);
DAT_RETURN dpr_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN dpr_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN dpr_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
			  DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp);
DAT_RETURN dpr_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN dpr_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN dpr_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR addr,
			  DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp);
DAT_RETURN dpr_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN dpr_csp_free(DAT_CSP_HANDLE csp);

extern const struct dpr_class dpr_psp_class, dpr_rsp_class, dpr_csp_class;

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service points: public (PSP), reserved (RSP) and common (CSP) listeners. They differ in what they
 * answer to a query and in where the endpoint of a request comes from. rdma_cm claims the port, so
 * that one qualifier has one listener on the whole host. A PSP of an adapter with datagrams has a
 * second id on the same port in rdma_cm's other port space.
 */
#ifndef DAT_PROVIDER_CM_SP_H
#define DAT_PROVIDER_CM_SP_H

#include "dat/provider/ia/obj.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_evd;
struct dpr_ia;

struct dpr_sp {
	struct dpr_obj obj;
	enum dpr_kind kind;   /* constant; obj.kind until sp is freed */
	struct ut_mutex lock; /* before an endpoint's */
	struct rdma_cm_id *listen UT_GUARDED_BY(lock);    /* NULL: freed, or a spent RSP */
	struct rdma_cm_id *listen_ud UT_GUARDED_BY(lock); /* for datagram endpoints, or NULL */
	struct dpr_evd *evd; /* a use and a reference */
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* RSP: the reserved one, a reference */
	bool spent UT_GUARDED_BY(lock);        /* RSP: its one request arrived */
	DAT_COMM comm;                         /* CSP */
	struct sockaddr_storage addr;          /* CSP */
};

extern const struct dpr_class dpr_psp_class, dpr_rsp_class, dpr_csp_class;

/* The context of a listening id: the service point with bit 0 set, which a connection never has. */
static inline void *dpr_sp_context(struct dpr_sp *sp)
{
	return (void *)((uintptr_t)sp | 1);
}

/* Returns the service point of a context, or NULL if it is that of a connection. */
static inline struct dpr_sp *dpr_sp_of_context(void *context)
{
	uintptr_t p = (uintptr_t)context;

	return p & 1 ? (struct dpr_sp *)(p & ~(uintptr_t)1) : NULL;
}

/* Returns the PSP or RSP of this adapter with that qualifier, with a reference, or NULL. */
struct dpr_sp *dpr_sp_find(struct dpr_ia *ia, DAT_CONN_QUAL qual);

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

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service points and connection requests. A service point listens on each address of its adapter, as found when it is
 * made. A request that its EVD has no room for is rejected.
 */
#ifndef KDAPL_SP_H
#define KDAPL_SP_H

#include "kdapl/conn.h"
#include "kdapl/evd.h"
#include "kdapl/ia.h"

struct kdp_sp {
	struct kdp_obj obj;
	struct rdma_cm_id *listen[KDP_ADDRESSES]; /* life */
	struct kdp_evd *evd;      /* a use */
	DAT_CONN_QUAL qual;       /* immutable once listening */
	DAT_PSP_FLAGS flags;
	DAT_COMM comm;            /* of a CSP */
	struct sockaddr_storage addr;
	struct kdp_ep *ep;        /* of an RSP until its request: a reference; lock */
	bool spent;               /* an RSP had its request; lock */
	struct mutex lock;
};

struct kdp_cr {
	struct kdp_obj obj;
	struct kdp_conn *conn;    /* ours, with its id; taken by accept or reject */
	struct kdp_ep *ep;        /* of the RSP or made for it: a reference; or NULL */
	struct dpr_private in;
	struct sockaddr_storage remote, local;
	atomic_t taken;           /* a thread answers it */
};

DAT_RETURN kdp_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			  DAT_PSP_HANDLE *psp);
DAT_RETURN kdp_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
			      DAT_PSP_HANDLE *psp);
DAT_RETURN kdp_psp_query(DAT_PSP_HANDLE psp, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param);
DAT_RETURN kdp_psp_free(DAT_PSP_HANDLE psp);
DAT_RETURN kdp_rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
			  DAT_RSP_HANDLE *rsp);
DAT_RETURN kdp_rsp_query(DAT_RSP_HANDLE rsp, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param);
DAT_RETURN kdp_rsp_free(DAT_RSP_HANDLE rsp);
DAT_RETURN kdp_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address, DAT_EVD_HANDLE evd,
			  DAT_CSP_HANDLE *csp);
DAT_RETURN kdp_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param);
DAT_RETURN kdp_csp_free(DAT_CSP_HANDLE csp);
DAT_RETURN kdp_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN kdp_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN kdp_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN kdp_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);

/* Makes the listener of a service point of kind class for reg.h, hidden: qualifier any. */
DAT_RETURN kdp_psp_make(struct kdp_ia *ia, struct kdp_evd *evd, bool hidden, struct kdp_sp **ret);

#endif

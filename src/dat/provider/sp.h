/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service points (public, reserved, common) and connection requests. */
#ifndef DAT_PROVIDER_SP_H
#define DAT_PROVIDER_SP_H

#include "dat/provider/conn.h"
#include "dat/provider/ia.h"

struct dpr_ep;
struct dpr_evd;

/* PSP, RSP and CSP differ in what they answer to a query and in where a request's endpoint comes
 * from; obj.kind tells which. */
struct dpr_sp {
	struct dpr_obj obj;
	struct ut_mutex lock;
	struct rdma_cm_id *listen UT_GUARDED_BY(lock); /* NULL: a spent RSP */
	struct dpr_evd *evd; /* used */
	DAT_CONN_QUAL qual;
	DAT_PSP_FLAGS flags;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* RSP: the reserved one */
	DAT_COMM comm;                         /* CSP */
	struct sockaddr_storage addr;          /* CSP */
};

struct dpr_cr {
	struct dpr_obj obj;
	struct dpr_conn *conn; /* held */
	struct dpr_sp *sp;     /* held */
	struct dpr_ep *ep;     /* of an RSP or a PROVIDER PSP; held */
	struct dpr_private in; /* as received */
	bool truncated;
	struct sockaddr_storage remote, local;
};

#endif

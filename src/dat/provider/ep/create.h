/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints come without a queue pair: that is made when the connection is, so that zone, EVDs and
 * sizes may be changed, or given, until then.
 */
#ifndef DAT_PROVIDER_EP_CREATE_H
#define DAT_PROVIDER_EP_CREATE_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>

struct dpr_ia;

/* Records for the queues that attr asks for. 0 or positive errno; nothing may be outstanding. */
int dpr_ep_queues(struct dpr_ep *ep, const DAT_EP_ATTR *attr) UT_REQUIRES(ep->lock);

/* An endpoint without zone and EVDs, in UNCONFIGURED_TENTATIVE, for a request. NULL: no memory. */
struct dpr_ep *dpr_ep_for_request(struct dpr_ia *ia);

/* --- calls --- */
DAT_RETURN dpr_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			 DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep);
DAT_RETURN dpr_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				  DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints are created without a queue pair. It is made with the connection, so that zone, EVDs
 * and sizes may be set or changed until then.
 */
#ifndef DAT_PROVIDER_EP_CREATE_H
#define DAT_PROVIDER_EP_CREATE_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>

struct dpr_ia;

DAT_RETURN dpr_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			 DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, const DAT_EP_ATTR *attr,
			 DAT_EP_HANDLE *ep);
DAT_RETURN dpr_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
				  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect,
				  DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep);

/* Creates an endpoint without zone and EVDs, in UNCONFIGURED_TENTATIVE, for a connection request.
 * Returns NULL without memory. */
struct dpr_ep *dpr_ep_for_request(struct dpr_ia *ia);

/* Replaces ep's queues by empty ones of the sizes in attr. Nothing may be outstanding. Returns 0 or
 * a positive errno. */
int dpr_ep_queues(struct dpr_ep *ep, const DAT_EP_ATTR *attr) UT_REQUIRES(ep->lock);

#endif

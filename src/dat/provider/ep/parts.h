/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The zone and the EVDs of an endpoint. They are taken and dropped as a set, with the attributes
 * that size their use, so that creation, change and end are the same two calls.
 */
#ifndef DAT_PROVIDER_EP_PARTS_H
#define DAT_PROVIDER_EP_PARTS_H

#include "dat/provider/ep/ep.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_evd;
struct dpr_ia;
struct dpr_pz;

struct dpr_ep_parts {
	struct dpr_pz *pz;
	struct dpr_evd *recv, *request, *connect;
};

/* Finds the parts by their handles (NULL stays NULL). Returns INVALID_HANDLE if the zone is not of this
 * adapter, or an EVD is not of its device or does not take the stream. */
DAT_RETURN dpr_parts_find(struct dpr_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv,
			  DAT_EVD_HANDLE request, DAT_EVD_HANDLE connect, struct dpr_ep_parts *p);
/* References, uses and feeds the parts for an endpoint with these attributes: all or none. */
DAT_RETURN dpr_parts_take(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr);
void dpr_parts_drop(const struct dpr_ep_parts *p, const DAT_EP_ATTR *attr);

struct dpr_ep_parts dpr_ep_parts(const struct dpr_ep *ep) UT_REQUIRES(ep->lock);
/* Returns true if ep has what a connection needs: a zone, a connect EVD, and an EVD for requests or
 * receives. */
bool dpr_ep_configured(const struct dpr_ep *ep) UT_REQUIRES(ep->lock);

#endif

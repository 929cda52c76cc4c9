/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connection requests: query, accept, reject, handoff. Each is answered once: by rdma_accept() or
 * rdma_reject() on the identifier of its connection (datagrams: ud.h), or by handoff to another service
 * point (sp.h). An answer that fails,
 * for want of a configured endpoint for instance, leaves the request unanswered; `taken` keeps a
 * second thread out meanwhile.
 */
#ifndef DAT_PROVIDER_CM_CR_H
#define DAT_PROVIDER_CM_CR_H

#include "dat/core/private.h"
#include "dat/provider/cm/ud_peer.h"
#include "dat/provider/ia/obj.h"

#include <dat2/udat.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_conn;
struct dpr_ep;

struct dpr_cr {
	struct dpr_obj obj;
	struct dpr_conn *conn; /* a reference */
	struct dpr_ep *ep;     /* of an RSP or a PROVIDER PSP: a reference */
	struct dpr_private in; /* as received */
	uint8_t responder_resources, initiator_depth; /* the peer's, from this side's view */
	_Atomic bool taken; /* being answered */
	bool ud;
	struct dpr_ud_peer peer;
	struct sockaddr_storage remote;
};

extern const struct dpr_class dpr_cr_class;

static inline struct dpr_cr *dpr_cr_of(DAT_HANDLE h)
{
	return (struct dpr_cr *)dpr_obj_of(h, DPR_CR);
}

DAT_RETURN dpr_cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param);
DAT_RETURN dpr_cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN dpr_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT size, const DAT_PVOID data);
DAT_RETURN dpr_cr_handoff(DAT_CR_HANDLE cr, DAT_CONN_QUAL qual);

#endif

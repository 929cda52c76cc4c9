/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of an endpoint as a pure table (DAT 2.0, "Endpoint State Diagram"): one cell per legal
 * pair of state and trigger.
 */
#ifndef DAT_CORE_STATE_H
#define DAT_CORE_STATE_H

#include "dat/core/core.h"

enum dpr_ep_do {
	/* the consumer */
	DPR_DO_RSP_CREATE, DPR_DO_RSP_FREE, DPR_DO_CONNECT, DPR_DO_DUP_SOURCE, DPR_DO_ACCEPT,
	DPR_DO_REJECT, DPR_DO_DISCONNECT, DPR_DO_DISCONNECT_GRACEFUL, DPR_DO_RESET, DPR_DO_FREE,
	DPR_DO_POST_REQUEST, DPR_DO_POST_RECV, DPR_DO_MODIFY_PZ, DPR_DO_MODIFY_ATTR,
	DPR_DO_MODIFY_SPECIFIC,
	/* the connection manager */
	DPR_ON_REQUEST,     /* for the RSP that reserved the endpoint, or for a PROVIDER PSP */
	DPR_ON_ESTABLISHED, DPR_ON_REFUSED /* any failure to connect */, DPR_ON_DISCONNECTED,
	DPR_ON_DRAINED,     /* graceful disconnect: nothing is outstanding any more */
	DPR_ON_BROKEN,
	DPR_EP_DOS
};

struct dpr_ep_step {
	DAT_RETURN ret;         /* DAT_SUCCESS, or INVALID_STATE with the subtype of the state */
	DAT_EP_STATE next;      /* the present state if nothing changes */
	DAT_EVENT_NUMBER event; /* for the connect EVD; 0: none, or the caller determines it */
};

/* `configured`: dpr_ep_configured. */
struct dpr_ep_step dpr_ep_step(DAT_EP_STATE state, enum dpr_ep_do what, _Bool configured);
/* Returns the subtype of a state: DAT_INVALID_STATE_EP_*. */
DAT_RETURN_SUBTYPE dpr_ep_state_name(DAT_EP_STATE state);

#endif

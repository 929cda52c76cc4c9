/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an identifier may be asked in which state, and what it may hear: one
 * drawn table (state.c). Addresses are resolved by a look-up in this process's own host, so the
 * state in which the kernel waits for that does not exist; a path record may come later.
 */
#ifndef CM_CMA_STATE_H
#define CM_CMA_STATE_H

#include "cm/cm.h"

enum cma_state {
	CMA_IDLE,   /* nothing known */
	CMA_BOUND,  /* has a source: one address, or any */
	CMA_ADDR,   /* knows both addresses and its adapter */
	CMA_ROUTE_QUERY, /* the path record was asked for */
	CMA_ROUTED, /* may connect */
	CMA_LISTENING,
	CMA_CONNECT,    /* from connect() or a request on; connected as well */
	CMA_DISCONNECT, /* one end has ended the connection */
	CMA_GONE,       /* the adapter was removed: may only be destroyed */
	CMA_DEAD,       /* being destroyed: hears nothing more */
	CMA_STATES
};

enum cma_act {
	/* calls */
	CMA_DO_BIND, CMA_DO_RESOLVE, CMA_DO_ROUTE, CMA_DO_PATH, CMA_DO_LISTEN, CMA_DO_CONNECT,
	CMA_DO_ACCEPT, CMA_DO_REJECT, CMA_DO_ESTABLISH, CMA_DO_NOTIFY, CMA_DO_DISCONNECT,
	CMA_DO_JOIN, CMA_DO_DEVICE, CMA_DO_AFONLY, CMA_DO_REUSE,
	/* what happens */
	CMA_ON_PATH, CMA_ON_NO_PATH,
	CMA_ON_CONN,    /* response, established, rejected, unreachable, error */
	CMA_ON_END, CMA_ON_TIMEWAIT, CMA_ON_GONE, CMA_ON_DESTROY,
	CMA_ACTS
};

/* The next state, or -EINVAL: the call is illegal, the event is not for the user. */
int cma_next(enum cma_state now, enum cma_act act);
const char *cma_state_name(enum cma_state s);

/* The act and the type of enum rdma_cm_event_type that a manager's event (all but REQUEST)
 * means to the user. */
enum cma_act cma_act_of(const struct cm_event *ev);
int cma_type_of(const struct cm_event *ev, bool ud);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "cm/cma/state.h"
#include <errno.h>
#include <rdma/rdma_cma.h>

/* One letter per cell, '.' = illegal. */
static const char letter[CMA_STATES + 1] = "IBAQRLCDGX";

static const char *const rows[CMA_ACTS] = {
	/*                      IBAQRLCDGX */
	[CMA_DO_BIND]       = "B.........",
	[CMA_DO_RESOLVE]    = "AA........",
	[CMA_DO_ROUTE]      = "..Q.......",
	[CMA_DO_PATH]       = "..R.......",
	[CMA_DO_LISTEN]     = "LL........",
	[CMA_DO_CONNECT]    = "....C.....",
	[CMA_DO_ACCEPT]     = "......C...",
	[CMA_DO_REJECT]     = "......C...",
	[CMA_DO_ESTABLISH]  = "......C...",
	[CMA_DO_NOTIFY]     = "......C...",
	/* Programs disconnect once more when they hear that the peer did. */
	[CMA_DO_DISCONNECT] = "......CDG.",
	[CMA_DO_JOIN]       = ".BA.......",
	[CMA_DO_DEVICE]     = "I.........",
	[CMA_DO_AFONLY]     = "IB........",
	/* Never taken back by a listener; checked where the value is known. */
	[CMA_DO_REUSE]      = "IBAQRLC...",
	[CMA_ON_PATH]       = "...R......",
	[CMA_ON_NO_PATH]    = "...A......",
	[CMA_ON_CONN]       = "......C...",
	[CMA_ON_END]        = "......D...",
	[CMA_ON_TIMEWAIT]   = ".......D..",
	[CMA_ON_GONE]       = ".GGGGGGG..",
	[CMA_ON_DESTROY]    = "XXXXXXXXX.",
};

int cma_next(enum cma_state now, enum cma_act act)
{
	for (int s = 0; s < CMA_STATES; s++)
		if (letter[s] == rows[act][now])
			return s;
	return -EINVAL;
}

const char *cma_state_name(enum cma_state s)
{
	static const char *const names[CMA_STATES] = {
		"idle", "bound", "address resolved", "resolving the route", "route resolved", "listening",
		"connecting or connected", "disconnected", "device removed", "destroyed",
	};

	return names[s];
}

enum cma_act cma_act_of(const struct cm_event *ev)
{
	switch (ev->type) {
	case CM_EV_DISCONNECTED:
		return CMA_ON_END;
	case CM_EV_TIMEWAIT_EXIT:
		return CMA_ON_TIMEWAIT;
	default:
		return CMA_ON_CONN;
	}
}

int cma_type_of(const struct cm_event *ev, bool ud)
{
	switch (ev->type) {
	case CM_EV_REQUEST:
		return RDMA_CM_EVENT_CONNECT_REQUEST;
	case CM_EV_RESPONSE:
		return RDMA_CM_EVENT_CONNECT_RESPONSE;
	case CM_EV_ESTABLISHED:
		return RDMA_CM_EVENT_ESTABLISHED;
	case CM_EV_REJECTED:
		return RDMA_CM_EVENT_REJECTED;
	case CM_EV_DISCONNECTED:
		return RDMA_CM_EVENT_DISCONNECTED;
	case CM_EV_TIMEWAIT_EXIT:
		return RDMA_CM_EVENT_TIMEWAIT_EXIT;
	case CM_EV_UNREACHABLE:
		return RDMA_CM_EVENT_UNREACHABLE;
	case CM_EV_ERROR:
	default:
		/* A SIDR status: programs of librdmacm know it as this. */
		return ud && ev->status > 0 ? RDMA_CM_EVENT_UNREACHABLE
					    : RDMA_CM_EVENT_CONNECT_ERROR;
	}
}

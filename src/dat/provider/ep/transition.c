/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/transition.h"

#include "dat/provider/cm/conn.h"
#include "dat/core/private.h"
#include "dat/provider/dto/dto.h"
#include "dat/provider/dto/queue.h"
#include "dat/provider/dto/recv.h"
#include "dat/provider/dto/srq_recv.h"
#include "dat/provider/ep/parts.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/evd/push.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"

#include <dat2/dat_ib_extensions.h>
#include <string.h>

enum { POLL_USEC = 1000 };

struct dpr_ep_step dpr_ep_apply(struct dpr_ep *ep, enum dpr_ep_do what)
{
	struct dpr_ep_step s = dpr_ep_step(ep->state, what, dpr_ep_configured(ep));

	/* dto/event.c reads the state without the lock */
	if (!s.ret)
		__atomic_store_n(&ep->state, s.next, __ATOMIC_RELAXED);
	return s;
}

/* The private data of events without any: programs read it without a look at its size. */
static uint8_t nothing[256];

void dpr_ep_queue_event(struct dpr_evd *evd, struct dpr_ep *ep, DAT_EVENT_NUMBER event,
			DAT_COUNT size, void *data)
{
	DAT_EVENT ev;

	if (!evd)
		return;
	memset(&ev, 0, sizeof(ev));
	ev.event_number = event;
	ev.event_data.connect_event_data = (DAT_CONNECTION_EVENT_DATA){
		.ep_handle = (DAT_EP_HANDLE)ep,
		.private_data_size = size,
		.private_data = size ? data : nothing,
	};
	dpr_evd_push(evd, &ev, true, false);
}

bool dpr_ep_established(struct dpr_ep *ep, struct dpr_private *in)
{
	struct dpr_ep_step s = dpr_ep_apply(ep, DPR_ON_ESTABLISHED);

	if (s.ret)
		return false;
	dpr_ep_queue_event(ep->connect, ep, s.event, in ? in->len : 0, in ? in->data : NULL);
	atomic_store(&ep->early, false);
	dpr_bump(&ep->counters[DCNT_EP_CONNECT], 1);
	return true;
}

/* The passive side has everything before its connection manager reports ESTABLISHED. */
bool dpr_ep_early(struct dpr_ep *ep)
{
	bool may;

	ut_lock(&ep->lock);
	if (ep->early && ep->state == DAT_EP_STATE_COMPLETION_PENDING)
		dpr_ep_established(ep, NULL);
	may = !ep->early;
	ut_unlock(&ep->lock);
	return may;
}

static bool connected(const struct dpr_ep *ep) UT_REQUIRES(ep->lock)
{
	return ep->state == DAT_EP_STATE_CONNECTED ||
	       ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/* First half of an end: nothing completes successfully any more. Returns false if there is nothing
 * to end or another thread is ending it. */
static bool stop(struct dpr_ep *ep, const struct dpr_conn *of, enum dpr_ep_do what,
		 struct dpr_conn **dropped) UT_REQUIRES(ep->lock)
{
	struct dpr_ep_step s = dpr_ep_step(ep->state, what, dpr_ep_configured(ep));

	*dropped = NULL;
	if (of && ep->conn != of)
		return false;
	if (s.ret || s.next == ep->state || s.next != DAT_EP_STATE_DISCONNECTED || ep->ending)
		return false;
	ep->ending = true;
	if (connected(ep)) {
		if (ep->conn)
			dpr_conn_disconnect(ep->conn);
	} else { /* an attempt is withdrawn by destroying its id */
		*dropped = ep->conn;
		ep->conn = NULL;
	}
	dpr_ep_qp_error(ep);
	if (!ep->qp)
		dpr_ep_fail_posted(ep);
	return true;
}

static void finish(struct dpr_ep *ep, enum dpr_ep_do what)
{
	struct dpr_ep_step s;

	ut_lock(&ep->lock);
	/* The peer may disconnect because of an error on this side, and its disconnect may be seen
	 * before the error: a Terminate of iWARP is both. */
	if (ep->failed && (what == DPR_ON_DISCONNECTED || what == DPR_ON_DRAINED))
		what = DPR_ON_BROKEN;
	s = dpr_ep_apply(ep, what);
	ep->ending = false;
	atomic_store(&ep->early, false);
	if (!s.ret && s.event) {
		dpr_ep_queue_event(ep->connect, ep, s.event, 0, NULL);
		dpr_bump(&ep->counters[DCNT_EP_DISCONNECT], 1);
	}
	ut_unlock(&ep->lock);
}

void dpr_ep_end(struct dpr_ep *ep, const struct dpr_conn *of, enum dpr_ep_do what)
{
	struct dpr_conn *dropped;
	bool mine;

	ut_lock(&ep->lock);
	mine = stop(ep, of, what, &dropped);
	ut_unlock(&ep->lock);
	if (!mine)
		return;
	if (dropped) {
		dpr_conn_leave(dropped);
		dpr_conn_put(dropped);
	}
	dpr_ep_reap(ep);
	finish(ep, what);
	dpr_ep_reap(ep); /* completions that waited for ESTABLISHED */
}

void dpr_ep_broken(struct dpr_ep *ep)
{
	dpr_ep_end(ep, NULL, DPR_ON_BROKEN);
}

void dpr_ep_failed(struct dpr_ep *ep, const struct ibv_qp *qp, bool by_request)
{
	bool pending, late;

	ut_lock(&ep->lock);
	late = ep->qp != qp;
	if (!late)
		atomic_store(&ep->failed, true);
	if (!late && by_request && ep->early && ep->state == DAT_EP_STATE_COMPLETION_PENDING)
		dpr_ep_established(ep, NULL);
	pending = ep->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING || ep->state == DAT_EP_STATE_COMPLETION_PENDING;
	ut_unlock(&ep->lock);
	if (!late && !pending)
		dpr_ep_broken(ep);
}

/* --- graceful --- */

/*
 * Suppressed requests at the end of the queue complete invisibly. A Write of 0 bytes behind them
 * completes visibly to the drainer, which swallows it as a request of the provider.
 */
static void post_marker(struct dpr_ep *ep) UT_REQUIRES(ep->lock)
{
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct dpr_dto *d;

	if (!ep->sq.quiet_run || !ep->qp || dpr_dtoq_used(&ep->sq) >= ep->sq.size ||
	    ep->attr.service_type != DAT_SERVICE_TYPE_RC)
		return;
	d = dpr_dtoq_next(&ep->sq);
	d->ep = ep;
	d->op = DPR_OP_INVALIDATE;
	d->rmr = NULL;
	d->quiet = true;
	wr.wr_id = (uintptr_t)d;
	atomic_fetch_add(&ep->sq.inner, 1);
	ep->sq.head++;
	ep->sq.quiet_run = 0;
	if (!ibv_post_send(ep->qp, &wr, &bad))
		return;
	ep->sq.head--;
	atomic_fetch_sub(&ep->sq.inner, 1);
}

bool dpr_ep_idle(struct dpr_ep *ep)
{
	bool idle;

	dpr_ep_reap(ep);
	ut_lock(&ep->lock);
	idle = !dpr_dtoq_used(&ep->sq);
	if (!idle)
		post_marker(ep);
	ut_unlock(&ep->lock);
	return idle;
}

static bool pending(struct dpr_ep *ep)
{
	bool is;

	ut_lock(&ep->lock);
	is = ep->state == DAT_EP_STATE_DISCONNECT_PENDING;
	ut_unlock(&ep->lock);
	return is;
}

/* The consumer need not wait on the request EVD meanwhile, so the loop polls. */
static void poll_pending(struct dpr_ep *ep)
{
	if (dpr_ep_idle(ep))
		dpr_ep_end(ep, NULL, DPR_ON_DRAINED);
	else if (dpr_timer_arm(&ep->poll, POLL_USEC))
		dpr_ep_end(ep, NULL, DPR_DO_DISCONNECT);
}

void dpr_ep_poll(struct dpr_timer *t)
{
	struct dpr_ep *ep = ut_container(t, struct dpr_ep, poll);

	if (pending(ep))
		poll_pending(ep);
}

void dpr_ep_drained(struct dpr_ep *ep)
{
	if (atomic_load(&ep->soft_due))
		dpr_ep_soft_event(ep);
	if (pending(ep) && dpr_ep_idle(ep))
		dpr_ep_end(ep, NULL, DPR_ON_DRAINED);
}

DAT_RETURN dpr_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	enum dpr_ep_do what = flags == DAT_CLOSE_GRACEFUL_FLAG ? DPR_DO_DISCONNECT_GRACEFUL
							       : DPR_DO_DISCONNECT;
	struct dpr_ep *ep = dpr_ep_of(handle);
	struct dpr_ep_step s;

	if (!ep)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ut_lock(&ep->lock);
	s = dpr_ep_step(ep->state, what, true);
	if (s.next == DAT_EP_STATE_DISCONNECT_PENDING)
		dpr_ep_apply(ep, what);
	ut_unlock(&ep->lock);
	if (s.ret)
		return s.ret;
	if (s.next == DAT_EP_STATE_DISCONNECT_PENDING)
		poll_pending(ep);
	else
		dpr_ep_end(ep, NULL, what);
	return DAT_SUCCESS;
}

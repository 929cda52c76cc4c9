/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How connections end: by the consumer, at once or when his requests are done; by the peer; by an
 * error. Whoever comes first moves the endpoint and says why, all others find it moved.
 *
 * Between the end itself and its event the completion queues are drained, with the lock let go: so
 * what succeeded stands before DISCONNECTED, and what was flushed before BROKEN. `ending`
 * keeps a second ender out meanwhile.
 */
#ifndef DAT_PROVIDER_EP_TRANSITION_H
#define DAT_PROVIDER_EP_TRANSITION_H

#include "dat/provider/ep/ep.h"
#include "dat/provider/ep/state.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_conn;
struct dpr_evd;
struct dpr_private;
struct dpr_timer;

/*
 * A completion with an error was seen for ep (by any drainer, no lock held): breaks the connection,
 * CONNECTED -> DISCONNECTED with event BROKEN after the completion itself was queued.
 */
void dpr_ep_broken(struct dpr_ep *ep);

/* Requests completed: a graceful disconnect goes on when nothing is outstanding. No lock held. */
void dpr_ep_drained(struct dpr_ep *ep);

/*
 * A completion came for ep while ep->early: the peer is there although the connection manager did
 * not say so yet. On the passive side this announces ESTABLISHED now; on the active side the answer
 * is on its way with its private data. When it returns true the completion may be queued; else
 * it is kept until dpr_evd_drain is called again. No lock held.
 */
bool dpr_ep_early(struct dpr_ep *ep);

void dpr_ep_poll(struct dpr_timer *t);

/* Queue a connection event. The EVD is ep's, or one that the caller kept hold of. */
void dpr_ep_queue_event(struct dpr_evd *evd, struct dpr_ep *ep, DAT_EVENT_NUMBER event,
		DAT_COUNT size, void *data);

/* ESTABLISHED, with what the peer sent. False: too late. */
bool dpr_ep_established(struct dpr_ep *ep, struct dpr_private *in) UT_REQUIRES(ep->lock);

/* One step of the table. */
struct dpr_ep_step dpr_ep_apply(struct dpr_ep *ep, enum dpr_ep_do what) UT_REQUIRES(ep->lock);

/* The connection (this one, or NULL: the present one) ends for this reason, unless it has ended
 * already. No lock held. */
void dpr_ep_end(struct dpr_ep *ep, const struct dpr_conn *of, enum dpr_ep_do what);

/* Drained, and no request is outstanding. If one is, this sees to it that it will be known. */
bool dpr_ep_idle(struct dpr_ep *ep);

DAT_RETURN dpr_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

#endif

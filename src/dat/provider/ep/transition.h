/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * State changes of an endpoint and their events, the ends of a connection above all. It is ended by
 * the consumer, at once or when the requests are done; by the peer; or by an error. The first of
 * these moves the state and determines the event; the others find the state moved.
 *
 * Between the end and its event the completion queues are drained with the lock released: so
 * successful completions precede DISCONNECTED, and flushed ones BROKEN. `ending` keeps a second
 * thread out meanwhile.
 */
#ifndef DAT_PROVIDER_EP_TRANSITION_H
#define DAT_PROVIDER_EP_TRANSITION_H

#include "dat/provider/ep/ep.h"
#include "dat/core/state.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_conn;
struct dpr_evd;
struct dpr_private;
struct dpr_timer;
struct ibv_qp;

/* Moves ep by the table. */
struct dpr_ep_step dpr_ep_apply(struct dpr_ep *ep, enum dpr_ep_do what) UT_REQUIRES(ep->lock);

/* Queues a connection event on evd: ep's, or one of which the caller has a reference. NULL: nothing
 * happens. */
void dpr_ep_queue_event(struct dpr_evd *evd, struct dpr_ep *ep, DAT_EVENT_NUMBER event,
			DAT_COUNT size, void *data);

/* Moves ep to CONNECTED with event ESTABLISHED and the peer's private data (or NULL). Returns false
 * if the state does not admit it any more. */
bool dpr_ep_established(struct dpr_ep *ep, struct dpr_private *in) UT_REQUIRES(ep->lock);
/*
 * A completion arrived while ep->early: the peer has connected although the connection manager has
 * not reported it. On the passive side this moves ep to CONNECTED now; on the active side the
 * answer is under way with its private data. Returns true if the completion may be queued; else it
 * is kept until the next dpr_evd_drain. No lock held.
 */
bool dpr_ep_early(struct dpr_ep *ep);

/* Ends the connection `of` (NULL: the present one) for the reason `what`, unless it has ended. No
 * lock held. */
void dpr_ep_end(struct dpr_ep *ep, const struct dpr_conn *of, enum dpr_ep_do what);
/* A drainer found a completion with an error: CONNECTED -> DISCONNECTED with event BROKEN, after
 * the completion itself is queued. No lock held. */
void dpr_ep_broken(struct dpr_ep *ep);
/*
 * The device reports an error of ep's queue pair, which is another way than that of connection events: while the
 * connection manager's event is under way, it decides, and BROKEN follows ESTABLISHED. by_request: a request
 * of the peer failed, so the peer has connected. No lock held.
 */
void dpr_ep_failed(struct dpr_ep *ep, const struct ibv_qp *qp, bool by_request);
/* Requests completed: a graceful disconnect ends if nothing is outstanding. No lock held. */
void dpr_ep_drained(struct dpr_ep *ep);
/* Drains, and returns true if no request is outstanding. Else sees to it that the last outstanding
 * request completes visibly. No lock held. */
bool dpr_ep_idle(struct dpr_ep *ep);
/* Handler of ep->poll. */
void dpr_ep_poll(struct dpr_timer *t);

DAT_RETURN dpr_ep_disconnect(DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

#endif

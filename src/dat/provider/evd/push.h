/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events that do not come from a completion queue, and notification about events of any kind. In an
 * EVD with several streams the completion queue is drained before the event is queued: what it has
 * is older.
 */
#ifndef DAT_PROVIDER_EVD_PUSH_H
#define DAT_PROVIDER_EVD_PUSH_H

#include "dat/provider/evd/evd.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

enum dpr_push { DPR_PUSHED, DPR_PUSH_FULL };

/*
 * Queues an event, whose evd_handle it fills in, and wakes the waiter or triggers the CNO. Returns
 * DPR_PUSH_FULL if the ring has no room or e is dead. Unless `soft` (software events and connection
 * requests, which the caller refuses) a full ring makes e dead, and the adapter's asynchronous EVDs
 * receive EVD_OVERFLOW. Called with no lock of an EVD or CNO held.
 */
enum dpr_push dpr_evd_push(struct dpr_evd *e, const DAT_EVENT *ev, bool notify, bool soft);

/* Returns how many events the ring can still take. */
unsigned int dpr_evd_room(struct dpr_evd *e);

/* The device reported an error of the completion queue: e is dead. */
void dpr_evd_cq_error(struct dpr_evd *e);

/* Wakes the waiter; without one triggers the CNO if one of the new events notifies. */
void dpr_evd_notify(struct dpr_evd *e, bool notified) UT_REQUIRES(e->lock);
void dpr_evd_wake(struct dpr_evd *e) UT_REQUIRES(e->lock);

DAT_RETURN dpr_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);

#endif

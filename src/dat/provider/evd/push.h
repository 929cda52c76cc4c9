/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events that do not come from a completion queue, and telling about events of any kind. In a
 * merged EVD what the completion queue has is older, and is queued first.
 */
#ifndef DAT_PROVIDER_EVD_PUSH_H
#define DAT_PROVIDER_EVD_PUSH_H

#include "dat/provider/evd/evd.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

/* How many events the ring can still take: the backlog of a service point. */
unsigned int dpr_evd_room(struct dpr_evd *e);

/* The completion queue failed (async.c). */
void dpr_evd_cq_error(struct dpr_evd *e);

/* Tell who has to know that events came: the waiter, else the CNO if one of them notifies. */
void dpr_evd_notify(struct dpr_evd *e, bool notified) UT_REQUIRES(e->lock);
void dpr_evd_wake(struct dpr_evd *e) UT_REQUIRES(e->lock);

DAT_RETURN dpr_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);

#endif

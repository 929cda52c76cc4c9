/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the completion queue into the ring. Completions that find no room stay where they are, so
 * an EVD holds at least as many again as its ring before anything overflows; and then it is the
 * device that says so (dpr_evd_cq_error).
 */
#ifndef DAT_PROVIDER_EVD_DRAIN_H
#define DAT_PROVIDER_EVD_DRAIN_H

#include "dat/provider/evd/evd.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_timer;
struct dpr_watch;

/* Poll the completion queue into the ring, as far as there is room. Returns events queued. What does
 * not fit waits in the completion queue. No evd or cno lock held; an endpoint's may be. */
unsigned int dpr_evd_drain(struct dpr_evd *e);
unsigned int dpr_evd_drain_locked(struct dpr_evd *e, bool *notified) UT_REQUIRES(e->lock);

/* The oldest event, taken out; from the completion queue if none is in the ring. False: none. */
bool dpr_evd_next(struct dpr_evd *e, DAT_EVENT *event) UT_REQUIRES(e->lock);

/* Ask for an event of the channel, unless that is the case. False: nothing to ask for. */
bool dpr_evd_arm(struct dpr_evd *e) UT_REQUIRES(e->lock);

/* Take an event of the channel. True: there was one. */
bool dpr_evd_take_events(struct dpr_evd *e) UT_REQUIRES(e->lock);

/* All feeders receive with SOLICITED_WAIT: completions notify by the event of the channel alone, which
 * therefore is asked for all the time. */
bool dpr_evd_solicited(struct dpr_evd *e) UT_REQUIRES(e->lock);

/* At the end: what was left to the loop is done here. No lock held. */
void dpr_evd_settle_now(struct dpr_evd *e);

/* The loop's handlers. */
void dpr_evd_ready(struct dpr_watch *w);
void dpr_evd_settle(struct dpr_timer *t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the completion queue to the ring. Completions for which the ring has no room stay in the
 * completion queue, so an EVD holds at least twice its ring before anything overflows; then the
 * device reports it (dpr_evd_cq_error).
 */
#ifndef DAT_PROVIDER_EVD_DRAIN_H
#define DAT_PROVIDER_EVD_DRAIN_H

#include "dat/provider/evd/evd.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_timer;
struct dpr_watch;

/* Polls the completion queue into the ring. Returns the number of events queued. Called with no
 * lock of an EVD or CNO held; an endpoint's may be. */
unsigned int dpr_evd_drain(struct dpr_evd *e);
/* The same with e->lock held. Sets *notified if one of the events notifies. */
unsigned int dpr_evd_drain_locked(struct dpr_evd *e, bool *notified) UT_REQUIRES(e->lock);

/* Takes out the oldest event; polls the completion queue if the ring is empty. Returns false if
 * there is none. */
bool dpr_evd_next(struct dpr_evd *e, DAT_EVENT *event) UT_REQUIRES(e->lock);

/* Returns true if all feeders receive with SOLICITED_WAIT. Completions then notify by events of the
 * channel alone, and the completion queue stays armed. */
bool dpr_evd_solicited(struct dpr_evd *e) UT_REQUIRES(e->lock);
/* Arms the completion queue unless it is armed. Returns false if that failed or there is none. */
bool dpr_evd_arm(struct dpr_evd *e) UT_REQUIRES(e->lock);
/* Takes an event of the channel. Returns true if there was one. */
bool dpr_evd_take_events(struct dpr_evd *e) UT_REQUIRES(e->lock);

/* Handler of e->watch: the channel has an event. */
void dpr_evd_ready(struct dpr_watch *w);
/* Handler of e->settle: acts on `after` and `overflow`. */
void dpr_evd_settle(struct dpr_timer *t);
/* The same in the caller, when e ends. No lock held. */
void dpr_evd_settle_now(struct dpr_evd *e);

#endif

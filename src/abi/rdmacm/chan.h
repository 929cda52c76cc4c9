/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event channels, and what the program reads in an event. */
#ifndef ABI_RDMACM_CHAN_H
#define ABI_RDMACM_CHAN_H

#include "abi/rdmacm/rcm.h"

int rcm_chan_create(struct rcm_chan **ret);
void rcm_chan_destroy(struct rcm_chan *ch);
/* In a child of fork(). */
void rcm_chan_after_fork(void);
/* One identifier more, one less; the channel may go with the last. */
void rcm_chan_hold(struct rcm_chan *ch);
void rcm_chan_release(struct rcm_chan *ch);
/* A thread begins to wait for its events (false: it was destroyed already), and is done with that: the
 * channel may go. */
bool rcm_chan_enter(struct rcm_chan *ch);
void rcm_chan_leave(struct rcm_chan *ch);
/* Destroyed; only waiting threads have it. */
bool rcm_chan_abandoned(struct rcm_chan *ch);
/* The oldest event that the program is to see, without ever blocking. 0 or negative errno; -EBUSY: a request,
 * left there because requests_too is false. */
int rcm_event_next(struct rcm_chan *ch, bool requests_too, struct rcm_event *e);
/* Requests too, in memory of its own. */
int rcm_event_try(struct rcm_chan *ch, struct rcm_event **ret);
/* The program uses an identifier: it has understood the request that brought it. */
void rcm_id_used(struct rcm_id *id);
/* Ends the manager's half of an identifier: no event of it is on its way to a program then. */
void rcm_id_silence(struct rcm_id *id);
void rcm_await_acks(struct rcm_id *id);

/* --- what an event says --- */

/* Fills the public event. Returns true if the program is to see it. */
bool rcm_event_fill(struct rcm_event *e);

#endif

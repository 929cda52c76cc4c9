/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue inside an EVD, as a pure machine: the queued events, the notifications among them, and
 * the condition by which a waiter with a threshold returns (DAT 2.0: dat_evd_wait).
 *
 * A waiter returns when enough events are queued and one of them is a notification event. Events
 * without notification are therefore handed out together with the next one that notifies, never by
 * themselves: `notified` counts the events from the oldest to the last one that notifies.
 */
#ifndef DAT_CORE_RING_H
#define DAT_CORE_RING_H

#include "dat/core/core.h"

struct dpr_evring {
	DAT_EVENT *ev;
	unsigned int size; /* slots */
	unsigned int head, count;
	unsigned int notified;
};

/* Returns 0 or -ENOMEM. size is at least 1. */
int dpr_evring_init(struct dpr_evring *r, unsigned int size);
void dpr_evring_fini(struct dpr_evring *r);
/* Returns 0, -EBUSY if more than `size` events are queued, or -ENOMEM. An error changes nothing. */
int dpr_evring_resize(struct dpr_evring *r, unsigned int size);
/* The half of it that does not sleep: moves the events to `ev`, which has `size` slots, and returns the former
 * memory for dpr_core_free. At most `size` events are queued. */
DAT_EVENT *dpr_evring_move(struct dpr_evring *r, DAT_EVENT *ev, unsigned int size);

/*
 * Returns the slot of the next event, to be filled in and committed, or NULL if the ring is full.
 */
DAT_EVENT *dpr_evring_slot(struct dpr_evring *r);
void dpr_evring_commit(struct dpr_evring *r, bool notify);
/* Takes out the oldest event. Returns false if there is none. */
bool dpr_evring_get(struct dpr_evring *r, DAT_EVENT *ev);

/* Takes out the events for which `drop` returns true; the rest keeps its order and notifications.
 * Returns how many were dropped. */
unsigned int dpr_evring_purge(struct dpr_evring *r, bool (*drop)(const DAT_EVENT *ev, void *arg),
			      void *arg);

/* Returns true if a waiter with this threshold may return. */
static inline bool dpr_evring_is_ready(const struct dpr_evring *r, unsigned int threshold)
{
	return r->notified && r->count >= threshold;
}

#endif

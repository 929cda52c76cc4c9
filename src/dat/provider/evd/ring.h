/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue inside an EVD, as a pure machine: what is queued, what counts as a notification, and
 * when a waiter with a threshold may go (DAT 2.0: dat_evd_wait).
 *
 * A waiter goes when enough events are queued and one of them is a notification event. So events
 * that came without notification are handed out together with the next one that notifies, never
 * alone: `notified` counts the events from the oldest to the last one that notifies.
 */
#ifndef DAT_PROVIDER_EVD_RING_H
#define DAT_PROVIDER_EVD_RING_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_evring {
	DAT_EVENT *ev;
	unsigned int size; /* slots */
	unsigned int head, count;
	unsigned int notified;
};

/* 0 or -ENOMEM. size is at least 1. */
int dpr_evring_init(struct dpr_evring *r, unsigned int size);
void dpr_evring_fini(struct dpr_evring *r);
/* Never loses events: -EBUSY if more than `size` are queued. -ENOMEM leaves the ring as it was. */
int dpr_evring_resize(struct dpr_evring *r, unsigned int size);

/* The slot that the next event goes to, to be filled in and committed. NULL: full. */
DAT_EVENT *dpr_evring_slot(struct dpr_evring *r);
void dpr_evring_commit(struct dpr_evring *r, bool notify);
bool dpr_evring_get(struct dpr_evring *r, DAT_EVENT *ev);

/* Take out what `drop` says; order, and what notifies, are kept for the rest. How many went. */
unsigned int dpr_evring_purge(struct dpr_evring *r, bool (*drop)(const DAT_EVENT *ev, void *arg),
			      void *arg);

/* A waiter that asks for `threshold` events may go. */
static inline bool dpr_evring_is_ready(const struct dpr_evring *r, unsigned int threshold)
{
	return r->notified && r->count >= threshold;
}

#endif

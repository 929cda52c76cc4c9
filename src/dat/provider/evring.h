/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue inside an EVD, as a pure machine: what is queued, what counts as a notification, and
 * when a waiter with a threshold may go (DAT 2.0: dat_evd_wait).
 */
#ifndef DAT_PROVIDER_EVRING_H
#define DAT_PROVIDER_EVRING_H

#include <dat2/udat.h>
#include <stdbool.h>

struct dpr_evring {
	DAT_EVENT *ev;
	unsigned int size;     /* slots, at least what the consumer asked for */
	unsigned int head, count;
	bool notified;         /* a notification event came since the last successful wait */
};

/* 0 or -ENOMEM. */
int dpr_evring_init(struct dpr_evring *r, unsigned int size);
void dpr_evring_fini(struct dpr_evring *r);
/* Never loses events: -EBUSY if more than `size` are queued. */
int dpr_evring_resize(struct dpr_evring *r, unsigned int size);
/* NULL: full. The slot is counted; the caller fills it. */
DAT_EVENT *dpr_evring_put(struct dpr_evring *r, bool notify);
bool dpr_evring_get(struct dpr_evring *r, DAT_EVENT *ev);
/* A waiter that asks for `threshold` events may go: enough are queued and one of them told so. */
bool dpr_evring_ripe(const struct dpr_evring *r, unsigned int threshold);

#endif

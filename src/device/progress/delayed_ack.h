/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Delayed acknowledgements. An acknowledgement costs a packet of its own unless the application's next
 * request can take it along, so a round made by a thread that polls, or returns from a wait, may defer it
 * until the application's next call. That pays only if the call comes soon: one that did not come within
 * DEV_DEFER_NS turns deferral off for DEV_DEFER_PENALTY receptions.
 */
#ifndef DEVICE_PROGRESS_DELAYED_ACK_H
#define DEVICE_PROGRESS_DELAYED_ACK_H

#include "device/progress/driver.h"
#include "engine/dev.h"

#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;

#define DEV_DEFER_NS 50000ull /* a deferred acknowledgement waits so long for the application's next call */
#define DEV_DEFER_PENALTY 64

/* dev.lock */
struct dev_delayed_ack {
	/* When the oldest acknowledgement that waits was deferred, 0 = none waits. Written under
	 * dev.lock; the background thread's tick reads it without. */
	_Atomic uint64_t since;
	uint32_t penalty; /* receptions until deferral is tried again */

	/* Those that were deferred without a round, and without a look at the clock (fast.c). */
	bool by_fast;         /* one waits, */
	uint32_t fast_tick;   /* since this tick of the thread, */
	uint32_t empty_polls; /* and so many polls have found nothing since */
};

/* How acknowledgements leave behind a round made `by` a thread that has received so many things. */
enum eng_acks dev_acks(struct dev_adapter *a, enum dev_by by, uint64_t now, int received);
/* Starts a round: deferral is turned off for a while if an acknowledgement has waited too long. */
void dev_acks_judge(struct dev_adapter *a, uint64_t now);
/* Ends a round. defer: what is still pending was deferred at `now`, unless it waits since an earlier time. */
void dev_acks_note(struct dev_adapter *a, bool defer, uint64_t now);
/* The call that an acknowledgement waited for came late, or never: deferral is turned off for a while. */
void dev_acks_penalise(struct dev_adapter *a);

#endif

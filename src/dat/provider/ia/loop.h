/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's one thread, the loop: it waits for descriptors and timers, and does the work that
 * is not allowed at the point where its need is detected (under a lock, in a call of the consumer).
 * It waits and calls handlers with no lock held.
 *
 * The thread lives while adapters are open. Closing the last one unpublishes the loop first and
 * then ends its thread, so that an adapter opened meanwhile, by a CNO agent in that very thread for
 * instance, starts another. A forked child has no loop.
 */
#ifndef DAT_PROVIDER_IA_LOOP_H
#define DAT_PROVIDER_IA_LOOP_H

#include "util/list.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds a user; the first one starts the thread. Returns 0 or -errno. */
int dpr_loop_get(void);
/* Removes a user; the last one ends the thread. */
void dpr_loop_put(void);

/* A descriptor that the loop watches, level triggered. */
struct dpr_watch {
	int fd;
	void (*ready)(struct dpr_watch *w); /* in the loop, no lock held */
	struct ut_list on;                  /* the loop's list */
};

/* Returns 0 or -errno. */
int dpr_loop_watch(struct dpr_watch *w);
/* `ready` neither runs nor starts after the return, unless the caller is the loop itself. */
void dpr_loop_unwatch(struct dpr_watch *w);

/* A one-shot timer. */
struct dpr_timer {
	struct ut_list on; /* the loop's list */
	uint64_t at;       /* CLOCK_MONOTONIC, ns */
	void (*fire)(struct dpr_timer *t); /* in the loop, no lock held */
};

void dpr_timer_init(struct dpr_timer *t, void (*fire)(struct dpr_timer *t));
/* Arms t, or moves it, to `usec` from now; 0: the next turn of the loop. May be called under any
 * lock of the provider. Returns 0, or -ENXIO without a loop. */
int dpr_timer_arm(struct dpr_timer *t, uint64_t usec);
/* `fire` neither runs nor starts after the return, unless the caller is the loop itself. Returns
 * true if t was armed. */
bool dpr_timer_cancel(struct dpr_timer *t);

/* CLOCK_MONOTONIC, ns. */
uint64_t dpr_now(void);

#endif

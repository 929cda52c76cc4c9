/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's one thread: descriptors, timers, and what must not be done where it was found
 * (under a lock, in a consumer's call). It holds no lock while it waits or calls a handler.
 */
#ifndef DAT_PROVIDER_IA_LOOP_H
#define DAT_PROVIDER_IA_LOOP_H

#include "util/list.h"

#include <dat2/udat.h>
#include <stdbool.h>
#include <stdint.h>

int dpr_loop_get(void); /* one user more; 0 or -errno */
void dpr_loop_put(void);

/* A descriptor that the loop watches: `ready` is called with no lock held, in the loop thread. */
struct dpr_watch {
	int fd;
	void (*ready)(struct dpr_watch *w);
	struct ut_list on; /* the loop's */
};

/* 0 or -errno. The caller keeps w until dpr_loop_unwatch returned, after which `ready` does not run
 * (unless the caller is the loop itself). Level triggered. */
int dpr_loop_watch(struct dpr_watch *w);
void dpr_loop_unwatch(struct dpr_watch *w);

/* One shot. `fire` runs in the loop, no lock held. Arm again = move. usec from now; 0: as soon as the
 * loop runs. May be armed under any lock of the provider. */
struct dpr_timer {
	struct ut_list on; /* the loop's */
	uint64_t at;       /* CLOCK_MONOTONIC nanoseconds */
	void (*fire)(struct dpr_timer *t);
};
void dpr_timer_init(struct dpr_timer *t, void (*fire)(struct dpr_timer *t));
int dpr_timer_arm(struct dpr_timer *t, uint64_t usec);
/* After it returned `fire` does not run (unless the caller is the loop). False: not armed. */
bool dpr_timer_cancel(struct dpr_timer *t);

uint64_t dpr_now(void); /* CLOCK_MONOTONIC nanoseconds */

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the process shares: the open adapters and the lock around them; fork and exit. */
#ifndef DEVICE_PROCESS_H
#define DEVICE_PROCESS_H

#include "util/list.h"
#include "util/lock.h"

#include <stdbool.h>

/* Held while an adapter opens or closes, and in each turn of the background thread, which therefore never
 * sees an adapter half open. */
extern struct ut_mutex dev_process_lock;
extern struct ut_list dev_process_adapters; /* struct dev_adapter; dev_process_lock */

/* From here on fork() and quick_exit() go through this file; more than once is once. */
void dev_process_watch_forks(void);

/* Each adapter's last round: held posts and deferred acknowledgements leave. It is driven no further. */
void dev_process_last_round(void);
/* The process is about to leave by _exit(), without destructors: lets the background thread make the last round,
 * and waits for it a second at most. May be called from a signal handler: it takes no lock and allocates nothing.
 * Does nothing in a child of vfork(), in which the adapters are the parent's. */
void dev_process_leave(void);

#endif

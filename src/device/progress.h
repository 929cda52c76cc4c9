/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One round of progress, whoever makes it. */
#ifndef DEVICE_PROGRESS_H
#define DEVICE_PROGRESS_H

#include "device/driver.h"

#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;
struct eng_dev;
struct eng_qp;

/* A put-off acknowledgement waits this long for the application's next call. */
#define DEV_DEFER_NS 50000ull
/* Receptions without deferral after one was not picked up in time. */
#define DEV_DEFER_PENALTY 64
/* Posts that leave at once after one that was not taken along in time. */
#define DEV_DELAY_PENALTY 256

/* Receive, posted work, timers, transmit; never blocks. dev.lock held.
 * Returns the number of things done, 0 = idle. */
int dev_run(struct dev_adapter *a, enum dev_driver by);
int dev_run_look(struct dev_adapter *a, enum dev_driver by, enum dev_look look);

/* dev_machine.fast, .posted, .may_post_direct and .alone of who knows rounds only. */
int dev_fast_none(struct dev_adapter *a, bool *ret_whole);
bool dev_post_fast_none(struct eng_qp *qp, bool batch);
bool dev_may_post_direct_none(struct eng_qp *qp);
bool dev_post_direct_none(struct eng_qp *qp, bool app);

/* eng_dev_ops.progress, .posted and .polled */
int dev_progress(struct eng_dev *dev);
bool dev_post_fast(struct eng_dev *dev, struct eng_qp *qp);
void dev_polled(struct eng_dev *dev, int did);

#endif

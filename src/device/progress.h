/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One round of progress, whoever makes it. */
#ifndef DEVICE_PROGRESS_H
#define DEVICE_PROGRESS_H

#include "device/own.h"

#include <stdint.h>

struct dev_adapter;
struct eng_dev;

/* A put-off acknowledgement waits this long for the application's next call. */
#define DEV_DEFER_NS 50000ull
/* Receptions without deferral after one was not picked up in time. */
#define DEV_DEFER_PENALTY 64
/* Posts that leave at once after one that was not taken along in time. */
#define DEV_HOLD_PENALTY 256

/* Receive, posted work, timers, transmit; never blocks. dev.lock held.
 * Returns the number of things done, 0 = idle. */
int dev_run(struct dev_adapter *a, enum dev_driver by);

/* eng_dev_ops.progress and .polled */
int dev_progress(struct eng_dev *dev);
void dev_polled(struct eng_dev *dev, int did);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocking waits, which drive the adapter meanwhile; driver.h has the picture. */
#ifndef DEVICE_PROGRESS_WAIT_H
#define DEVICE_PROGRESS_WAIT_H

#include <stdint.h>

struct dev_adapter;
struct eng_chan;

/* eng_dev_ops.wait and .wait_comp of an adapter that belongs to this process. No lock held. */
int dev_wait(struct dev_adapter *a, int fd, int also, uint64_t until);
int dev_wait_comp(struct dev_adapter *a, struct eng_chan *chan);

#endif

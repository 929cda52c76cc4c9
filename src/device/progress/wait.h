/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Blocking waits, which drive the adapter meanwhile; driver.h has the picture. */
#ifndef DEVICE_PROGRESS_WAIT_H
#define DEVICE_PROGRESS_WAIT_H

#include <stdint.h>

struct eng_chan;
struct eng_dev;
struct pollfd;

/* eng_dev_ops.wait and .wait_comp; -EIO in a child of fork(). Without a descriptor the wait ends with progress, or at the limit. No
 * lock held. */
int dev_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until);
int dev_wait_comp(struct eng_dev *dev, struct eng_chan *chan);
/* A polling thread sleeps until there is progress, or the time has come. The background thread, if it was the driver, is the
 * driver again behind it: the poller may be one that watches memory and will not look again for long. Returns 0: there was progress; -ETIMEDOUT: none; or another negative errno. Called as above. */
int dev_wait_briefly(struct eng_dev *dev, uint64_t until);

#endif

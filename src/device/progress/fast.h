/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The entries to progress: a poll, a post and a wake-up. Most polls of a ping-pong find nothing or
 * one message, and the time of a round (round.h) is time in which a message is not seen. So a thread that
 * polls, posts or has slept goes without one whenever it can: no look at the clock, at sockets,
 * timers and managers, all of which wait for the next round, some microseconds at most.
 */
#ifndef DEVICE_PROGRESS_FAST_H
#define DEVICE_PROGRESS_FAST_H

#include "device/progress/driver.h"
#include "engine/dev.h"

#include <stdbool.h>

struct dev_adapter;
struct eng_qp;

/* How much a look at the adapter asks of the system. */
enum dev_look {
	DEV_LOOK,
	/* Only what the link's descriptor does not show as well: the caller sleeps on it next, or comes
	 * back soon. */
	DEV_LOOK_CHEAP,
	/* First of all the message that the caller was woken for: it has slept on the link's descriptor. */
	DEV_LOOK_WOKEN,
};

/* Makes progress `by` a thread of that kind: by the fast path, or by a round. Returns the number of things
 * done, 0 = idle; never blocks. dev_run(): with DEV_LOOK. dev.lock held. */
int dev_run(struct dev_adapter *a, enum dev_by by);
int dev_run_look(struct dev_adapter *a, enum dev_by by, enum dev_look look);

/* The background thread takes in what has come through the rings of the host, the usual way; a round follows where one is
 * due. Returns the number of things done, or -EAGAIN: they are for rounds alone. dev.lock held. */
int dev_run_rings(struct dev_adapter *a);

/* eng_dev_ops.progress, .poll, .drive, .post_fast and .post_now */
int dev_progress(struct eng_dev *dev);
int dev_poll(struct eng_dev *dev, const struct eng_cq *cq, struct eng_poller *p);
void dev_drive(struct eng_dev *dev);
bool dev_post_fast(struct eng_dev *dev, struct eng_qp *qp);
bool dev_post_now(struct eng_dev *dev, struct eng_qp *qp, const struct ibv_send_wr *wr);

#endif

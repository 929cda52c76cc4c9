/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of progress.h: what needs no round, what may wait, and when a poller gives way. dev.lock held. */
#ifndef DEVICE_SHORT_H
#define DEVICE_SHORT_H

#include "device/adapter.h"
#include "device/driver.h"

#define DEV_POSTS_BATCH 16 /* posts without a poll: a program that fills many queues, then polls */

static inline struct ut_stage *dev_stage(struct dev_adapter *a)
{
	return a->link ? a->link->rx_stage : a->streams->rx_stage;
}

/* --- short.c --- */

/* A poll. True: that was all, *ret_done things. False: a round is due, and *ret_done have been received. */
bool dev_without_round(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock);

/* The same for a leader that has slept (own.h); it makes a round before it sleeps again. */
bool dev_woken(struct dev_adapter *a, int *ret_done) UT_REQUIRES(a->dev.lock);

/* --- hold.c --- */

/* How acknowledgements leave behind a round of `by` that has received so many things. */
enum eng_acks dev_acks(struct dev_adapter *a, enum dev_driver by, uint64_t now, int received);
/* Whether those that were put off waited too long; and that they wait from now on, or do not any more. */
void dev_judge_deferral(struct dev_adapter *a, uint64_t now);
void dev_note_deferral(struct dev_adapter *a, bool defer, uint64_t now) UT_REQUIRES(a->dev.lock);
/* They did. */
void dev_deferred_uselessly(struct dev_adapter *a);
/* Whether what was posted waits for more. posted: this round is a post's. */
bool dev_delay_posts(struct dev_adapter *a, uint64_t now, bool posted) UT_REQUIRES(a->dev.lock);
/* One more of those that wait: true, there is nothing else to do. */
bool dev_delay_more(struct dev_adapter *a, struct eng_qp *qp) UT_REQUIRES(a->dev.lock);
/* Polls part the posts: a poll; and a post, behind which there may have been polls that did not come here. */
void dev_end_of_posts(struct dev_adapter *a);
void dev_look_for_polls(struct dev_adapter *a);

/* --- yield.c --- */

/* Polls in empty_polls, in short looks, until a poller gives way. */
unsigned dev_polls_before_yield(struct dev_adapter *a);

#endif

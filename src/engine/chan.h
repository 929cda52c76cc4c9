/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion channels. A completion queue is on the list of those that have an event once, with a count of
 * its events; the descriptor counts the events of all of them (semfd.h).
 *
 * A thread that waits for an event and makes progress meanwhile is the attendant of its channel, one
 * thread at most. While it is awake, the next event costs no system call: it is queued, and not in the
 * count of the descriptor, as if the thread had read it before all others. The attendant takes the event,
 * or looks for it again in eng_chan_sleep().
 */
#ifndef ENGINE_CHAN_H
#define ENGINE_CHAN_H

#include "util/list.h"
#include "util/lock.h"

#include <stdbool.h>

struct eng_cq;
struct eng_ctx;

struct eng_chan {
	struct eng_ctx *ctx;
	int fd;
	struct ut_mutex lock;
	struct ut_list ready UT_GUARDED_BY(lock); /* struct eng_cq, oldest first */
	unsigned cqs;                             /* CQs made on it; lock */
	bool attended UT_GUARDED_BY(lock); /* the attendant is awake, and takes the next event at once */
	bool owed UT_GUARDED_BY(lock);     /* one event is queued that the descriptor does not count */
	int wake_fd UT_GUARDED_BY(lock);   /* the attendant sleeps on this, not on fd; -1: it does not */
	bool rung UT_GUARDED_BY(lock);     /* wake_fd was written */
};

/* Returns 0, -ENOMEM, -EMFILE, ... */
int eng_chan_create(struct eng_ctx *ctx, struct eng_chan **ret);
/* Returns 0, or -EBUSY while a completion queue uses it. */
int eng_chan_destroy(struct eng_chan *chan);
/* Takes the oldest event and returns its completion queue in *ret: 0, or -EAGAIN if there is none. */
int eng_chan_get(struct eng_chan *chan, struct eng_cq **ret);
/* True if it has an event. Another thread may take that first. */
bool eng_chan_has(struct eng_chan *chan);
/* The attendant comes (yes) or goes. Returns true if its wake fd was written: the caller resets it. */
bool eng_chan_attend(struct eng_chan *chan, bool yes);
/* The attendant is about to sleep until `wake_fd` is written, or, -1, until fd is readable. Returns false
 * if there is an event: then it does not sleep. */
bool eng_chan_sleep(struct eng_chan *chan, int wake_fd);
/* Queues one event for the completion queue. Called with cq->lock held. */
void eng_chan_raise(struct eng_chan *chan, struct eng_cq *cq);
/* Drops the queued events of a completion queue that is destroyed. */
void eng_chan_drop(struct eng_chan *chan, struct eng_cq *cq);

#endif

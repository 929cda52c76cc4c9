/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a round defers until the application's next call, since it can leave with more then. Both kinds pay
 * only if that call comes soon, and have a penalty: after one wait that gained nothing, the next so many leave
 * at once.
 *
 * Posted requests (coalescing): a message that leaves by itself costs a system call at each end, a train of
 * them costs the same. A request that is posted behind many unacknowledged ones may wait: the next poll, the
 * post that fills a train, or the response takes it along.
 *
 * Acknowledgements (delayed ACKs): one costs a packet of its own unless the application's next request can take
 * it along, so a round made by a thread that polls, or returns from a wait, may defer it.
 */
#ifndef DEVICE_PROGRESS_DEFERRED_H
#define DEVICE_PROGRESS_DEFERRED_H

#include "device/progress/driver.h"
#include "engine/dev.h"
#include "util/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;
struct eng_qp;

/* --- posted requests --- */

#define DEV_POSTS_BATCH 16 /* posts without a poll: a program that fills many queues, then polls */
#define DEV_COALESCE_NS 50000ull /* posts wait so long for the application's next call */
#define DEV_COALESCE_PENALTY 256 /* posts that leave at once after one whose wait gained nothing */

/* dev.lock */
struct dev_coalescing {
	uint32_t posts;      /* made since the last poll */
	bool batch;          /* there were more than DEV_POSTS_BATCH before that poll */
	uint64_t since;      /* posted requests wait from this time on; 0 = none do */
	uint32_t since_tick; /* the thread's tick at that time */
	uint32_t penalty;    /* posts until coalescing is tried again */
};

/* Called by a round of progress. for_posts: a post has caused the round. Returns true if the posted
 * requests wait, so that the round transmits nothing. */
bool dev_coalesce(struct dev_adapter *a, uint64_t now, bool for_posts);
/* One more post behind requests that wait. Returns true if it waits with them, without a round. Reads
 * no clock: that they have waited too long shows in the thread's tick. */
bool dev_coalesce_join(struct dev_adapter *a, struct eng_qp *qp);

/* A poll parts the posts before it from those behind it. A program that posted many before one poll
 * will do so before the next. */
static inline void dev_posts_end(struct dev_coalescing *c)
{
	if (c->posts)
		c->batch = c->posts > DEV_POSTS_BATCH;
	c->posts = 0;
}

/* For dev_machine.post and .may_coalesce: a poll cannot be far. */
static inline bool dev_posts_in_batch(const struct dev_coalescing *c)
{
	return c->posts > DEV_POSTS_BATCH;
}

/* An application thread has posted. A batch is as good as a poll while it drives: it fills its queues and comes back to poll
 * them. */
static inline void dev_posts_count(struct dev_coalescing *c, struct dev_driver_state *o)
{
	c->posts++;
	if (dev_posts_in_batch(c))
		dev_beat(o);
}

/* --- acknowledgements --- */

#define DEV_DEFER_NS 50000ull /* a deferred acknowledgement waits so long for the application's next call */
#define DEV_DEFER_PENALTY 64 /* receptions whose acknowledgement leaves at once after one that waited too long */

/* dev.lock */
struct dev_delayed_ack {
	/* When the oldest acknowledgement that waits was deferred, 0 = none waits. Written under
	 * dev.lock; the background thread's tick reads it without. */
	_Atomic uint64_t since;
	uint32_t penalty; /* receptions until deferral is tried again */

	/* Those that were deferred without a round, and without a look at the clock (fast.c). The first round behind a tick
	 * of the background thread finds them late. */
	bool by_fast;         /* one waits, */
	uint32_t empty_polls; /* and so many polls have found nothing since */
	uint32_t received;    /* messages without a round since none waited */
};

/* How acknowledgements leave behind a round made `by` a thread that has received so many things. */
enum eng_acks dev_acks(struct dev_adapter *a, enum dev_by by, uint64_t now, int received);
/* Starts a round: deferral is turned off for a while if an acknowledgement has waited too long. */
void dev_acks_judge(struct dev_adapter *a, uint64_t now);
/* Ends a round. defer: what is still pending was deferred at `now`, unless it waits since an earlier time. */
void dev_acks_note(struct dev_adapter *a, bool defer, uint64_t now);
/* The call that an acknowledgement waited for came late, or never: deferral is turned off for a while. */
void dev_acks_penalise(struct dev_adapter *a);

#endif

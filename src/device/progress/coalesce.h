/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posted requests that wait for more of them. A message that leaves by itself costs a system call at
 * each end, a train of them costs the same. A request that is posted behind many unacknowledged ones
 * may wait: the next poll, the post that fills a train, or the response takes it along.
 */
#ifndef DEVICE_PROGRESS_COALESCE_H
#define DEVICE_PROGRESS_COALESCE_H

#include "util/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;
struct eng_qp;

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

/* For dev_machine.post_fast and .may_coalesce: a poll cannot be far. */
static inline bool dev_posts_in_batch(const struct dev_coalescing *c)
{
	return c->posts > DEV_POSTS_BATCH;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages straight into the ring of a peer. A connection sends all its messages to one process, so it looks its ring up
 * once and remembers it as a lane; the rest of shm_channel_ops.reserve() and .commit() is inline here: room at the
 * tail, the record, the new tail. A lane ends with an epoch of its channel: when a ring ends, and when an observer comes or goes.
 * One that an observer watches does not lead, so that nothing is tested for observers where it would; its user calls watch() before
 * the commit.
 *
 *     room = shm_lane_reserve(c, lane, bytes, &skip)     header and bytes are written to it
 *     shm_lane_commit(c, lane, room, bytes, skip, more)
 *
 * Called with the progress lock held.
 */
#ifndef HOST_SHM_LANE_H
#define HOST_SHM_LANE_H

#include "host/shm/channel.h"
#include "host/shm/ring.h"

/* Returns false if the lane leads nowhere: shm_channel_ops.lane() may find another one. */
static inline bool shm_lane_leads(const struct shm_channel *c, const struct shm_lane *l)
{
	return l->epoch == c->epoch;
}

/* Returns true if the lane leads to a ring, and an observer sees its messages. */
static inline bool shm_lane_is_watched(const struct shm_channel *c, const struct shm_lane *l)
{
	return l->epoch == (c->epoch | SHM_LANE_WATCHED);
}

/* Returns room for a message of so many bytes behind its header, to be filled before the next call, or NULL: the ring is
 * full or has no reader any more, which reserve() finds out. *ret_skip is for the commit. */
static inline struct shm_record *shm_lane_reserve(const struct shm_lane *l, uint32_t bytes, uint64_t *ret_skip)
{
	enum shm_put why;

	return shm_reserve(l->ring, bytes, ret_skip, &why);
}

/* Returns true if the next message becomes visible together with the one before it. */
static inline bool shm_lane_follows(const struct shm_lane *l)
{
	return l->ring->published != l->ring->tail;
}

/* The message leaves; more: others follow at once, and it is visible to the reader from the next flush() on. Returns its end
 * in the ring, for consumed(). */
static inline uint64_t shm_lane_commit(struct shm_channel *c, const struct shm_lane *l, struct shm_record *at, uint32_t bytes,
				       uint64_t skip, bool more)
{
	struct shm_tx *t = l->ring;

	shm_record_put(at, bytes);
	t->full_since = 0;
	if (more) {
		shm_finish(t, at, skip);
		c->unflushed = true;
	} else {
		c->unnotified -= t->unnotified;
		if (shm_commit(t, at, skip) == SHM_PUT_WAKE)
			c->ops->wake(c, t);
	}
	return t->tail;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages straight out of the rings of the peers, as lane.h has them straight into one. A thread that polls remembers the rings, where
 * they are few, and executes each message where it lies. Inlets end with an epoch of their channel: when a ring begins or ends, and when
 * an observer comes or goes. Of watched ones the user calls hear() for each message.
 *
 *     shm_inlets_lead(c, &in), or c->ops->inlets(c, &in)
 *     shm_inlets_are_open(c)
 *     for (i = shm_inlets_next(&in, 0); i < in.n; i = shm_inlets_next(&in, i + 1)) {
 *             while (shm_waiting(in.v[i].ring) && (at = shm_inlet_take(&in.v[i], &bytes)))
 *                     the header at `at`, with `bytes` behind it
 *             shm_inlet_release(&in.v[i])
 *     }
 *     shm_inlets_end(c, n)
 *
 * A message that is not executed at once is held: shm_inlets_hold() in place of the release, and later c->ops->release(). Called with
 * the progress lock held.
 */
#ifndef HOST_SHM_INLET_H
#define HOST_SHM_INLET_H

#include "host/shm/channel.h"
#include "host/shm/ring.h"

/* Returns false if the inlets are those of another epoch. */
static inline bool shm_inlets_lead(const struct shm_channel *c, const struct shm_inlets *in)
{
	return (in->epoch & ~SHM_LANE_WATCHED) == c->epoch;
}

static inline bool shm_inlets_are_watched(const struct shm_inlets *in)
{
	return in->epoch & SHM_LANE_WATCHED;
}

/* Returns false if the next look is poll(): a message is held, or none has come for long. */
static inline bool shm_inlets_are_open(const struct shm_channel *c)
{
	return !c->held && c->warm;
}

/* Returns the first ring from this one on in which a record waits, in->n: none. */
static inline unsigned shm_inlets_next(const struct shm_inlets *in, unsigned i)
{
	while (i < in->n && !shm_waiting(in->v[i].ring))
		i++;
	return i;
}

/* Takes the oldest message, where shm_waiting() was true. Returns its header, with *ret_bytes behind it, until the release; NULL: the
 * record is for poll(). */
static inline const uint8_t *shm_inlet_take(const struct shm_inlet *in, uint32_t *ret_bytes)
{
	const uint8_t *at = shm_is_small(in->ring) ? shm_take_inline(in->ring, ret_bytes) : NULL;

	if (!at)
		at = shm_take_next(in->ring, ret_bytes);
	return __builtin_expect(at != NULL, 1) ? at : shm_take_odd(in->ring, ret_bytes);
}

static inline struct shm_message shm_inlet_message(const struct shm_inlet *in, const uint8_t *at, uint32_t bytes)
{
	struct shm_message m = { .data = at, .len = SHM_CHANNEL_HEADER_BYTES + bytes, .from = in->from };

	memcpy(m.src, in->src, 16);
	memcpy(m.dst, in->dst, 16);
	return m;
}

/* Gives the room of the messages that were taken, and executed with success, back to their writer. */
static inline void shm_inlet_release(const struct shm_inlet *in)
{
	if (in->ring->held)
		shm_release_executed(in->ring);
}

/* The last message that was taken stays valid until c->ops->release(), and so do those before it. */
static inline void shm_inlets_hold(struct shm_channel *c)
{
	c->held = true;
}

/* Ends a look at the rings that has taken n messages. */
static inline void shm_inlets_end(struct shm_channel *c, int n)
{
	if (!n) {
		c->warm -= c->warm > 1;
		return;
	}
	c->warm = SHM_CHAN_WARM;
	if (__builtin_expect(atomic_load_explicit(c->on, memory_order_relaxed) != SHM_POLLS, 0))
		c->ops->took(c);
}

#endif

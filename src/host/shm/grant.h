/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access that was granted, remembered. A connection uses one key of its peer again and again, so what it has found in the
 * exported tables, and where the exporter's area is attached, it keeps as a grant: shm_channel_ops.access_begin() fills it
 * in beside the tables. It holds until the exporter revokes a queue pair or a key with an area, which moves a count in its
 * tables (export.h), and until the channel's epoch ends.
 *
 *     if (shm_grant_holds(c, g) && shm_grant_begin(c, g))
 *             loads and stores, as behind access_begin()
 *             shm_grant_end(g)
 *
 * Called with the progress lock held.
 */
#ifndef HOST_SHM_GRANT_H
#define HOST_SHM_GRANT_H

#include "host/shm/channel.h"
#include "util/barrier.h"

/* Says that the access begins, which the exporter waits for from here on, unless it has revoked before. */
static inline void shm_grant_announce(struct shm_channel *c, const struct shm_grant *g)
{
	uint64_t word = (uint64_t)g->exporter << 32 | ++c->accesses;

	if (!g->fenced) {
		atomic_store(g->word, word);
		return;
	}
	atomic_store_explicit(g->word, word, memory_order_relaxed);
	ut_barrier_light();
}

static inline void shm_grant_end(const struct shm_grant *g)
{
	atomic_store_explicit(g->word, 0, memory_order_release);
}

/* Returns false if the exporter or its area may be another one now, so that nothing may be reached by the grant. */
static inline bool shm_grant_holds(const struct shm_channel *c, const struct shm_grant *g)
{
	return g->epoch == c->epoch;
}

/* Begins an access. Returns false, and there is none, if the exporter has revoked something. */
static inline bool shm_grant_begin(struct shm_channel *c, const struct shm_grant *g)
{
	shm_grant_announce(c, g);
	if (__builtin_expect(atomic_load(&g->tables->revoked) == g->revoked, 1))
		return true;
	shm_grant_end(g);
	return false;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets of one flow for which messages through shared memory stand. There is one writer, with the adapter's progress lock;
 * readers come at any time, from other processes too (link/fabric/packets.h).
 */
#ifndef LINK_COUNT_H
#define LINK_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

struct link_count {
	_Atomic uint64_t packets, words; /* words: octets / 4, LRH to ICRC; both never go back */
};

static inline void link_count_move(_Atomic uint64_t *to, uint64_t by)
{
	atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + by, memory_order_relaxed);
}

static inline void link_count_add(struct link_count *c, uint32_t packets, uint64_t words)
{
	link_count_move(&c->packets, packets);
	link_count_move(&c->words, words);
}

#endif

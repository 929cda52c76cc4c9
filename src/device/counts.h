/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What this process has counted goes into the device tree, where monitoring reads it (sysfs/counts.h): five seconds
 * after traffic, by the background thread; when the adapter closes and when the process exits; and before a
 * program under the preload reads such a file, so that its own traffic is in it to the last octet.
 */
#ifndef DEVICE_COUNTS_H
#define DEVICE_COUNTS_H

#include "device/progress/thread.h"
#include "engine/dev.h"
#include "util/clock.h"
#include "util/heap.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DEV_COUNTS_NS (5 * UT_S)

struct dev_adapter;

struct dev_counting {
	_Atomic uint64_t at; /* the thread adds then; UT_NEVER: nothing is new */
	uint64_t seen;       /* dev.lock: packets and accesses that were there at the last look */
	/* The lock of counts.c. */
	uint64_t added[ENG_C_COUNT];
	char *root; /* of the tree; NULL: not asked for yet */
};

void dev_counting_init(struct dev_counting *c);
void dev_counting_fini(struct dev_counting *c);

/* What moves with traffic of any kind, from the counters of an adapter. */
static inline uint64_t dev_counting_traffic(const uint64_t counters[ENG_C_COUNT])
{
	return counters[ENG_C_tx_pkts] + counters[ENG_C_rx_pkts] + counters[ENG_C_local_direct];
}

/* Returns the time (ns of CLOCK_MONOTONIC) of the thread's next turn, or UT_NEVER. */
static inline uint64_t dev_counting_next(const struct dev_counting *c)
{
	return atomic_load_explicit(&c->at, memory_order_relaxed);
}

/* Returns true if there is traffic that the tree does not show, and the thread does not know it yet. dev.lock held. */
static inline bool dev_counting_is_new(const struct dev_counting *c, const uint64_t counters[ENG_C_COUNT])
{
	return dev_counting_next(c) == UT_NEVER && dev_counting_traffic(counters) != c->seen;
}

/* The thread adds new traffic DEV_COUNTS_NS from now. dev.lock held. */
static inline void dev_counting_news(struct dev_counting *c, uint64_t now)
{
	atomic_store_explicit(&c->at, now + DEV_COUNTS_NS, memory_order_relaxed);
	dev_thread_wake_by(now + DEV_COUNTS_NS);
}

/* The thread's turn, at dev_counting_next(). dev_process_lock held. */
void dev_counting_serve(struct dev_adapter *a, uint64_t now);
/* Adds what is left. The adapter carries no more traffic. No lock of an adapter held. */
void dev_counting_last(struct dev_adapter *a);

#endif

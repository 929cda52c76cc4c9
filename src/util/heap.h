/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deadlines in a binary heap. A timer holds its index, so moving or removing one is O(log n) and
 * costs no search. Times are nanoseconds of any one clock; the heap never reads a clock.
 *
 * Growing the array may fail, so ut_heap_reserve() makes room when the object that contains the
 * timer is made, and arming a timer cannot fail.
 */
#ifndef UTIL_HEAP_H
#define UTIL_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UT_NEVER UINT64_MAX

struct ut_timer {
	uint64_t at;     /* deadline in ns; meaningful while queued */
	uint32_t index;  /* 1-based index in the heap; 0: not queued */
};

struct ut_heap {
	struct ut_timer **v; /* v[1..n] */
	uint32_t n, cap, reserved;
};

/* Makes room for one more armed timer. Returns 0 or -ENOMEM. */
int ut_heap_reserve(struct ut_heap *h);
/* Undoes one ut_heap_reserve(); the timer must not be queued. */
void ut_heap_unreserve(struct ut_heap *h);
void ut_heap_fini(struct ut_heap *h);

/* Queues the timer for `at`, or moves it there. */
void ut_timer_set(struct ut_heap *h, struct ut_timer *t, uint64_t at);
/* Takes the timer off the heap; does nothing if it is not queued. */
void ut_timer_clear(struct ut_heap *h, struct ut_timer *t);
/* Takes off and returns a timer with at <= now; NULL if there is none. */
struct ut_timer *ut_heap_expired(struct ut_heap *h, uint64_t now);

/* The earliest deadline, or UT_NEVER. */
static inline uint64_t ut_heap_next(const struct ut_heap *h)
{
	return h->n ? h->v[1]->at : UT_NEVER;
}

static inline bool ut_timer_queued(const struct ut_timer *t)
{
	return t->index != 0;
}

#endif

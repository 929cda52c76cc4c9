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

/* Restores the order of the heap around the timer at index i, t, whose deadline has changed. */
void ut_heap_settle(struct ut_heap *h, uint32_t i, struct ut_timer *t);

/* Queues the timer for `at`, or moves it there. */
static inline void ut_timer_set(struct ut_heap *h, struct ut_timer *t, uint64_t at)
{
	t->at = at;
	if (!t->index)
		t->index = ++h->n;
	h->v[t->index] = t;
	/* A lone timer, the usual case, is in its place. */
	if (h->n > 1)
		ut_heap_settle(h, t->index, t);
}

/* Takes the timer off the heap; does nothing if it is not queued. */
static inline void ut_timer_clear(struct ut_heap *h, struct ut_timer *t)
{
	uint32_t i = t->index;
	struct ut_timer *last;

	if (!i)
		return;
	last = h->v[h->n--];
	t->index = 0;
	if (last != t)
		ut_heap_settle(h, i, last);
}

/* Takes off and returns a timer with at <= now; NULL if there is none. */
static inline struct ut_timer *ut_heap_expired(struct ut_heap *h, uint64_t now)
{
	struct ut_timer *t = h->n ? h->v[1] : NULL;

	if (!t || t->at > now)
		return NULL;
	ut_timer_clear(h, t);
	return t;
}

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

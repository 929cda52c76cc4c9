/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Empty polls, and when a polling thread gives the processor away. A thread that spins beside its peer on
 * one processor waits for a scheduler tick (4 ms) unless it yields. A yield costs more than the look
 * at a ring that has just found nothing, so the polls before the next one count from none again; but
 * behind a yield in which the peer ran, each empty poll yields.
 *
 * A yield beside strangers - a build, other polling programs - costs a turn of all that run, and so would each hop
 * of a message. Behind such a yield the polling thread waits briefly instead: it sleeps on the adapter's descriptor, as a
 * waiter does (wait.h), and the scheduler prefers it to the strangers when its message comes. After some such waits a
 * yield finds out whether the strangers are still there.
 *
 * A thread that polls hundreds of queues in turn gives way once in a round over them, and not for each queue. The length
 * of its round is measured from one poll of a queue to the next one of the same.
 */
#ifndef DEVICE_PROGRESS_YIELD_H
#define DEVICE_PROGRESS_YIELD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/pause.h"

struct eng_cq;
struct eng_dev;

#define DEV_POLL_WEIGHT 8     /* so many polls without a round count as one with */
#define DEV_POLLS_TO_YIELD 16 /* empty polls before the processor is given away */
#define DEV_ROUND_MOST 65536u /* empty polls of a round over so many queues; behind them another one is taken to begin */
#define DEV_BRIEF_WAIT_NS 200000ull  /* the longest brief wait: a completion that another thread has taken in is seen then */
/* A yield of that length gave the processor to a stranger for a slice. A peer that polls on the same processor yields
 * sooner, within DEV_POLLS_TO_YIELD polls of some microseconds. */
#define DEV_STRANGER_NS 1000000ull
#define DEV_BRIEF_WAITS_LEAST 16u    /* waits behind the first yield beside strangers; doubled behind each that follows */
#define DEV_BRIEF_WAITS_MOST 1024u

/* Without lock: two pollers may lose each other's count, which does no harm. */
struct dev_yielding {
	atomic_int idle_polls;  /* in a row, by any thread, in units of polls without a round; less than
				 * 0 after a stranger's slice; 0: the last poll or brief wait has found something */
	atomic_bool fast_look;  /* the last poll made no round and found nothing */
	bool asks;              /* dev.lock: a look without a round makes system calls, and counts as one with a round */
	atomic_bool slow;       /* the last yield lasted as if another thread had run in it, */
	atomic_bool met;        /* or the scheduler said that one did, for a moment */
	atomic_uint backoff;    /* how often the polls before a yield have been halved */
	atomic_bool yields;     /* a poller is in a yield now */
	atomic_uint waits;      /* left until the next yield */
	atomic_uint waits_least; /* behind the last yield beside strangers; 0: there were none in the last one */
	atomic_uint count;      /* yields in which the scheduler was not asked */
};

/* The calling thread's round over its queues, in empty polls. */
struct dev_turn {
	const struct eng_cq *from; /* a round began with this queue, */
	unsigned polls;            /* so many polls ago */
	unsigned most;             /* without this queue in so many polls, another one takes its place */
	unsigned length;           /* of the last round */
	bool over;                 /* a round has ended since the thread gave way */
	unsigned idle;             /* empty polls since one found something, in rounds over more than one queue */
};

/* At a fixed offset in the thread's storage, since every poll writes there. */
extern __thread struct dev_turn dev_turn __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* One more empty poll. */
void dev_turn_note(const struct eng_cq *cq);

/* Ends each poll that found its queue (cq; NULL: none was polled) empty. did: how many things were done meanwhile. May yield, or
 * sleep for DEV_BRIEF_WAIT_NS. Called without locks. Returns did. */
int dev_polled(struct eng_dev *dev, int did, const struct eng_cq *cq);

/* A yield lasted so many ns: from that, how many brief waits follow to the next. */
void dev_yield_took(struct dev_yielding *y, uint64_t ns);
/* Returns true if the polling thread waits briefly, and counts that; false: it yields. */
bool dev_wait_instead(struct dev_yielding *y);

/* Empty polls, in units of idle_polls, until a poller yields. */
static inline unsigned dev_polls_before_yield(struct dev_yielding *y)
{
	return DEV_POLLS_TO_YIELD * DEV_POLL_WEIGHT >>
	       atomic_load_explicit(&y->backoff, memory_order_relaxed);
}

/* The next poll yields if it finds nothing. */
static inline bool dev_is_yield_due(struct dev_yielding *y)
{
	return atomic_load_explicit(&y->idle_polls, memory_order_relaxed) >= (int)dev_polls_before_yield(y);
}

/* A wait has ended, in which polls were idle. */
void dev_yield_found(struct dev_yielding *y);

/* A poll has found n things. One that comes together with another - an acknowledgement leaves in front of the request that answers - has
 * not been waited for, and says nothing about the yields. Returns n. */
static inline int dev_polled_found(struct dev_yielding *y, int n)
{
	atomic_store_explicit(&y->fast_look, false, memory_order_relaxed);
	dev_turn.idle = 0;
	if (atomic_load_explicit(&y->idle_polls, memory_order_relaxed))
		dev_yield_found(y);
	return n;
}

/* A poll without a round has found nothing, where no yield was due: dev_polled() in short. */
static inline int dev_polled_fast(struct dev_yielding *y, const struct eng_cq *cq)
{
	int idle = atomic_load_explicit(&y->idle_polls, memory_order_relaxed);

	atomic_store_explicit(&y->fast_look, true, memory_order_relaxed);
	atomic_store_explicit(&y->idle_polls, idle + 1, memory_order_relaxed);
	/* A round over one queue, as the last one was. */
	if (__builtin_expect(cq == dev_turn.from && dev_turn.length == 1 && !dev_turn.polls, 1)) {
		dev_turn.over = true;
		ut_look_again();
	} else {
		dev_turn_note(cq);
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A round of progress: receptions, posted work, reports of errors, timers, sends. The fast path (fast.h)
 * leaves everything but the commonest receptions and posts to it.
 */
#ifndef DEVICE_PROGRESS_ROUND_H
#define DEVICE_PROGRESS_ROUND_H

#include "device/progress/driver.h"
#include "device/progress/fast.h"

#include <stdbool.h>
#include <stdint.h>

struct dev_adapter;

/*
 * Polls, posts or messages that go without a round; then one is due, which acknowledges too. A message that comes during a round is
 * seen after it, so it should not be a large part of the time in which a thread polls; it takes as long as some thirty messages
 * within the host. Where the last DEV_ROUNDS_LOCAL rounds found nothing but such messages, which need none, rounds are seldom, until one
 * finds something else.
 */
#define DEV_ROUND_EVERY 128
#define DEV_ROUND_SELDOM 1024
#define DEV_ROUNDS_LOCAL 16
/*
 * A thread that polls several adapters - a message library has a queue pair on each of a peer's - finds all messages at one of them, and
 * would pay for a round at the others each time. So a poll of an adapter that has had nothing for DEV_ROUNDS_IDLE rounds stands aside
 * where the thread has found something elsewhere within DEV_ASIDE_POLLS polls; one of DEV_ASIDE_LOOKS is a round all the same.
 */
#define DEV_ROUNDS_IDLE 1024
#define DEV_ASIDE_POLLS 4096
#define DEV_ASIDE_LOOKS 64

/* dev.lock */
struct dev_rounds {
	bool quiescent;   /* the last round left nothing to do but wait */
	uint32_t without; /* polls, posts and messages since then */
	uint32_t tick;    /* dev_driver_state.ticks then: the next tick asks for a round as well */
	/* So many of an application's threads may go without the next one. 0: the adapter is not quiescent, acknowledgements leave
	 * at once (dev_delayed_ack.penalty), or it is not known which pages are present (ut_stage.pages_checked_at). */
	uint32_t most;
	uint32_t local; /* rounds in a row that looked for something else than messages within the host, and found none; kept by the
			 * machine that knows, at most DEV_ROUNDS_LOCAL */
	uint32_t idle;   /* that polls made for nothing since any thread found something, at most DEV_ROUNDS_IDLE */
	uint32_t spared; /* looks of polls that stood aside */
	bool timed_posts; /* a post since the last round needed the time, which the next ones get at once */
	uint64_t last_error_look;
};

/* Makes a round. early: the fast path has received so many things already, and receptions are left out.
 * Returns the number of things done; never blocks. dev.lock held, wired. */
int dev_round(struct dev_adapter *a, enum dev_by by, enum dev_look look, int early);

#endif

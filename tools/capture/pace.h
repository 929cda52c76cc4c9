/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much of a processor the reader of a capture takes. The ends of a connection poll, and yield while they wait for
 * each other, so a reader that runs on one of their processors takes their time whatever its priority is. Where the
 * programs leave it no processor, it takes a share of one, and what it cannot read stays in the rings or is lost; where
 * one is free it takes all of that, until it has to wait for a processor: programs that begin to use theirs have them back
 * within milliseconds.
 */
#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_PERCENT 10 /* the usual share */
#define PACE_RECORDS 1500u /* of each ring in a turn: some milliseconds' work */

struct pace {
	long percent;
	bool freely;            /* a processor is free */
	uint64_t looked;        /* when the processors were looked at, on ut_now()'s clock, */
	uint64_t idle, total;   /* their ticks then, */
	uint64_t used, delayed; /* and the ns that this thread had run, and, while it runs freely, waited for a processor */
	uint64_t spent;         /* ns that it has run by the last pace_wait() */
};

void pace_begin(struct pace *p, long percent);
/* Called after each turn; spare: there is a program that may need the processors; more: the turn has left records. Returns how
 * many milliseconds are to pass before the next turn: at least `least`, or none if there is more and a processor is free. */
int pace_wait(struct pace *p, int least, bool spare, bool more);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How much of a processor the reader of a capture takes. The ends of a connection poll, and yield while they wait for
 * each other, so a reader that runs on one of their processors takes their time whatever its priority is. Where the
 * programs leave it no processor, it takes a share of one, and what it cannot read stays in the rings or is lost; where
 * one is free it takes all of that.
 */
#ifndef CAPTURE_PACE_H
#define CAPTURE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_PERCENT 10 /* the usual share */

struct pace {
	long percent;
	bool freely;            /* a processor is free */
	uint64_t looked;        /* when the processors were looked at, on ut_now()'s clock, */
	uint64_t idle, total;   /* their ticks then, */
	uint64_t used, delayed; /* and the ns that this thread had run, and waited for a processor */
	uint64_t spent;         /* ns that it has run by the last pace_wait() */
};

void pace_begin(struct pace *p, long percent);
/* Called after each turn; spare: there is a program that may need the processors. Returns how many milliseconds, at least
 * `least`, are to pass before the next turn. */
int pace_wait(struct pace *p, int least, bool spare);
/* Returns how many records of each ring a turn may read. */
unsigned pace_records(const struct pace *p);

#endif

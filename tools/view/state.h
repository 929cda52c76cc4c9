/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The queue pairs and adapters of all running programs of this user at one time, from their control sockets, and the
 * rates between two such times.
 */
#ifndef VIEW_STATE_H
#define VIEW_STATE_H

#include "engine/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATE_WORD 48
#define STATE_HISTORY 60 /* seconds, or other intervals */

/* A queue pair. Words are those of engine/show.h. */
struct state_qp {
	long pid;
	uint32_t qpn, rqpn;
	char comm[STATE_WORD], dev[STATE_WORD], type[16], state[16], peer[STATE_WORD], way[16], reason[24], waits[16];
	uint32_t sq, sq_max, rq, rq_max, posted, sent, received;
	unsigned retries;

	double send_rate, recv_rate; /* requests a second since the time before */
	double p50_us, p99_us;       /* of a request until its acknowledgement; 0: not known */
	float history[STATE_HISTORY]; /* of both rates, oldest first */
	unsigned n_history;
};

/* An adapter of a process. */
struct state_dev {
	long pid;
	char comm[STATE_WORD], dev[STATE_WORD];
	uint64_t time; /* ns of CLOCK_MONOTONIC */
	uint64_t counter[ENG_C_COUNT];
	double rate[ENG_C_COUNT];
};

struct state {
	struct state_qp *qp;
	struct state_dev *dev;
	size_t n_qp, n_dev;
	int processes;
};

/* Asks all processes. With the state before: rates, and the history goes on. */
void state_read(struct state *ret, const struct state *before);
void state_free(struct state *s);

/* Returns the word for the end or part that limits this queue pair: "sender" (its queue is empty at most looks),
 * "receiver" (no receives or credits), "network" (repeats, full sockets), "path" (its queue is full, and nothing is
 * waited for); "-": it carries nothing. */
const char *state_limit(const struct state_qp *q);
/* Sum of a counter's rate over all adapters. */
double state_rate(const struct state *s, enum eng_counter c);

#endif

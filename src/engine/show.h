/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects of an adapter as lines of words and values, for the control socket of the process (device/control.h) and
 * `dapple show`. The words are those of iproute2's rdma(8) where it has one for the thing, in its order; ours follow the
 * program's name:
 *
 *      link DEV/1 lqpn N rqpn N type RC state RTS rq-psn N sq-psn N path-mig-state MIGRATED pdn N pid N comm NAME
 *           peer ADDRESS way WORD reason WORD waits WORD sq USED/MAX rq USED/MAX posted N sent N received N retries N
 *
 * A value has no blank. `posted`, `sent` and `received` count requests from the last RESET on, modulo 2^32: posted to
 * the send queue, completed there, taken from the receive queue (of queue pairs with one of their own).
 */
#ifndef ENGINE_SHOW_H
#define ENGINE_SHOW_H

#include "engine/dev.h"

#include <stdio.h>

/* What a protocol knows of a queue pair's traffic. Words are constant strings. */
struct eng_qp_facts {
	const char *way;    /* "wire", "ring", "pipe"; "-": not decided yet */
	const char *reason; /* why not a faster one; "-": none is faster, or not decided */
	const char *waits;  /* "rnr", "retry", "socket", "credit"; "-": for nothing */
	uint8_t peer[16];   /* zeros: not known */
	uint32_t rq_psn, sq_psn;
	unsigned retries;   /* of the oldest request, in a row */
};

/* How a process is called in lines: its number and the program's name without blanks. */
struct eng_show_who {
	int pid;
	const char *comm;
};

void eng_show_qps(struct eng_dev *dev, const struct eng_show_who *who, FILE *out) UT_REQUIRES(dev->lock);
void eng_show_cqs(struct eng_dev *dev, const struct eng_show_who *who, FILE *out) UT_REQUIRES(dev->lock);
void eng_show_mrs(struct eng_dev *dev, const struct eng_show_who *who, FILE *out) UT_REQUIRES(dev->lock);
/* "counter DEV NAME VALUE", each. */
void eng_show_counters(struct eng_dev *dev, FILE *out) UT_REQUIRES(dev->lock);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one thread of the carrier: descriptors and deadlines. Each round takes one descriptor, so that a callback may
 * free whatever it likes.
 */
#ifndef ULP_RDS_LOOP_H
#define ULP_RDS_LOOP_H

#include "util/list.h"

#include <stdbool.h>
#include <stdint.h>

struct rds_watch {
	int fd;                         /* -1: none */
	uint32_t events;                /* of epoll(7), level-triggered */
	void (*ready)(struct rds_watch *w, uint32_t events);
};

struct rds_timer {
	struct ut_list node;            /* on no list: it is not running */
	int64_t due_ms;
	void (*fire)(struct rds_timer *t);
};

struct rds_loop {
	int epfd;
	struct ut_list timers;
};

/* Returns 0 or a negative errno. */
int rds_loop_init(struct rds_loop *l);
/* Waits at most so many milliseconds, and calls timers that are due, or a watch that is ready. */
void rds_loop_round(struct rds_loop *l, int most_ms);

/* Watches w->fd for w->events. Returns 0 or a negative errno. */
int rds_watch_add(struct rds_loop *l, struct rds_watch *w);
void rds_watch_set(struct rds_loop *l, struct rds_watch *w, uint32_t events);
/* Closes the descriptor, if there is one; or leaves it to its owner. */
void rds_watch_close(struct rds_loop *l, struct rds_watch *w);
void rds_watch_forget(struct rds_loop *l, struct rds_watch *w);

void rds_timer_init(struct rds_timer *t, void (*fire)(struct rds_timer *t));
/* Begins anew, or leaves an earlier deadline as it is with rds_timer_by(). */
void rds_timer_set(struct rds_loop *l, struct rds_timer *t, int ms);
void rds_timer_by(struct rds_loop *l, struct rds_timer *t, int ms);
void rds_timer_stop(struct rds_timer *t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The one loop of a fabric process: descriptors with a function each, over a level-triggered epoll. A function may add
 * and remove any descriptor, its own included. Without a deadline the loop sleeps: an idle fabric has no wake-up.
 */
#ifndef FABRIC_LOOP_H
#define FABRIC_LOOP_H

#include <stdint.h>

struct loop;

typedef void loop_fn(void *arg, uint32_t events);

/* Returns NULL, with errno set, if the machine refuses. */
struct loop *loop_new(void);
void loop_free(struct loop *l);

/* Calls fn(arg, events) when the descriptor has one of the events (EPOLLIN...). Returns 0 or a negative errno. */
int loop_add(struct loop *l, int fd, uint32_t events, loop_fn *fn, void *arg);
/* Changes the events. */
void loop_set(struct loop *l, int fd, uint32_t events);
/* Forgets the descriptor, which the caller closes afterwards. Does nothing for one that was never added. */
void loop_del(struct loop *l, int fd);

/* Waits for events until `deadline` (ns of CLOCK_MONOTONIC, UINT64_MAX: without end) and calls their functions once. */
void loop_once(struct loop *l, uint64_t deadline);

#endif

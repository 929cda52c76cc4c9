/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads asleep on an rsocket. Each has an eventfd in its poll set besides the descriptors of the
 * socket: one thread alone can take a completion event, and it wakes the other sleepers through
 * their eventfds. Eventfds come from a small pool and are empty when they return to it.
 *
 * The caller's lock guards the list; the pool has a lock of its own.
 */
#ifndef ULP_RSOCKET_SLEEPER_H
#define ULP_RSOCKET_SLEEPER_H

struct rs_sleeper {
	struct rs_sleeper *next, **prev;        /* prev is NULL while on no list */
	int efd;
};

/* Returns an eventfd, or a negative errno. */
int rs_sleeper_fd_get(void);
/* Empties the eventfd and puts it into the pool. Keeps errno. */
void rs_sleeper_fd_put(int fd);
void rs_sleeper_enter(struct rs_sleeper **list, struct rs_sleeper *sleeper, int efd);
/* Takes the sleeper off its list, if it is on one. */
void rs_sleeper_leave(struct rs_sleeper *sleeper);
/* Wakes every sleeper of the list whose eventfd is not except_fd (-1: all). Keeps errno. */
void rs_sleepers_wake(struct rs_sleeper *list, int except_fd);
/* Called in the child after fork(): the pool's eventfds are shared with the parent, and closed. */
void rs_sleepers_after_fork(void);

#endif

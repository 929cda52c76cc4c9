/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads asleep on an rsocket. Each has an eventfd in its poll set besides the descriptors of the
 * socket: a completion event can be taken by one thread only, so the one that takes it wakes the
 * others through theirs. Eventfds come from a small pool and are empty when they go back.
 */
#ifndef ULP_RSOCKET_NAP_H
#define ULP_RSOCKET_NAP_H

#include <stddef.h>

struct rs_nap {
	struct rs_nap *next, **prev;
	int efd;
};

int rs_nap_fd_get(void);                /* or a negative errno */
void rs_nap_fd_put(int fd);
void rs_nap_enter(struct rs_nap **list, struct rs_nap *nap, int efd);
void rs_nap_leave(struct rs_nap *nap);  /* also of one that never entered */
void rs_nap_wake(struct rs_nap *list, int except_fd);
void rs_nap_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sets of rsockets and ordinary descriptors that a thread waits for again and again: repoll_create(),
 * repoll_ctl(), repoll_wait() of rdma-core 65, in the manner of epoll(7). A set is named by a descriptor.
 */
#ifndef ULP_RSOCKET_REPOLL_H
#define ULP_RSOCKET_REPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>

/* flags: O_CLOEXEC, O_NONBLOCK. Returns a descriptor or a negative errno. */
int rs_repoll_create(int flags);
/* op: EPOLL_CTL_*. EPOLLET is taken as level-triggered. Returns 0, -EBADF, -EINVAL (no set, or fd is the set itself),
 * -EEXIST, -ENOENT or -ENOMEM. */
int rs_repoll_ctl(int epfd, int op, int fd, const struct epoll_event *event);
/* Returns the number of events, 0 after timeout_ms, or a negative errno. A cancellation point. */
int rs_repoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms);
/* Ends the set of this descriptor and closes it. Returns false if there is none. */
bool rs_repoll_close(int epfd);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors that a child of fork() must not keep. */
#ifndef DEVICE_FORK_H
#define DEVICE_FORK_H

struct ut_stage;

/*
 * In the child: closes an epoll set, all its members, and the stage (or NULL).
 * Only close() is called on the descriptors: anything else (epoll_ctl, leaving
 * a group) would reach the parent through them.
 */
void dev_fork_close(int epoll_fd, const struct ut_stage *stage);

#endif

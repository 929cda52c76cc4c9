/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Descriptors that a child of fork() must not keep. */
#ifndef DEVICE_FORK_H
#define DEVICE_FORK_H

struct dev_adapter;

/*
 * In the child: closes the parent's link. Only close() is called on its
 * descriptors: anything else (epoll_ctl, leaving a group) would reach the
 * parent through them.
 */
void dev_fork_close_link(struct dev_adapter *a);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries of sockets in epoll instances that programs make before connect() or listen(). The kernel
 * drops them when another socket takes the descriptor's number, and they are made again.
 */
#ifndef ULP_PRELOAD_WATCH_H
#define ULP_PRELOAD_WATCH_H

/* Enters the socket's remembered entry, if there is one, into its epoll instance again. */
void rsp_watch_again(int fd);

#endif

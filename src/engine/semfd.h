/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A descriptor that is readable exactly while an event is queued: an eventfd in semaphore mode, whose count
 * is the number of events. A thread that changes the queue changes the count under the same lock. poll,
 * epoll, dup and O_NONBLOCK behave as on a kernel's descriptor. Raw system calls, since read() and write()
 * are cancellation points; errno is kept.
 */
#ifndef ENGINE_SEMFD_H
#define ENGINE_SEMFD_H

/* Returns a blocking descriptor, or a negative errno. */
int eng_semfd_open(void);
/* One event more. */
void eng_semfd_up(int fd);
/* One event less. Never blocks, not even if a program has read the descriptor itself. */
void eng_semfd_down(int fd);

#endif

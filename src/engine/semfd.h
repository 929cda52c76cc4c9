/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A descriptor that is readable exactly while something is queued: an eventfd
 * in semaphore mode. Whoever changes the queue changes the count, under the
 * queue's lock. Raw system calls, for read() and write() are cancellation
 * points; errno is kept.
 */
#ifndef ENGINE_SEMFD_H
#define ENGINE_SEMFD_H

/* The descriptor or negative errno. Blocking, as programs expect of it. */
int eng_semfd_open(void);
void eng_semfd_up(int fd);
/* Never blocks, even when a program has read the descriptor behind our back. */
void eng_semfd_down(int fd);

#endif

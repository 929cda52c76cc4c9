/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking for an event with the manners of read() on a kernel's descriptor.
 *
 * A program learns from a signal in one of two ways: its handler was installed
 * with SA_RESTART and read() goes on by itself, or without and read() fails
 * with EINTR. Our waits are polls, which always fail; they cannot know which
 * signal came. But the handlers of a process are nearly always of one kind,
 * and they can be asked for: the wait goes on when every handler has
 * SA_RESTART, and fails with EINTR when one has not.
 */
#ifndef UTIL_RESTART_H
#define UTIL_RESTART_H

#include <stdbool.h>

/* May the wait that a signal interrupted go on, as read() would? errno is kept. */
bool ut_restartable(void);

#endif

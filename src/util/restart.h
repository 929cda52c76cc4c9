/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking for an event as read() on a kernel's descriptor does.
 *
 * After a signal handler with SA_RESTART read() goes on by itself, after one without it read() fails
 * with EINTR. The library's waits are polls, which always fail and do not tell which signal came. But
 * the handlers of a process are nearly always of one kind, and sigaction() lists them: a wait goes on
 * if every handler has SA_RESTART, and fails with EINTR if one has not.
 */
#ifndef UTIL_RESTART_H
#define UTIL_RESTART_H

#include <stdbool.h>

/* Returns true if a wait that a signal interrupted goes on, as read() would. errno is kept. */
bool ut_restartable(void);

#endif

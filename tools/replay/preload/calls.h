/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The system calls of the program. Memory, masks of signals and a thread's own settings are changed in a replay as they
 * were; all else is answered from the record.
 */
#ifndef REPLAY_CALLS_H
#define REPLAY_CALLS_H

#include "turn.h"

#include <ucontext.h>

/* Executes, records or answers the call. Returns the kernel's result. uc: the thread behind the call. */
long rp_call(struct rp_thread *t, int nr, long args[6], ucontext_t *uc);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that make, replace and end processes, and those that send signals or wait for them. */
#ifndef REPLAY_PROCESS_H
#define REPLAY_PROCESS_H

#include "turn.h"

#include <ucontext.h>

/* kill(), tkill() and tgkill(). */
long rp_send_signal(struct rp_thread *t, int nr, const long args[6]);
long rp_alternate_stack(const long args[6], ucontext_t *uc);
long rp_suspend(struct rp_thread *t, const long args[6]);
long rp_wait_for_signal(struct rp_thread *t, const long args[6]);

/* A clone() that makes a thread: it is no event. */
bool rp_is_thread_start(int nr, const long args[6]);
/* fork(), vfork(), and clone(), which in pthread_create() makes a thread. */
long rp_fork(struct rp_thread *t, int nr, const long args[6], ucontext_t *uc);
/* execve() and execveat(). */
long rp_replace(struct rp_thread *t, int nr, const long args[6], ucontext_t *uc);
void rp_end_process(struct rp_thread *t, int nr, const long args[6]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Signals. SIGSYS brings the program's system calls, SIGSEGV its reads of the processor's counter (PR_SET_TSC). A signal
 * that the program handles is noted when it comes, and its handler runs at the thread's next system call, which is an
 * event: in a replay no signal comes, and the handler runs where the event is. Traps of the processor (SIGSEGV, SIGFPE...)
 * happen in a replay by themselves.
 */
#ifndef REPLAY_SIGNALS_H
#define REPLAY_SIGNALS_H

#include "turn.h"

#include <stdint.h>
#include <ucontext.h>

/* The kernel's struct sigaction. */
struct rp_action {
	uint64_t handler, flags, restorer, mask;
};

/* Takes SIGSYS and SIGSEGV. Returns 0 or -errno. */
int rp_signals_begin(void);

/* rt_sigaction(2) of the program. Returns 0 or -errno. */
long rp_signals_action(int sig, const struct rp_action *act, struct rp_action *old);
/* rt_sigprocmask(2), on the mask that the thread has behind the call. */
long rp_signals_mask(ucontext_t *uc, int how, const uint64_t *set, uint64_t *old);

/* Returns true if the program has a handler for it. */
bool rp_signals_handled(int sig);
/* The signals that the program ignores; bit 0 is number 1. */
uint64_t rp_signals_ignored(void);
/* A thread sends itself a signal that it handles. */
void rp_signals_self(struct rp_thread *t, int sig);

/* Where in a call handlers run. */
enum rp_when { RP_BEFORE_CALL, RP_BEHIND_CALL };

/* Runs the handlers of the signals that have come, or of those that come next in the record. Returns their number. */
int rp_signals_deliver(struct rp_thread *t, ucontext_t *uc, enum rp_when when);
/* Returns true if all that wait to be delivered restart an interrupted call. */
bool rp_signals_restart(const struct rp_thread *t);

#endif

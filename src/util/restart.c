/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/restart.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

/* Faults of the program itself come from an instruction, never into a wait;
 * sanitizers and language runtimes have handlers of their own kind for them. */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL ||
	       sig == SIGTRAP || sig == SIGSYS || sig == SIGABRT;
}

static bool restarts(int sig)
{
	struct sigaction a;

	if (is_fault(sig))
		return true;
	if (sigaction(sig, NULL, &a)) /* the C library's own */
		return true;
	if (!(a.sa_flags & SA_SIGINFO) &&
	    (a.sa_handler == SIG_DFL || a.sa_handler == SIG_IGN))
		return true;
	return a.sa_flags & SA_RESTART;
}

bool ut_restartable(void)
{
	int keep = errno;
	bool all = true;

	for (int sig = 1; sig < NSIG && all; sig++)
		all = restarts(sig);
	errno = keep;
	return all;
}

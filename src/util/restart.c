/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/restart.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

/* Faults of the program come from an instruction and never interrupt a wait; sanitizers and language
 * runtimes install handlers without SA_RESTART for them. */
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
	if (sigaction(sig, NULL, &a)) /* reserved by the C library */
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

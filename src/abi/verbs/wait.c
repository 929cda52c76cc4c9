/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking for an event, with the manners of read() on a kernel's descriptor.
 *
 * A program learns from a signal in one of two ways: its handler was installed
 * with SA_RESTART and read() goes on by itself, or without and read() fails
 * with EINTR. Our wait is an epoll_wait(), which always fails; it cannot know
 * which signal came. But the handlers of a process are nearly always of one
 * kind, and they can be asked for: the wait goes on when every handler has
 * SA_RESTART, and fails with EINTR when one has not.
 */
#include "abi/verbs/vrb.h"

#include <fcntl.h>
#include <signal.h>

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

bool vrb_restartable(void)
{
	int keep = errno;
	bool all = true;

	for (int sig = 1; sig < NSIG && all; sig++)
		all = restarts(sig);
	errno = keep;
	return all;
}

int vrb_wait(struct eng_dev *dev, int fd)
{
	int flags = fcntl(fd, F_GETFL), rc;

	if (flags < 0)
		return -errno;
	if (flags & O_NONBLOCK) {
		/* Whoever polls the descriptor himself expects the adapter to
		 * run by itself; one look costs little and may save a round. */
		eng_dev_poll(dev);
		return -EAGAIN;
	}
	rc = dev->ops->wait(dev, fd);
	if (rc == -EINTR && vrb_restartable())
		return 0;
	return rc;
}

void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered)
{
	pthread_mutex_lock(m);
	while (*acked != *delivered)
		pthread_cond_wait(c, m);
	pthread_mutex_unlock(m);
}

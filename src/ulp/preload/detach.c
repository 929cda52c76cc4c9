/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/preload/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void leave_descriptors(int keep_fd)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (keep_fd > 3)
		close_range(3, (unsigned)keep_fd - 1, 0);
	close_range((unsigned)keep_fd + 1, ~0u, 0);
	fcntl(keep_fd, F_SETFD, FD_CLOEXEC);
}

static void leave_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int rsp_detach(int keep_fd)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid)
		_exit(0);
	leave_descriptors(keep_fd);
	leave_signals();
	setsid();
	return chdir("/") ? -errno : 0;
}

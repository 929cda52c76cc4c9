/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dapple-rsockets, the carrier: the process that holds the rsockets of programs under
 * `dapple run --rsockets`. libdapple-rsockets.so starts it with the listener for its requests as
 * descriptor 3. It detaches itself, takes requests of its own user alone, and exits when it has carried
 * nothing for a while.
 */
#include "ulp/preload/relay.h"
#include "ulp/preload/request.h"
#include "ulp/preload/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define IDLE_MS 2000

static atomic_uint busy;

static bool of_our_user(int sock)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &len) && c.uid == geteuid();
}

static void *serve(void *arg)
{
	int sock = (int)(intptr_t)arg, fds[2];
	struct rsp_request q;

	if (of_our_user(sock) && !rsp_request_recv(sock, &q, fds))
		rsp_serve(sock, &q, fds);
	else
		close(sock);
	atomic_fetch_sub(&busy, 1);
	return NULL;
}

static void take(int listener)
{
	int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (sock < 0)
		return;
	atomic_fetch_add(&busy, 1);
	if (!rsp_thread(serve, (void *)(intptr_t)sock))
		return;
	atomic_fetch_sub(&busy, 1);
	close(sock);
}

/* The program's descriptors, terminal, signals and directory are its own affair. */
static void detach(void)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close_range(RSP_LISTEN_FD + 1, ~0u, 0);
	fcntl(RSP_LISTEN_FD, F_SETFD, FD_CLOEXEC);
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (chdir("/"))
		exit(1);
}

int main(void)
{
	struct pollfd p = { RSP_LISTEN_FD, POLLIN, 0 };
	pid_t pid = fork();

	if (pid)
		_exit(pid < 0);
	detach();
	for (;;) {
		if (poll(&p, 1, IDLE_MS) > 0)
			take(RSP_LISTEN_FD);
		else if (!atomic_load(&busy) && !rsp_serve_accepted())
			return 0;
	}
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The carrier is started at the first need and reached by the abstract name of its listener, which
 * children inherit as memory; no descriptor stays open, since daemons close those they do not know.
 * A carrier that has ended, or one of another user, is replaced by a new one.
 *
 * The new process is a clone without an exit signal: the program's SIGCHLD handler and wait() do not
 * meet it. It shares the program's memory until exec, so it makes system calls alone.
 */
#include "ulp/preload/summon.h"
#include "ulp/preload/real.h"
#include "ulp/preload/request.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sockaddr_un carrier;
static socklen_t carrier_len;

struct start {
	char path[PATH_MAX];
	char *argv[2];
	char **envp;
	int fd;
};

static int exec_carrier(void *arg)
{
	struct start *st = arg;

	/* dup2() of a descriptor to itself would keep close-on-exec. */
	if (st->fd == RSP_LISTEN_FD ? fcntl(st->fd, F_SETFD, 0) : dup2(st->fd, RSP_LISTEN_FD) < 0)
		_exit(1);
	execve(st->path, st->argv, st->envp);
	_exit(1);
}

/* The environment of the carrier: this library stays out of its way. Returns NULL without memory. */
static char **carrier_env(void)
{
	size_t nr = 0, to = 0;
	char **envp;

	while (environ && environ[nr])
		nr++;
	envp = calloc(nr + 2, sizeof(*envp));
	if (!envp)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11))
			envp[to++] = environ[i];
	return envp;
}

static bool beside_us(char *path, size_t size)
{
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)rsp_summon, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return slash && snprintf(path, size, "%.*s/dapple-rsockets", (int)(slash - info.dli_fname),
				 info.dli_fname) < (int)size;
}

static int spawn(int fd)
{
	struct start st = { .fd = fd };
	char stack[32768] __attribute__((aligned(16)));
	int status = 0;
	pid_t pid;

	if (!beside_us(st.path, sizeof(st.path)))
		return -ENOENT;
	st.argv[0] = st.path;
	st.envp = carrier_env();
	if (!st.envp)
		return -ENOMEM;
	pid = clone(exec_carrier, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, &st);
	free(st.envp);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
		;
	return status ? -ECHILD : 0;
}

/* The program listens on behalf of the carrier, so that a request waits until it has started. */
static int start(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	carrier.sun_family = AF_UNIX;
	carrier_len = sizeof(carrier);
	r = bind(fd, (struct sockaddr *)&carrier, sizeof(sa_family_t)) || rsp_real()->listen(fd, 128) ||
	    rsp_real()->getsockname(fd, (struct sockaddr *)&carrier, &carrier_len) ? -errno : 0;
	if (!r)
		r = spawn(fd);
	close(fd);
	if (r)
		carrier_len = 0;
	return r;
}

static int reach(void)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), r = 0;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0)
		return -errno;
	if (!carrier_len || rsp_real()->connect(fd, (struct sockaddr *)&carrier, carrier_len))
		r = carrier_len ? -errno : -ECONNREFUSED;
	else if (rsp_real()->getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.uid != geteuid())
		r = -EPERM;
	if (!r)
		return fd;
	close(fd);
	return r;
}

int rsp_summon(void)
{
	sigset_t all, old;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&lock);
	r = reach();
	if (r < 0 && !start())
		r = reach();
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return r;
}

bool rsp_was_summoned(void)
{
	return carrier_len != 0;
}

/* A thread of the parent may have held the lock during fork(). */
static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor))
static void at_load(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

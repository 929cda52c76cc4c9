/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The new process is a clone without an exit signal: the program's SIGCHLD handler and wait() do not
 * meet it. It shares the program's memory until exec, so it makes system calls alone.
 */
#include "ulp/preload/spawn.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTEN_FD 3

extern char **environ;

struct start {
	char path[PATH_MAX];
	char *argv[2];
	char **envp;
	int fd;
	int error;              /* there is no program yet, and why */
};

static int exec_carrier(void *arg)
{
	struct start *st = arg;

	/* dup2() of a descriptor to itself would keep close-on-exec. */
	if ((st->fd == LISTEN_FD ? fcntl(st->fd, F_SETFD, 0) : dup2(st->fd, LISTEN_FD)) >= 0)
		execve(st->path, st->argv, st->envp);
	st->error = errno;
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

static bool beside_us(const char *name, char *path, size_t size)
{
	Dl_info info;
	const char *slash;

	if (!dladdr((void *)rsp_spawn, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return slash && snprintf(path, size, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname,
				 name) < (int)size;
}

int rsp_spawn(const char *name, int fd)
{
	struct start st = { .fd = fd };
	char stack[32768] __attribute__((aligned(16)));
	int status = 0;
	pid_t pid;

	if (!beside_us(name, st.path, sizeof(st.path)))
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
	return st.error ? -st.error : status ? -ECHILD : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/socket.h"

#include "util/fault_calls.h"
#include "util/rundir.h"
#include "util/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define FLAGS (SOCK_NONBLOCK | SOCK_CLOEXEC)

/* The name of a socket in an open directory: short, however long the path of the directory is. */
static int address(struct sockaddr_un *sun, int dir, const char *name)
{
	*sun = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return (size_t)snprintf(sun->sun_path, sizeof(sun->sun_path), "/proc/self/fd/%d/%s", dir, name) <
	       sizeof(sun->sun_path) ? 0 : -ENAMETOOLONG;
}

static int open_dir(const char *path)
{
	int keep = errno, fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), r = fd < 0 ? -errno : fd;

	errno = keep;
	return r;
}

static bool is_same_user(int fd)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return !UT_SYS(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &c, &len) && c.uid == geteuid();
}

static int bind_and_listen(int fd, int dir, const char *name)
{
	struct sockaddr_un sun;
	int r = address(&sun, dir, name);

	if (r < 0)
		return r;
	UT_SYS(SYS_unlinkat, dir, name, 0);
	if (ut_bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
		return -errno;
	return (int)UT_SYS(SYS_listen, fd, SOMAXCONN);
}

int fsk_listen(const char *path, const char *name)
{
	int dir = open_dir(path), fd, r;

	if (dir < 0)
		return dir;
	fd = ut_socket(AF_UNIX, SOCK_SEQPACKET | FLAGS, 0);
	r = fd < 0 ? -errno : bind_and_listen(fd, dir, name);
	ut_close(dir);
	if (r < 0)
		ut_close(fd);
	return r < 0 ? r : fd;
}

int fsk_accept(int listener)
{
	long fd = ut_fault_errno(EMFILE) ? -EMFILE : UT_SYS(SYS_accept4, listener, NULL, NULL, FLAGS);

	if (fd < 0)
		return fd == -ECONNABORTED ? -EAGAIN : (int)fd;
	if (is_same_user((int)fd))
		return (int)fd;
	ut_close((int)fd);
	return -EACCES;
}

int fsk_connect_at(int fd, int dir, const char *name)
{
	struct sockaddr_un sun;
	int r = address(&sun, dir, name);

	if (r == 0)
		r = (int)UT_SYS(SYS_connect, fd, &sun, sizeof(sun));
	return r == 0 && !is_same_user(fd) ? -EACCES : r;
}

int fsk_connect(const char *fabric, const char *name)
{
	char run[UT_RUNDIR_MAX], path[UT_RUNDIR_MAX + 80];
	int r = ut_rundir(run, sizeof(run), NULL, 0), dir, fd;

	if (r < 0)
		return r;
	if ((size_t)snprintf(path, sizeof(path), "%s/fabric/%s", run, fabric) >= sizeof(path))
		return -ENAMETOOLONG;
	dir = open_dir(path);
	if (dir < 0)
		return dir;
	fd = ut_socket(AF_UNIX, SOCK_SEQPACKET | FLAGS, 0);
	r = fd < 0 ? -errno : fsk_connect_at(fd, dir, name);
	ut_close(dir);
	if (r < 0)
		ut_close(fd);
	return r < 0 ? r : fd;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The runtime directory may be longer than the name of a socket: it is named by a descriptor then. */
#include "observe/place.h"

#include "util/rundir.h"
#include "util/syscall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define BACKLOG 64

bool obs_place_permitted(void)
{
	return !getauxval(AT_SECURE);
}

int obs_place(char *ret, size_t size)
{
	char dir[UT_RUNDIR_MAX];
	struct stat st;
	int r = ut_rundir(dir, sizeof(dir), NULL, 0);

	if (r < 0)
		return r;
	if ((size_t)snprintf(ret, size, "%s/observe", dir) >= size)
		return -ENAMETOOLONG;
	if (mkdir(ret, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(ret, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

/* Returns the descriptor of the folder, to be closed after the use of *ret, or -errno. */
static int address(const char *path, struct sockaddr_un *ret)
{
	const char *name = strrchr(path, '/');
	char dir[OBS_PATH];
	int fd;

	if (!name || (size_t)(name - path) >= sizeof(dir))
		return -EINVAL;
	snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path);
	fd = (int)UT_SYS(SYS_openat, AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW, 0);
	if (fd < 0)
		return fd;
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if ((size_t)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d%s", fd, name) <
	    sizeof(ret->sun_path))
		return fd;
	ut_close(fd);
	return -ENAMETOOLONG;
}

int obs_place_listen(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), dir, r;
	struct sockaddr_un a;

	if (fd < 0)
		return -errno;
	dir = address(path, &a);
	r = dir < 0 ? dir : 0;
	if (r == 0) {
		unlink(path); /* of a process of this number that has died */
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || chmod(path, 0600) < 0 || listen(fd, BACKLOG) < 0)
			r = -errno;
		ut_close(dir);
	}
	if (r == 0)
		return fd;
	ut_close(fd);
	return r;
}

int obs_place_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), dir, r;
	struct sockaddr_un a;

	if (fd < 0)
		return -errno;
	dir = address(path, &a);
	r = dir < 0 ? dir : 0;
	if (r == 0) {
		r = (int)UT_SYS(SYS_connect, fd, (struct sockaddr *)&a, sizeof(a));
		if (r == -ECONNREFUSED)
			unlink(path);
		ut_close(dir);
	}
	if (r == 0 && !obs_place_is_ours(fd))
		r = -EPERM;
	if (r == 0)
		return fd;
	ut_close(fd);
	return r;
}

bool obs_place_is_ours(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.uid == geteuid();
}

void obs_place_each(const char *prefix, void (*each)(const char *path, void *arg), void *arg)
{
	char place[OBS_PATH], path[OBS_PATH + 260];
	struct dirent *d;
	DIR *dir;

	if (obs_place(place, sizeof(place)) < 0)
		return;
	dir = opendir(place);
	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", place, d->d_name);
		each(path, arg);
	}
	if (dir)
		closedir(dir);
}

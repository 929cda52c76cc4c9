/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link does not tell which descriptors it has, but the kernel does: its
 * descriptor is an epoll set, and /proc/self/fdinfo lists the members. Sockets
 * that stay open in a child would keep their place in the port's group after
 * the parent's death, and swallow packets there.
 *
 * A member whose descriptor was closed stays in the set while another process has a copy of it, such as an earlier child that is about to
 * execute a program; meanwhile its number may have become one of the program's. So each member is compared with what has its number now.
 */
#include "device/fork.h"

#include "device/sys.h"
#include "util/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A member of the set; of those with one number the n-th. */
struct member {
	int fd;
	unsigned nth;
	unsigned long inode;
};

/* Whether the descriptor with the member's number is the member. Without kcmp() those that have no inode of their own are not told apart. */
static bool is_member(int ep, const struct member *m)
{
	const struct kcmp_epoll_slot slot = { .efd = (uint32_t)ep, .tfd = (uint32_t)m->fd, .toff = m->nth };
	long pid = getpid(), r = DEV_SYS(SYS_kcmp, pid, pid, KCMP_EPOLL_TFD, m->fd, &slot);
	struct stat st;

	if (r != -ENOSYS && r != -EPERM && r != -EOPNOTSUPP)
		return r == 0;
	return !fstat(m->fd, &st) && st.st_ino == m->inode;
}

/* Those with one number follow each other. */
static bool read_member(const char *line, struct member *m)
{
	const char *inode = strstr(line, "ino:");
	int fd;

	if (sscanf(line, "tfd: %d", &fd) != 1)
		return false;
	*m = (struct member){ fd, fd == m->fd ? m->nth + 1 : 0, inode ? strtoul(inode + 4, NULL, 16) : 0 };
	return true;
}

static void close_members(int ep)
{
	static char buf[64 * 1024]; /* the child has one thread, and maybe a small stack */
	char path[64], *line, *save;
	size_t have = 0;
	struct member m = { .fd = -1 };
	int fd;
	long n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", ep);
	fd = (int)DEV_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	while (have < sizeof(buf) - 1 &&
	       (n = dev_sys_read(fd, buf + have, sizeof(buf) - 1 - have)) > 0)
		have += (size_t)n;
	ut_close(fd);
	buf[have] = 0;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (read_member(line, &m) && is_member(ep, &m))
			ut_close(m.fd);
}

void dev_fork_close(int fd, const struct ut_stage *stage)
{
	if (fd >= 0) {
		close_members(fd);
		ut_close(fd);
	}
	/* Its pages were not inherited (MADV_DONTFORK), its descriptor was. */
	if (stage)
		ut_close(stage->fd);
}

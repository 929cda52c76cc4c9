/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link does not tell which descriptors it has, but the kernel does: its
 * descriptor is an epoll set, and /proc/self/fdinfo lists the members. Sockets
 * that stay open in a child would keep their place in the port's group after
 * the parent's death, and swallow packets there.
 */
#include "device/fork.h"

#include "device/sys.h"
#include "util/stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void close_members(int ep)
{
	static char buf[64 * 1024]; /* the child has one thread, and maybe a small stack */
	char path[64], *line, *save;
	size_t have = 0;
	int fd, member;
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
		if (sscanf(line, "tfd: %d", &member) == 1)
			ut_close(member);
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

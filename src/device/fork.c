/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link does not tell which descriptors it has, but the kernel does: its
 * descriptor is an epoll set, and /proc/self/fdinfo lists the members. Sockets
 * that stay open in a child would keep their place in the port's group after
 * the parent's death, and swallow packets there.
 */
#include "device/fork.h"

#include "device/adapter.h"
#include "device/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Closes the members of an epoll set, and of sets in it. */
static void close_members(int ep, int depth)
{
	char path[64], buf[4096], *line, *save;
	long n, have = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", ep);
	fd = (int)DEV_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	while (have < (long)sizeof(buf) - 1 &&
	       (n = dev_sys_read(fd, buf + have, sizeof(buf) - 1 - (size_t)have)) > 0)
		have += n;
	dev_sys_close(fd);
	buf[have] = 0;
	for (line = strtok_r(buf, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int member;

		if (sscanf(line, "tfd: %d", &member) != 1)
			continue;
		if (depth > 0)
			close_members(member, depth - 1);
		dev_sys_close(member);
	}
}

void dev_fork_close_link(struct dev_adapter *a)
{
	int fd = a->link->ops->fd(a->link);

	if (fd >= 0) {
		close_members(fd, 2);
		dev_sys_close(fd);
	}
	/* Its pages were not inherited (MADV_DONTFORK), its descriptor was. */
	if (a->link->rx_stage)
		dev_sys_close(a->link->rx_stage->fd);
}

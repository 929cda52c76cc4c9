/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/rights.h"

#include "link/sys.h"

#include <string.h>
#include <sys/socket.h>

static void take(const struct cmsghdr *c, int *to, unsigned n)
{
	size_t have = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < have; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (i < n && to[i] < 0)
			to[i] = fd;
		else
			link_sys_close(&fd);
	}
}

void link_rights_take(struct msghdr *m, int *to, unsigned n)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take(c, to, n);
}

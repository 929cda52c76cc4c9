/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors in the control data of a message on a unix socket (SCM_RIGHTS, unix(7)). Inline, since libraries in programs
 * and carriers have them without the rest of util.
 */
#ifndef UTIL_RIGHTS_H
#define UTIL_RIGHTS_H

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns false for a file, a pipe, a socket or a device. What remains, an eventfd or a relative of it, answers a write of 8
 * bytes with a count or an error: no process is ended by SIGPIPE, and no data of another's is changed. */
static inline bool ut_rights_may_wake(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && !(st.st_mode & S_IFMT);
}

/* Puts n descriptors into the control data of a message to be sent, which has room for just these: CMSG_SPACE(n * sizeof(int)) zeros. */
static inline void ut_rights_put(struct msghdr *m, const int *fds, unsigned n)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
}

static inline void ut_rights_take_one(const struct cmsghdr *c, int *to, unsigned n)
{
	size_t have = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < have; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (i < n && to[i] < 0)
			to[i] = fd;
		else
			syscall(SYS_close, fd); /* close() may be a preload's */
	}
}

/* Takes those of a message that has come: the i-th goes to to[i] if that is -1; all others are closed, since any process may send any number. */
static inline void ut_rights_take(struct msghdr *m, int *to, unsigned n)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			ut_rights_take_one(c, to, n);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls without the C library's functions: those of this name in a program may be librds-preload's.
 */
#include "ulp/rds/record.h"

#include "util/rights.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

int rds_pass(int sock, struct iovec *iov, int nr, int fd, int flags)
{
	union control c = { .room = { 0 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)nr };

	if (fd >= 0) {
		m.msg_control = c.room;
		m.msg_controllen = sizeof(c.room);
		ut_rights_put(&m, &fd, 1);
	}
	return syscall(SYS_sendmsg, sock, &m, flags | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t rds_take(int sock, struct iovec *iov, int nr, int *ret_fd, int flags, int *ret_flags)
{
	union control c;
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = (size_t)nr, .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	ssize_t n = syscall(SYS_recvmsg, sock, &m, flags | MSG_CMSG_CLOEXEC);
	int err = errno;

	*ret_fd = -1;
	if (n < 0)
		return -err;
	ut_rights_take(&m, ret_fd, 1);
	*ret_flags = m.msg_flags;
	return n;
}

bool rds_may_retry(ssize_t error)
{
	return error == -EAGAIN || error == -EINTR || error == -ENOMEM || error == -ENOBUFS || error == -ETOOMANYREFS;
}

void rds_skip(int sock)
{
	char none;

	while (syscall(SYS_recvfrom, sock, &none, sizeof(none), MSG_DONTWAIT, NULL, NULL) < 0 && errno == EINTR)
		;
}

int rds_memfd(const struct iovec *iov, int nr)
{
	int fd = memfd_create("rds", MFD_CLOEXEC), r = 0;

	if (fd < 0)
		return -errno;
	for (int i = 0; i < nr && !r; i++) {
		const char *at = iov[i].iov_base;
		size_t left = iov[i].iov_len;
		ssize_t n;

		while (left && !r) {
			n = syscall(SYS_write, fd, at, left);
			if (n < 0 && errno == EINTR)
				continue;
			r = n < 0 ? -errno : !n ? -EIO : 0;
			at += n > 0 ? n : 0;
			left -= n > 0 ? (size_t)n : 0;
		}
	}
	if (!r)
		return fd;
	close(fd);
	return r;
}

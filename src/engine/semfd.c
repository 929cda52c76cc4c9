/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/semfd.h"

#include "util/alloc.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int eng_semfd_open(void)
{
	int fd;

	if (ut_fault())
		return -EMFILE;
	fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void eng_semfd_up(int fd)
{
	uint64_t one = 1;
	int keep = errno;

	syscall(SYS_write, fd, &one, sizeof(one));
	errno = keep;
}

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec none = { 0 };

	return syscall(SYS_ppoll, &p, 1, &none, NULL, (size_t)0) == 1;
}

void eng_semfd_down(int fd)
{
	uint64_t count;
	struct iovec iov = { &count, sizeof(count) };
	int keep = errno;

	/* Offset -1: the file has no position. Old kernels refuse RWF_NOWAIT on an eventfd; there it is
	 * polled first. */
	if (syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT) < 0 && errno != EAGAIN &&
	    readable(fd))
		syscall(SYS_read, fd, &count, sizeof(count));
	errno = keep;
}

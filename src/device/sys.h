/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls that libc makes cancellation points, without being one: the
 * callers hold locks. Negative errno instead of errno, which is kept. Fault points.
 */
#ifndef DEVICE_SYS_H
#define DEVICE_SYS_H

#include "util/fault_calls.h"
#include "util/sys.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEV_SYS(nr, ...)                                       \
	({                                                     \
		int keep_ = errno;                             \
		long r_ = ut_fault_errno(ENOMEM) ? -1 : syscall(nr, __VA_ARGS__); \
		r_ = r_ < 0 ? -errno : r_;                     \
		errno = keep_;                                 \
		r_;                                            \
	})

static inline long dev_sys_read(int fd, void *buf, size_t n)
{
	return DEV_SYS(SYS_read, fd, buf, n);
}

static inline long dev_sys_write(int fd, const void *buf, size_t n)
{
	return DEV_SYS(SYS_write, fd, buf, n);
}

#endif

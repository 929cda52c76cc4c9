/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls that are no cancellation points and leave errno alone: hosts and links
 * are driven with the progress lock held, in threads of the application. All
 * give negative errno; interrupted calls are repeated. Each is a fault point.
 */
#ifndef UTIL_SYSCALL_H
#define UTIL_SYSCALL_H

#include "util/fault_calls.h"
#include "util/sys.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UT_SYS(nr, ...)                                        \
	({                                                       \
		int keep_ = errno;                               \
		long r_;                                         \
		do                                               \
			r_ = ut_fault_errno(ENOMEM) ? -1 : syscall((nr), __VA_ARGS__); \
		while (r_ < 0 && errno == EINTR);                \
		if (r_ < 0)                                      \
			r_ = -errno;                             \
		errno = keep_;                                   \
		r_;                                              \
	})

/* Closes *fd if it is open. */
static inline void ut_close_fd(int *fd)
{
	ut_close(*fd);
	*fd = -1;
}

#endif

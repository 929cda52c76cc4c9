/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* close() that is no cancellation point, because callers hold locks. errno is kept. */
#ifndef UTIL_SYS_H
#define UTIL_SYS_H

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not repeated after EINTR: Linux has closed the descriptor. Does nothing for fd < 0. */
static inline void ut_close(int fd)
{
	int keep = errno;

	if (fd < 0)
		return;
#ifdef __SANITIZE_THREAD__
	/* ThreadSanitizer follows descriptors through libc's calls only, and would take the next
	 * descriptor of this number for the closed one. */
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	close(fd);
	pthread_setcancelstate(old, NULL);
#else
	syscall(SYS_close, fd);
#endif
	errno = keep;
}

#endif

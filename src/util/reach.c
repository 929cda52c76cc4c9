/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/reach.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* since 5.14; older kernels say EINVAL */
#endif

bool ut_reach_read(const struct iovec *iov, int n)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
	int keep = errno, r = 0;

	for (int i = 0; i < n && r == 0; i++) {
		uintptr_t start = (uintptr_t)iov[i].iov_base & ~mask;
		uintptr_t end = ((uintptr_t)iov[i].iov_base + iov[i].iov_len + mask) & ~mask;

		r = madvise((void *)start, end - start, MADV_POPULATE_READ);
	}
	errno = keep;
	return r == 0;
}

static size_t bytes_of(const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

/* Read from the one side and not written to the other: the checker valgrind follows that. */
int ut_reach_put(const struct iovec *from, int n_from, const struct iovec *to, int n_to)
{
	int keep = errno, r = 0;
	/* The process is asked for each time: a child must not read its parent. */
	long did = syscall(SYS_process_vm_readv, (long)getpid(), to, (long)n_to, from, (long)n_from,
			   0l);

	if (did < 0)
		r = -errno;
	else if ((size_t)did != bytes_of(to, n_to))
		r = -EFAULT;
	errno = keep;
	return r;
}

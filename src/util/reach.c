/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/reach.h"

#include "util/pages.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ /* Linux 5.14; older ones say EINVAL */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

bool ut_reach(const void *p, size_t len, enum ut_reach_how how)
{
	uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, at = (uintptr_t)p;
	int keep = errno, r;

	r = ut_advise((void *)(at & ~mask), len + (at & mask),
		    how == UT_REACH_READ ? MADV_POPULATE_READ : MADV_POPULATE_WRITE);
	errno = keep;
	return r == 0;
}

int ut_reach_word(void *at)
{
	static uint32_t unwatched; /* no thread sleeps here */
	int keep = errno, r = 0;

	if (syscall(SYS_futex, &unwatched, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0l, 0l, at,
		    (long)FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) < 0)
		r = -errno;
	errno = keep;
	return r;
}

/* A read of the library's memory and not a write to the application's: valgrind follows only that. */
int ut_reach_put(const struct iovec *from, int n_from, const struct iovec *to, int n_to)
{
	int keep = errno, r = 0;
	/* The process ID is asked for each time: a forked child must not read its parent. */
	long did = syscall(SYS_process_vm_readv, (long)getpid(), to, (long)n_to, from, (long)n_from,
			   0l);

	if (did < 0)
		r = -errno;
	else if ((size_t)did != ut_iov_bytes(to, n_to))
		r = -EFAULT;
	errno = keep;
	return r;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/reach.h"

#include "util/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/ioctl.h>
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

/* struct procmap_query and PROCMAP_QUERY, Linux 6.11 */
struct map_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)
#define MAP_READABLE 1u /* PROCMAP_QUERY_VMA_READABLE, _WRITABLE, _SHARED */
#define MAP_WRITABLE 2u
#define MAP_SHARED_FLAG 8u

/* The file is opened each time: a descriptor that is kept shows a forked child its parent's memory. */
static bool query(struct map_query *q)
{
	long fd = syscall(SYS_openat, (long)AT_FDCWD, "/proc/self/maps", (long)(O_RDONLY | O_CLOEXEC), 0l), r;

	if (fd < 0)
		return false;
	r = syscall(SYS_ioctl, fd, (long)MAP_QUERY, q);
	syscall(SYS_close, fd);
	return r >= 0;
}

bool ut_reach_mapping(const void *p, uintptr_t *ret_at, uintptr_t *ret_end)
{
	struct map_query q = { .size = sizeof(q), .query_addr = (uintptr_t)p };
	int keep = errno;
	bool known = query(&q);

	errno = keep;
	*ret_at = (uintptr_t)q.vma_start;
	*ret_end = (uintptr_t)q.vma_end;
	return known && !q.inode && !q.dev_major && !q.dev_minor && q.vma_page_size == (uint64_t)sysconf(_SC_PAGESIZE) &&
	       (q.vma_flags & (MAP_READABLE | MAP_WRITABLE | MAP_SHARED_FLAG)) == (MAP_READABLE | MAP_WRITABLE);
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

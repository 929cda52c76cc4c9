/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Mappings of the engine's own memory, by raw system calls: memory caches and allocators (UCX's, Open MPI's)
 * replace mmap(), munmap() and madvise() of libc in the whole process and call registered functions from
 * them, which may call verbs, while callers here hold the progress lock. As in libc, errno says why a call
 * failed.
 */
#ifndef UTIL_PAGES_H
#define UTIL_PAGES_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
/* Sanitizers follow mappings through libc's calls only. */
#define UT_PAGES_BY_LIBC 1
#else
#define UT_PAGES_BY_LIBC 0
#endif

/* mmap(2). Returns MAP_FAILED on failure. */
static inline void *ut_map(void *at, size_t len, int prot, int flags, int fd, size_t offset)
{
	return UT_PAGES_BY_LIBC ? mmap(at, len, prot, flags, fd, (off_t)offset)
				: (void *)syscall(SYS_mmap, at, len, (long)prot, (long)flags, (long)fd, offset);
}

/* munmap(2) */
static inline int ut_unmap(void *at, size_t len)
{
	return UT_PAGES_BY_LIBC ? munmap(at, len) : (int)syscall(SYS_munmap, at, len);
}

/* madvise(2) */
static inline int ut_advise(void *at, size_t len, int advice)
{
	return UT_PAGES_BY_LIBC ? madvise(at, len, advice) : (int)syscall(SYS_madvise, at, len, (long)advice);
}

/* mremap(2): moves a mapping onto another one of the same length. Returns MAP_FAILED on failure. */
static inline void *ut_move_map(void *from, void *to, size_t len)
{
	int how = MREMAP_MAYMOVE | MREMAP_FIXED;

	return UT_PAGES_BY_LIBC ? mremap(from, len, len, how, to)
				: (void *)syscall(SYS_mremap, from, len, len, (long)how, to);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The limit of file sizes (RLIMIT_FSIZE, ulimit -f), which counts for files in memory as well. The kernel ends a
 * process that writes beyond it by SIGXFSZ, so every file of ours asks here first.
 */
#ifndef UTIL_FILESIZE_H
#define UTIL_FILESIZE_H

#include "util/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if a file may reach this size, in bytes. */
static inline bool ut_file_fits(uint64_t size)
{
	struct rlimit l;

	return getrlimit(RLIMIT_FSIZE, &l) < 0 || l.rlim_cur == RLIM_INFINITY || size <= l.rlim_cur;
}

/* Returns true if len bytes more fit into this file at its end; true for what is no regular file. */
static inline bool ut_file_may_append(int fd, size_t len)
{
	struct stat st;

	return fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || ut_file_fits((uint64_t)st.st_size + len);
}

/*
 * Makes a sealable memfd of this size, CLOEXEC. Returns the descriptor; -EFBIG if the limit forbids the size, or
 * another negative errno. errno is the same error then.
 */
static inline int ut_memfd(const char *name, size_t size)
{
	int fd, r;

	if (!ut_file_fits(size)) {
		errno = EFBIG;
		return -EFBIG;
	}
	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) == 0)
		return fd;
	r = -errno;
	ut_close(fd);
	errno = -r;
	return r;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/segment.h"

#include "util/filesize.h"
#include "util/pages.h"
#include "util/syscall.h"
#include "host/shm/area.h"

#include <errno.h>
#include <sys/mman.h>

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

int shm_seg_make(const char *name, size_t size, void **ret)
{
	void *p;
	int fd, r;

	size = whole_pages(size);
	fd = ut_fault_errno(EMFILE) ? -EMFILE : ut_memfd(name, size);
	if (fd < 0)
		return fd;
	p = shm_map_shared(fd, size, PROT_READ | PROT_WRITE);
	if (p && fcntl(fd, F_ADD_SEALS, SHM_SEALS) == 0) {
		*ret = p;
		return fd;
	}
	r = -errno;
	if (p)
		ut_unmap(p, size);
	ut_close_fd(&fd);
	return r;
}

const void *shm_seg_map(int fd, size_t least, size_t most, size_t *ret_size)
{
	off_t size = shm_seg_size(fd);
	void *p;

	if (size < (off_t)least || size > (off_t)most)
		return NULL;
	p = shm_map_shared(fd, (size_t)size, PROT_READ);
	if (!p)
		return NULL;
	*ret_size = (size_t)size;
	return p;
}

const void *shm_seg_map_whole(int fd, size_t size)
{
	return shm_seg_map(fd, whole_pages(size), whole_pages(size), &size);
}

void shm_seg_unmap(const void *base, size_t size)
{
	if (base)
		ut_unmap((void *)base, whole_pages(size));
}

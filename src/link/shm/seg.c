/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/shm/seg.h"

#include "link/sys.h"
#include "util/area.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SEALS_ALL (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

int shm_seg_make(const char *name, size_t size, void **ret)
{
	int fd = ut_refused(EMFILE) ? -1 : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *p = NULL;
	int r;

	if (fd < 0)
		return -errno;
	size = whole_pages(size);
	if (ftruncate(fd, (off_t)size) == 0)
		p = ut_map_shared(fd, size, PROT_READ | PROT_WRITE);
	if (p && fcntl(fd, F_ADD_SEALS, SEALS_ALL) == 0) {
		*ret = p;
		return fd;
	}
	r = -errno;
	if (p)
		munmap(p, size);
	link_sys_close(&fd);
	return r;
}

const void *shm_seg_map(int fd, size_t least, size_t most, size_t *ret_size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || (seals & SEALS_ALL) != SEALS_ALL || fstat(fd, &st) < 0 ||
	    st.st_size < (off_t)least || st.st_size > (off_t)most)
		return NULL;
	p = ut_map_shared(fd, (size_t)st.st_size, PROT_READ);
	if (!p)
		return NULL;
	*ret_size = (size_t)st.st_size;
	return p;
}

void shm_seg_unmap(const void *base, size_t size)
{
	if (base)
		munmap((void *)base, whole_pages(size));
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "host/shm/segment.h"

#include "util/pages.h"
#include "util/syscall.h"
#include "host/shm/area.h"

#include <errno.h>
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
		p = shm_map_shared(fd, size, PROT_READ | PROT_WRITE);
	if (p && fcntl(fd, F_ADD_SEALS, SEALS_ALL) == 0) {
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
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || (seals & SEALS_ALL) != SEALS_ALL || fstat(fd, &st) < 0 ||
	    st.st_size < (off_t)least || st.st_size > (off_t)most)
		return NULL;
	p = shm_map_shared(fd, (size_t)st.st_size, PROT_READ);
	if (!p)
		return NULL;
	*ret_size = (size_t)st.st_size;
	return p;
}

/* --- with a ring --- */

/* The whole of it, and what lies behind `head` once more in the place behind its end. */
static void *map_ring(int fd, size_t head, size_t ring, int prot)
{
	uint8_t *p = ut_map(NULL, head + 2 * ring, prot, MAP_SHARED, fd, 0);
	int keep;

	if (p == MAP_FAILED)
		return NULL;
	if (ut_map(p + head + ring, ring, prot, MAP_SHARED | MAP_FIXED, fd, head) != MAP_FAILED &&
	    ut_advise(p, head + 2 * ring, MADV_DONTFORK) == 0)
		return p;
	keep = errno;
	ut_unmap(p, head + 2 * ring);
	errno = keep;
	return NULL;
}

size_t shm_ring_head(void)
{
	return whole_pages(1);
}

int shm_ring_make(const char *name, size_t ring, void **ret)
{
	size_t head = shm_ring_head();
	int fd = ut_refused(EMFILE) ? -1 : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), r;
	void *p = NULL;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)(head + ring)) == 0)
		p = map_ring(fd, head, ring, PROT_READ | PROT_WRITE);
	if (p && fcntl(fd, F_ADD_SEALS, SEALS_ALL) == 0) {
		*ret = p;
		return fd;
	}
	r = -errno;
	shm_ring_unmap(p, ring);
	ut_close_fd(&fd);
	return r;
}

const void *shm_ring_map(int fd, size_t ring)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS_ALL) != SEALS_ALL || fstat(fd, &st) < 0 ||
	    st.st_size != (off_t)(shm_ring_head() + ring))
		return NULL;
	return map_ring(fd, shm_ring_head(), ring, PROT_READ);
}

void shm_ring_unmap(const void *base, size_t ring)
{
	if (base)
		ut_unmap((void *)base, shm_ring_head() + 2 * ring);
}

void shm_seg_unmap(const void *base, size_t size)
{
	if (base)
		ut_unmap((void *)base, whole_pages(size));
}

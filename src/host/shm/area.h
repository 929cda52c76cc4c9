/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of this process that others of its host may map: each area is a sealed memfd, mapped here.
 * Either it was asked for (shm_area_make), or pages of the application's were exchanged for it
 * (shm_area_exchange): the same bytes at the same place, until the last who wanted that is done.
 *
 * What an exchange changes is why it is an option. Bytes that another thread writes in that moment
 * are lost; MADV_DONTNEED on such pages gives their bytes back and not zeros, which allocators do not
 * expect of memory they took back; a child of fork() does not have them, as with registered memory
 * of an adapter in hardware. So only whole pages are exchanged, of private anonymous mappings that
 * are neither heap, stack nor data of a program, and not fewer than SHM_AREA_LEAST bytes.
 */
#ifndef HOST_SHM_AREA_H
#define HOST_SHM_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_AREA_LEAST 65536u

struct shm_area;

/* What others need to know of one. */
struct shm_area_view {
	uint32_t id; /* not 0; never again another one's in this process */
	uint64_t addr, length;
};

/* length > 0, rounded up to pages; zeroed. 0 or -ENOMEM, -EMFILE, -EINVAL. */
int shm_area_make(size_t length, void **ret);
/* -EINVAL: it is not the start of one that was made. Who still has it mapped keeps those pages. */
int shm_area_free(void *addr);

/* The whole pages of [addr, addr + length) become an area, or are one already. NULL: they cannot. */
struct shm_area *shm_area_exchange(uint64_t addr, uint64_t length);
/* The last one restores private pages with the bytes as they are. NULL is nothing. */
void shm_area_restore(struct shm_area *a);

/* The first area that has bytes of [addr, addr + length). */
bool shm_area_find(uint64_t addr, uint64_t length, struct shm_area_view *ret);
/* A descriptor of it, to be closed; -1 if it has gone. */
int shm_area_fd(uint32_t id);

/* A file mapped for all who have it, and not for children of fork(); NULL with errno. */
void *shm_map_shared(int fd, size_t length, int prot);

/*
 * Somebody else's: mapped, *ret_length bytes; NULL unless it is a memfd that cannot shrink. The
 * descriptor stays the caller's.
 */
uint8_t *shm_area_map(int fd, size_t *ret_length);
void shm_area_unmap(uint8_t *base, size_t length);

#endif

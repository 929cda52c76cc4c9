/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of this process that others of its host may map: each area is a sealed memfd, mapped here.
 * Either it was asked for (shm_area_make), or pages of the application's were exchanged for it
 * (shm_area_exchange): the same bytes at the same addresses, until the last user restores them.
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

/* What peers need to know of an area. */
struct shm_area_view {
	uint32_t id; /* not 0; never used again in this process */
	uint64_t addr, length;
};

/* Makes a zeroed area of length > 0 bytes, rounded up to pages. Returns 0 or -ENOMEM, -EMFILE, -EINVAL. */
int shm_area_make(size_t length, void **ret);
/* Returns 0, or -EINVAL if addr is not the start of an area that was made. Peers that have attached it keep its pages. */
int shm_area_free(void *addr);

/* Turns the whole pages of [addr, addr + length) into an area, unless they are one. Returns it, or NULL if that is not
 * possible. */
struct shm_area *shm_area_exchange(uint64_t addr, uint64_t length);
/* Ends one use; the last one restores private pages with the bytes as they are. NULL: does nothing. */
void shm_area_restore(struct shm_area *a);

/* Finds the first area that has bytes of [addr, addr + length). Returns false if there is none. */
bool shm_area_find(uint64_t addr, uint64_t length, struct shm_area_view *ret);
/* Returns a descriptor of the area, to be closed; -1 if it has gone. */
int shm_area_fd(uint32_t id);

/* Maps a file shared, and not into children of fork(). Returns NULL with errno on failure. */
void *shm_map_shared(int fd, size_t length, int prot);

/*
 * Maps a peer's area. Returns it with *ret_length bytes, or NULL unless it is a memfd that cannot shrink. The
 * descriptor stays the caller's.
 */
uint8_t *shm_area_map(int fd, size_t *ret_length);
void shm_area_unmap(uint8_t *base, size_t length);

#endif

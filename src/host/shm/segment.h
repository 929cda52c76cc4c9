/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared segments with one writer. The writer makes a memfd, maps it, and seals it (SHRINK, GROW,
 * FUTURE_WRITE, SEAL) before it passes its descriptor: no process can truncate it, which would be a SIGBUS in
 * the others, nor map it for writing. The reader checks the seals and the size and maps it read-only. Mappings
 * are not inherited by fork().
 */
#ifndef HOST_SHM_SEG_H
#define HOST_SHM_SEG_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes a zeroed segment of `size` bytes, rounded up to pages. Returns the descriptor, to be passed and then
 * closed, and in *ret the writable mapping; or -errno.
 */
int shm_seg_make(const char *name, size_t size, void **ret);
/* Maps a peer's segment. Returns NULL unless it is sealed and at least `least` and at most `most` bytes long. The
 * descriptor stays the caller's. */
const void *shm_seg_map(int fd, size_t least, size_t most, size_t *ret_size);
void shm_seg_unmap(const void *base, size_t size);

/*
 * The same with a ring of bytes (whole pages) behind one page of other things: the ring is mapped
 * twice, once behind the other, so that what begins in it never has to be cut at its end.
 */
size_t shm_ring_head(void); /* where the ring begins */
int shm_ring_make(const char *name, size_t ring, void **ret);
const void *shm_ring_map(int fd, size_t ring); /* or NULL */
void shm_ring_unmap(const void *base, size_t ring);

#endif

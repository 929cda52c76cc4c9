/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared segments with one writer. The writer makes a memfd, maps it, and seals it (SHRINK, GROW,
 * FUTURE_WRITE, SEAL) before it passes its descriptor: no process can truncate it, which would be a SIGBUS in
 * the others, nor map it for writing. The reader checks the seals and the size and maps it read-only. Mappings
 * are not inherited by fork().
 */
#ifndef HOST_SHM_SEG_H
#define HOST_SHM_SEG_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SHM_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* Returns the size of a segment, or -1 unless it has all seals. */
static inline off_t shm_seg_size(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SHM_SEALS) == SHM_SEALS && fstat(fd, &st) == 0 ? st.st_size : -1;
}

/*
 * Makes a zeroed segment of `size` bytes, rounded up to pages. Returns the descriptor, to be passed and then
 * closed, and in *ret the writable mapping; or -errno.
 */
int shm_seg_make(const char *name, size_t size, void **ret);
/* Maps a peer's segment. Returns NULL unless it is sealed and at least `least` and at most `most` bytes long. The
 * descriptor stays the caller's. */
const void *shm_seg_map(int fd, size_t least, size_t most, size_t *ret_size);
/* The same for a segment whose length is known: `size` bytes, rounded up to pages. */
const void *shm_seg_map_whole(int fd, size_t size);
/* Unmaps `size` bytes, rounded up to pages. Does nothing for NULL. */
void shm_seg_unmap(const void *base, size_t size);

#endif

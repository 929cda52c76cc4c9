/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Staging memory: where packets are put together and taken apart, and the one
 * safe way between it and the application's memory.
 *
 * Registration never touches pages (law 8), so a page may be gone when a
 * transfer reaches it, and a plain load would be a crash in somebody else's
 * program. The kernel's own copy answers EFAULT instead. The staging area is
 * a sealed memfd that we also map: pwritev() on it gathers from the
 * application, preadv() scatters to it. That costs about 0.3 us a call for
 * any number of pieces, half of process_vm_*() on the own process, and needs
 * no permission that a container or a non-dumpable process might lack.
 */
#ifndef UTIL_STAGE_H
#define UTIL_STAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct ut_stage {
	int fd;
	uint8_t *base;
	size_t size;
};

#define UT_STAGE_INIT { .fd = -1 }
#define UT_STAGE_IOV_MAX 1024 /* pieces in one call (IOV_MAX) */

/* size is rounded up to whole pages. 0 or -ENOMEM, -EMFILE, ... */
int ut_stage_init(struct ut_stage *s, size_t size);
void ut_stage_fini(struct ut_stage *s);

/*
 * Application memory -> stage at offset off. Returns the bytes copied, which
 * are fewer than asked when a piece is unreadable, or negative errno
 * (-EFAULT when the first byte already is). off + total must lie inside.
 */
ssize_t ut_stage_gather(struct ut_stage *s, size_t off, const struct iovec *iov, int n);
/*
 * Stage -> application memory, pieces in order: what is in a later piece
 * becomes visible later. Same results as ut_stage_gather().
 */
ssize_t ut_stage_scatter(struct ut_stage *s, size_t off, const struct iovec *iov, int n);

#endif

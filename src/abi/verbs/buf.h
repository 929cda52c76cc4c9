/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers that the library allocates for a program (ibv_alloc_buf): pages of the process, as from mmap(2).
 */
#ifndef ABI_VERBS_BUF_H
#define ABI_VERBS_BUF_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

struct vrb_buf {
	struct ibv_pd *pd;
	void *base;
	size_t size, mapped; /* bytes asked for; of the mapping */
};

/* Returns true if [addr, addr + length) lies in the buffer, which was allocated for this protection domain. */
bool vrb_buf_has(const struct vrb_buf *b, const struct ibv_pd *pd, const void *addr, size_t length);

#endif

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Staging memory: packets are built and parsed in it, and its functions are the safe way between it
 * and the application's memory.
 *
 * Registration never touches pages (law 8), so a page may be gone when a transfer reaches it, and a
 * plain load would crash the application. A copy by the kernel fails with EFAULT instead. The staging
 * area is a mapped memfd, sealed against resizing: pwritev() on it gathers from the application,
 * preadv() scatters to it. That costs about 0.3 us a call for any number of pieces, half of
 * process_vm_*() on the calling process, and needs no permission that a container or a non-dumpable
 * process might lack.
 *
 * While a thread of the application makes progress, pages that were reached within the last 2 ms are
 * copied by plain loads and stores (pages_checked_at); by a clock of ticks, up to a tick longer ago. So are mappings that the kernel has
 * confirmed as long ago, where pages are many (mapping.h).
 */
#ifndef UTIL_STAGE_H
#define UTIL_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "util/mapping.h"

#define UT_SEEN 256u /* a power of two; more than the pages in which receives of a connection commonly begin */
#define UT_SPANS 8u
#define UT_STAGE_TAIL 64u /* bytes that ut_stage_tail() splits off */
#define UT_SEEN_BYTES 512u /* fewer are looked up by their pages, more are made present */
#define UT_SEEN_PAGE 12 /* log2 of the smallest pages there are */

enum ut_stage_use { UT_READABLE, UT_WRITABLE };

struct ut_stage {
	int fd;
	uint8_t *base;
	size_t size;
	/* The present time on ut_now()'s clock, or as of the kernel's last tick (ut_now_coarse()), while a thread of the application
	 * makes progress; 0 if another thread does: then every copy is the kernel's. Set by the user of the stage. */
	uint64_t pages_checked_at;
	/* Pages that a copy by the kernel has reached lately, readable [0] and writable [1]. */
	struct {
		uintptr_t page;
		uint64_t until;
	} seen[2][UT_SEEN];
	/* Longer pieces that were made present lately. */
	struct ut_span {
		uintptr_t at, end;
		uint64_t until;
	} spans[2][UT_SPANS];
	unsigned next_span, last_span[2]; /* the one that was found last */
	struct ut_mappings mappings; /* for both uses */
};

#define UT_STAGE_INIT { .fd = -1 }
#define UT_STAGE_IOV_MAX 1024 /* pieces in one call (IOV_MAX) */

/* size is rounded up to whole pages. Returns 0 or -ENOMEM, -EMFILE, ... */
int ut_stage_init(struct ut_stage *s, size_t size);
void ut_stage_fini(struct ut_stage *s);

/*
 * Application memory -> stage at offset off. Returns the bytes copied, fewer than asked if a piece is
 * unreadable, or negative errno (-EFAULT if the first byte is unreadable). off + total must lie
 * inside the stage.
 */
ssize_t ut_stage_gather(struct ut_stage *s, size_t off, const struct iovec *iov, int n);
/*
 * The same for a buffer that the application has just posted; *crc is continued over the copied
 * bytes. In a thread of the application (s->pages_checked_at) one pass of plain loads does both. Each
 * piece is made present by a system call just before or lately, so that unmapped pages are an error
 * here too; a program that unmaps the buffer at that very moment may fault.
 */
ssize_t ut_stage_gather_crc(struct ut_stage *s, size_t off, const struct iovec *iov, int n,
			    uint32_t *crc);
/*
 * Stage -> application memory, pieces in order: a later piece becomes visible later. Returns as
 * ut_stage_gather() does.
 */
ssize_t ut_stage_scatter(struct ut_stage *s, size_t off, const struct iovec *iov, int n);

/*
 * Splits the last of n pieces so that its last 64 bytes become visible last: programs poll the last
 * byte of a Write. iov must have room for one more piece. Returns the new number of pieces.
 */
static inline int ut_stage_tail(struct iovec *iov, int n)
{
	struct iovec *end = &iov[n - 1];

	if (!n || end->iov_len <= UT_STAGE_TAIL)
		return n;
	iov[n] = (struct iovec){ (uint8_t *)end->iov_base + end->iov_len - UT_STAGE_TAIL, UT_STAGE_TAIL };
	end->iov_len -= UT_STAGE_TAIL;
	return n + 1;
}

/* Where a page is remembered. Pages that follow one another by a power of two, as those of receives do, keep apart. */
static inline unsigned ut_stage_slot(uintptr_t page)
{
	return (page + page / UT_SEEN) % UT_SEEN;
}

/* Returns true if plain loads from, or stores to, these few bytes are safe now: on one page that was
 * reached lately. False says nothing. */
static inline bool ut_stage_has_seen(const struct ut_stage *s, enum ut_stage_use use, const void *at,
				     size_t len)
{
	uintptr_t page = (uintptr_t)at >> UT_SEEN_PAGE;

	return s->pages_checked_at && len - 1 < UT_SEEN_BYTES &&
	       ((uintptr_t)at + len - 1) >> UT_SEEN_PAGE == page &&
	       s->seen[use][ut_stage_slot(page)].page == page &&
	       s->seen[use][ut_stage_slot(page)].until >= s->pages_checked_at;
}

/* The same for bytes of any number, in a mapping. */
static inline bool ut_stage_in_mapping(struct ut_stage *s, const void *at, size_t len)
{
	return s->pages_checked_at && ut_mappings_have(&s->mappings, at, len, s->pages_checked_at);
}

/* The same for a longer piece, as part of the one that such a question was about last. */
static inline bool ut_stage_has_reached(const struct ut_stage *s, enum ut_stage_use use, const void *at, size_t len)
{
	const struct ut_span *v = &s->spans[use][s->last_span[use]];

	return s->pages_checked_at && v->at <= (uintptr_t)at && (uintptr_t)at + len <= v->end &&
	       v->until >= s->pages_checked_at;
}

/* ut_stage_word() for a page that was not reached lately. */
bool ut_stage_reach_word(struct ut_stage *s, size_t scratch, void *at);
/*
 * Returns true if the processor may write the eight bytes at `at`, an aligned word. A store that fails is a crash,
 * so a system call makes the page present and writable first, in a thread of the application once in 2 ms; only
 * an application that unmaps it in that time faults. scratch: offset of eight unused bytes of the stage.
 */
static inline bool ut_stage_word(struct ut_stage *s, size_t scratch, void *at)
{
	return ut_stage_has_seen(s, UT_WRITABLE, at, 8) || ut_stage_reach_word(s, scratch, at);
}

/* The four functions below for pieces of any form. */
ssize_t ut_stage_gather_pieces(struct ut_stage *s, size_t off, const struct iovec *iov, int n);
ssize_t ut_stage_scatter_pieces(struct ut_stage *s, size_t off, const struct iovec *iov, int n);
ssize_t ut_stage_load_pieces(struct ut_stage *s, uint8_t *to, const struct iovec *iov, int n);
ssize_t ut_stage_store_pieces(struct ut_stage *s, const uint8_t *from, size_t len,
			      const struct iovec *iov, int n);

/*
 * Gather and scatter for buffers that the application has posted, or granted to its peer. In a thread
 * of the application (s->pages_checked_at) pages that a call has reached within the last 2 ms, and
 * longer pieces that a call has made present, are copied by plain loads and stores: a program that
 * unmaps a buffer in use within those 2 ms may fault. In other threads the kernel copies.
 */
static inline ssize_t ut_stage_gather_user(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	if (n != 1 || !ut_stage_has_seen(s, UT_READABLE, iov->iov_base, iov->iov_len))
		return ut_stage_gather_pieces(s, off, iov, n);
	memcpy(s->base + off, iov->iov_base, iov->iov_len);
	return (ssize_t)iov->iov_len;
}

static inline ssize_t ut_stage_scatter_user(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	if (n != 1 || !ut_stage_has_seen(s, UT_WRITABLE, iov->iov_base, iov->iov_len))
		return ut_stage_scatter_pieces(s, off, iov, n);
	memcpy(iov->iov_base, s->base + off, iov->iov_len);
	atomic_thread_fence(memory_order_release);
	return (ssize_t)iov->iov_len;
}

/*
 * The same from or to any other memory of the library, at most the stage's size, which costs one more
 * copy if the kernel copies. In a thread of the application large pieces are copied by plain loads and
 * stores as well, each made present by a system call just before.
 */
static inline ssize_t ut_stage_load_user(struct ut_stage *s, uint8_t *to, const struct iovec *iov, int n)
{
	if (n != 1 || !ut_stage_has_seen(s, UT_READABLE, iov->iov_base, iov->iov_len))
		return ut_stage_load_pieces(s, to, iov, n);
	memcpy(to, iov->iov_base, iov->iov_len);
	return (ssize_t)iov->iov_len;
}

static inline ssize_t ut_stage_store_user(struct ut_stage *s, const uint8_t *from, size_t len,
					  const struct iovec *iov, int n)
{
	if (n != 1 || !ut_stage_has_seen(s, UT_WRITABLE, iov->iov_base, iov->iov_len))
		return ut_stage_store_pieces(s, from, len, iov, n);
	memcpy(iov->iov_base, from, len);
	atomic_thread_fence(memory_order_release);
	return (ssize_t)len;
}

/* Return true if plain loads from, or stores to, all pieces are safe now; else the kernel must copy. */
bool ut_stage_may_load(struct ut_stage *s, const struct iovec *iov, int n);
bool ut_stage_may_store(struct ut_stage *s, const struct iovec *iov, int n);
/* Copies by plain stores, pieces in order: a later piece becomes visible later. */
void ut_stage_store(const uint8_t *from, const struct iovec *iov, int n);

#endif

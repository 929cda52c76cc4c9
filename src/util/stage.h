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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define UT_SEEN 32u
#define UT_SPANS 8u

struct ut_stage {
	int fd;
	uint8_t *base;
	size_t size;
	/* Now, on ut_now()'s clock, while an application's own thread makes progress; 0: another
	 * thread does, and nothing is touched without the kernel. Set by the owner. */
	uint64_t pages_checked_at;
	/* Pages that the kernel reached lately for us, readable [0] and writable [1]. */
	struct {
		uintptr_t page;
		uint64_t until;
	} seen[2][UT_SEEN];
	/* Longer pieces that were made present lately. */
	struct ut_span {
		uintptr_t at, end;
		uint64_t until;
	} spans[2][UT_SPANS];
	unsigned next_span;
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
 * The same for a buffer that the application has just given us, and *crc goes on over what has
 * come. In a thread of the application (s->pages_checked_at) one pass of plain loads does both; each piece is
 * made present by a call just before or lately, so that pages that are gone are an error here too. Who
 * unmaps it in that very moment gets a crash of its own making.
 */
ssize_t ut_stage_gather_crc(struct ut_stage *s, size_t off, const struct iovec *iov, int n,
			    uint32_t *crc);
/*
 * Stage -> application memory, pieces in order: what is in a later piece
 * becomes visible later. Same results as ut_stage_gather().
 */
ssize_t ut_stage_scatter(struct ut_stage *s, size_t off, const struct iovec *iov, int n);

/*
 * Splits the last of n pieces so that its last 64 bytes become visible last: programs poll the last
 * byte of a Write. iov has room for one piece more; returns how many there are then.
 */
int ut_stage_tail(struct iovec *iov, int n);

/*
 * May the CPU write the eight bytes at `at`? A store cannot be refused, so the page is made present
 * and writable first by a call that can; what remains is an application that unmaps in the same
 * microsecond. scratch: eight unused bytes of the stage.
 */
bool ut_stage_word(struct ut_stage *s, size_t scratch, void *at);

/*
 * Gather and scatter for what the application has given us, or granted to its peer. Pages
 * that a call has reached within the last 2 ms, and longer pieces that it has made present, are copied by plain
 * loads and stores, if s->pages_checked_at says that this is a thread of the application: what it unmaps while
 * it is in use costs it a crash in its own call, then, and no longer an error. Everybody else asks
 * the kernel.
 */
ssize_t ut_stage_gather_user(struct ut_stage *s, size_t off, const struct iovec *iov, int n);
ssize_t ut_stage_scatter_user(struct ut_stage *s, size_t off, const struct iovec *iov, int n);

/*
 * The same without a place in the stage: up to its size from or to any other memory of ours, which
 * costs a copy more when the kernel is asked. Large pieces, too, are copied by plain loads and
 * stores in a thread of the application, each made present by a call just before.
 */
ssize_t ut_stage_load_user(struct ut_stage *s, uint8_t *to, const struct iovec *iov, int n);
ssize_t ut_stage_store_user(struct ut_stage *s, const uint8_t *from, size_t len,
			   const struct iovec *iov, int n);

/* A thread of the application may load from, or store to, all of it now; false: the kernel has to. */
bool ut_stage_may_load(struct ut_stage *s, const struct iovec *iov, int n);
bool ut_stage_may_store(struct ut_stage *s, const struct iovec *iov, int n);
/* By plain stores, pieces in order, what is in a later one becoming visible later. */
void ut_stage_store(const uint8_t *from, const struct iovec *iov, int n);

#endif

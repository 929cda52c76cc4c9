/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/stage.h"

#include "util/alloc.h"
#include "util/crc.h"
#include "util/filesize.h"
#include "util/pages.h"
#include "util/reach.h"
#include "util/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map_stage(struct ut_stage *s)
{
	/* The descriptor is given to no other process, but a program that uses descriptors of the
	 * library by mistake must not shrink the mapping. */
	fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	s->base = ut_map(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return -errno;
	}
	ut_advise(s->base, s->size, MADV_DONTFORK);
	return 0;
}

int ut_stage_init(struct ut_stage *s, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int r;

	*s = (struct ut_stage)UT_STAGE_INIT;
	if (ut_fault())
		return -ENOMEM;
	s->size = (size + page - 1) & ~(page - 1);
	s->fd = ut_memfd("dapple-stage", s->size);
	if (s->fd < 0)
		return s->fd;
	r = map_stage(s);
	if (r < 0)
		ut_stage_fini(s);
	return r;
}

void ut_stage_fini(struct ut_stage *s)
{
	if (s->base)
		ut_unmap(s->base, s->size);
	if (s->fd >= 0)
		ut_close(s->fd);
	*s = (struct ut_stage)UT_STAGE_INIT;
}

/* Raw system calls: the libc wrappers are cancellation points, and callers hold a lock. The last two
 * arguments are the halves of a 64-bit offset; on 64-bit kernels the first one holds all of it. */
static ssize_t copy(long nr, struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	int keep = errno;
	ssize_t r;

	do
		r = syscall(nr, s->fd, iov, (long)n, (long)off, (long)0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		r = -errno;
	errno = keep;
	return r;
}

ssize_t ut_stage_gather(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	return copy(SYS_pwritev, s, off, iov, n);
}

ssize_t ut_stage_scatter(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	return copy(SYS_preadv, s, off, iov, n);
}

static ssize_t gather_sum(struct ut_stage *s, size_t off, const struct iovec *iov, int n,
			  uint32_t *crc)
{
	ssize_t r = ut_stage_gather(s, off, iov, n);

	if (r > 0)
		*crc = ut_crc32c(*crc, s->base + off, (size_t)r);
	return r;
}

#define CHECKED_NS 2000000ull

/* Adjoining pieces become one span, which expires when the first of them does. */
static void remember_span(struct ut_stage *s, int how, uintptr_t at, uintptr_t end)
{
	struct ut_span *v = s->spans[how];

	for (unsigned i = 0; i < UT_SPANS; i++)
		if (v[i].end == at && v[i].until >= s->pages_checked_at) {
			v[i].end = end;
			s->last_span[how] = i;
			return;
		}
	s->last_span[how] = s->next_span % UT_SPANS;
	v[s->next_span++ % UT_SPANS] = (struct ut_span){ at, end, s->pages_checked_at + CHECKED_NS };
}

/* In a thread of the application: the range was made present lately, or is now. */
static bool present(struct ut_stage *s, int how, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, end = at + len;
	const struct ut_span *v = s->spans[how];

	for (unsigned i = 0; i < UT_SPANS; i++)
		if (v[i].at <= at && end <= v[i].end && v[i].until >= s->pages_checked_at) {
			s->last_span[how] = i;
			return true;
		}
	if (ut_mappings_have(&s->mappings, p, len, s->pages_checked_at) || ut_mappings_missed(&s->mappings, p, len, s->pages_checked_at))
		return true;
	if (!ut_reach(p, len, how == UT_READABLE ? UT_REACH_READ : UT_REACH_WRITE))
		return false;
	remember_span(s, how, at, end);
	return true;
}

ssize_t ut_stage_gather_crc(struct ut_stage *s, size_t off, const struct iovec *iov, int n,
			    uint32_t *crc)
{
	size_t done = 0;

	for (int i = 0; i < n; i++) {
		if (!s->pages_checked_at || iov[i].iov_len <= UT_SEEN_BYTES ||
		    !present(s, UT_READABLE, iov[i].iov_base, iov[i].iov_len)) {
			ssize_t r = gather_sum(s, off + done, iov + i, n - i, crc);

			return r < 0 ? (done ? (ssize_t)done : r) : (ssize_t)done + r;
		}
		*crc = ut_crc32c_copy(*crc, s->base + off + done, iov[i].iov_base, iov[i].iov_len);
		done += iov[i].iov_len;
	}
	return (ssize_t)done;
}

/* --- threads of the application --- */

static uintptr_t last_page(const struct iovec *v)
{
	return ((uintptr_t)v->iov_base + v->iov_len - 1) >> UT_SEEN_PAGE;
}

static bool seen(const struct ut_stage *s, int how, uintptr_t page)
{
	return s->seen[how][ut_stage_slot(page)].page == page &&
	       s->seen[how][ut_stage_slot(page)].until >= s->pages_checked_at;
}

/* Few bytes, and each page was reached lately. */
static bool all_seen(const struct ut_stage *s, int how, const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++) {
		sum += iov[i].iov_len;
		if (sum > UT_SEEN_BYTES)
			return false;
		for (uintptr_t p = (uintptr_t)iov[i].iov_base >> UT_SEEN_PAGE;
		     iov[i].iov_len && p <= last_page(&iov[i]); p++)
			if (!seen(s, how, p))
				return false;
	}
	return true;
}

/* Returns the bytes of the pieces at iov that adjoin each other; *ret_n is the number of pieces. */
static size_t adjoining(const struct iovec *iov, int n, int *ret_n)
{
	size_t sum = iov[0].iov_len;
	int i = 1;

	while (i < n && iov[i].iov_base == (uint8_t *)iov[0].iov_base + sum)
		sum += iov[i++].iov_len;
	*ret_n = i;
	return sum;
}

static bool all_safe(struct ut_stage *s, int how, const struct iovec *iov, int n)
{
	int row;

	for (int i = 0; i < n; i += row) {
		size_t len = adjoining(iov + i, n - i, &row);

		if (len <= UT_SEEN_BYTES ? !all_seen(s, how, iov + i, row)
				     : !present(s, how, iov[i].iov_base, len))
			return false;
	}
	return true;
}

/* The common case: one piece on one page. */
static inline bool one_seen(const struct ut_stage *s, int how, const struct iovec *iov, int n)
{
	return n == 1 && ut_stage_has_seen(s, (enum ut_stage_use)how, iov->iov_base, iov->iov_len);
}

static bool all_in_mappings(struct ut_stage *s, const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++)
		if (iov[i].iov_len && !ut_mappings_have(&s->mappings, iov[i].iov_base, iov[i].iov_len, s->pages_checked_at))
			return false;
	return true;
}

/* Plain loads, or stores, are safe. */
static inline bool is_safe(struct ut_stage *s, int how, const struct iovec *iov, int n)
{
	return s->pages_checked_at && (one_seen(s, how, iov, n) || all_in_mappings(s, iov, n) || all_seen(s, how, iov, n) ||
				       all_safe(s, how, iov, n));
}

bool ut_stage_may_load(struct ut_stage *s, const struct iovec *iov, int n)
{
	return is_safe(s, UT_READABLE, iov, n);
}

bool ut_stage_may_store(struct ut_stage *s, const struct iovec *iov, int n)
{
	return is_safe(s, UT_WRITABLE, iov, n);
}

static void remember_pages(struct ut_stage *s, int how, const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++) {
		uintptr_t p = (uintptr_t)iov[i].iov_base >> UT_SEEN_PAGE;

		if (iov[i].iov_len > UT_SEEN_BYTES)
			return;
		for (; iov[i].iov_len && p <= last_page(&iov[i]); p++) {
			s->seen[how][ut_stage_slot(p)].page = p;
			s->seen[how][ut_stage_slot(p)].until = s->pages_checked_at + CHECKED_NS;
		}
	}
}

static ssize_t load(uint8_t *to, const struct iovec *iov, int n)
{
	uint8_t *at = to;

	for (int i = 0; i < n; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return at - to;
}

void ut_stage_store(const uint8_t *from, const struct iovec *iov, int n)
{
	for (int i = 0; i < n; i++) {
		memcpy(iov[i].iov_base, from, iov[i].iov_len);
		from += iov[i].iov_len;
		/* No instruction on processors that keep stores in order. */
		atomic_thread_fence(memory_order_release);
	}
}

/* A copy by the kernel, which fails at pages that are not mapped. */
static ssize_t copy_by_kernel(struct ut_stage *s, int how, size_t off, const struct iovec *iov, int n)
{
	ssize_t r = how == UT_READABLE ? ut_stage_gather(s, off, iov, n)
				    : ut_stage_scatter(s, off, iov, n);

	if (s->pages_checked_at && r > 0 && (size_t)r == ut_iov_bytes(iov, n)) {
		remember_pages(s, how, iov, n);
		ut_mappings_missed(&s->mappings, iov[0].iov_base, iov[0].iov_len, s->pages_checked_at);
	}
	return r;
}

bool ut_stage_reach_word(struct ut_stage *s, size_t scratch, void *at)
{
	struct iovec iov = { at, 8 };
	int r;

	if (ut_stage_in_mapping(s, at, 8))
		return true;
	r = ut_reach_word(at);
	if (r == -EFAULT)
		return false;
	if (r == 0 || ut_reach(at, 8, UT_REACH_WRITE)) {
		if (s->pages_checked_at)
			remember_pages(s, UT_WRITABLE, &iov, 1);
		return true;
	}
	/* EINVAL means an old kernel or a read-only page; the stage, which is writable, tells which. */
	return ut_stage_gather(s, scratch, &iov, 1) == 8 && !ut_reach(s->base + scratch, 8, UT_REACH_WRITE);
}

ssize_t ut_stage_gather_pieces(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	if (!is_safe(s, UT_READABLE, iov, n))
		return copy_by_kernel(s, UT_READABLE, off, iov, n);
	return load(s->base + off, iov, n);
}

ssize_t ut_stage_scatter_pieces(struct ut_stage *s, size_t off, const struct iovec *iov, int n)
{
	if (!is_safe(s, UT_WRITABLE, iov, n))
		return copy_by_kernel(s, UT_WRITABLE, off, iov, n);
	ut_stage_store(s->base + off, iov, n);
	return (ssize_t)ut_iov_bytes(iov, n);
}

ssize_t ut_stage_load_pieces(struct ut_stage *s, uint8_t *to, const struct iovec *iov, int n)
{
	ssize_t r;

	if (is_safe(s, UT_READABLE, iov, n))
		return load(to, iov, n);
	r = copy_by_kernel(s, UT_READABLE, 0, iov, n);
	if (r > 0)
		memcpy(to, s->base, (size_t)r);
	return r;
}

ssize_t ut_stage_store_pieces(struct ut_stage *s, const uint8_t *from, size_t len,
			      const struct iovec *iov, int n)
{
	if (is_safe(s, UT_WRITABLE, iov, n)) {
		ut_stage_store(from, iov, n);
		return (ssize_t)len;
	}
	memcpy(s->base, from, len);
	return copy_by_kernel(s, UT_WRITABLE, 0, iov, n);
}

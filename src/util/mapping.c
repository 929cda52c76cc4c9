/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS 4u        /* so many in UT_MAPPING_NS are frequent; */
#define CALLS_MOST 256u /* where the last answer was none: a question costs as much as seven of them */
#define CALL_BYTES 16384u /* a longer piece is a call more for each of these: its pages are made present one by one */

/* struct procmap_query and PROCMAP_QUERY, Linux 6.11 */
struct map_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define MAP_QUERY _IOWR('f', 17, struct map_query)
#define VMA_READABLE 1u /* PROCMAP_QUERY_VMA_READABLE, _WRITABLE, _SHARED */
#define VMA_WRITABLE 2u
#define VMA_SHARED 8u

/* Raw system calls, as callers hold a lock. The file is opened each time: a descriptor that is kept shows a forked child its parent's
 * memory. */
static bool ask(struct map_query *q)
{
	long fd = syscall(SYS_openat, (long)AT_FDCWD, "/proc/self/maps", (long)(O_RDONLY | O_CLOEXEC), 0l), r;

	if (fd < 0)
		return false;
	r = syscall(SYS_ioctl, fd, (long)MAP_QUERY, q);
	syscall(SYS_close, fd);
	return r >= 0;
}

bool ut_mapping_of(const void *p, struct ut_mapping *ret)
{
	struct map_query q = { .size = sizeof(q), .query_addr = (uintptr_t)p };
	int keep = errno;
	bool known = ask(&q);

	errno = keep;
	*ret = (struct ut_mapping){ (uintptr_t)q.vma_start, (uintptr_t)q.vma_end, 0 };
	return known && !q.inode && !q.dev_major && !q.dev_minor && q.vma_page_size == (uint64_t)sysconf(_SC_PAGESIZE) &&
	       (q.vma_flags & (VMA_READABLE | VMA_WRITABLE | VMA_SHARED)) == (VMA_READABLE | VMA_WRITABLE);
}

/* Returns true if there have been so many calls lately that a question is cheaper. */
static bool are_frequent(struct ut_mappings *o, size_t len, uint64_t now)
{
	size_t more = len / CALL_BYTES;

	if (now > o->counted_until) {
		o->counted_until = now + UT_MAPPING_NS;
		o->calls = 0;
	}
	o->calls += 1 + (unsigned)(more < CALLS_MOST ? more : CALLS_MOST);
	return o->calls >= (o->enough ? o->enough : CALLS);
}

bool ut_mappings_missed(struct ut_mappings *o, const void *p, size_t len, uint64_t now)
{
	struct ut_mapping m;
	bool found;

	if (!are_frequent(o, len, now))
		return false;
	found = ut_mapping_of(p, &m);
	o->calls = 0;
	o->enough = found ? CALLS : CALLS_MOST;
	if (!found)
		return false;
	m.until = now + UT_MAPPING_NS;
	o->v[o->next] = m;
	o->last = o->next;
	o->next = (o->next + 1) % UT_MAPPINGS;
	return ut_mappings_have(o, p, len, now);
}

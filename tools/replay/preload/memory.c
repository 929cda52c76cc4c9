/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory.h"

#include "descriptors.h"
#include "log.h"
#include "raw.h"
#include "state.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RANGES 4096
#define LINE 256
#define CONTENT_MAX (8l << 20)

/* Files that are read by mapping them (ld.so.cache, locales): as much of it as the record takes. Libraries (MAP_DENYWRITE) and
 * what other processes change are not among them. */
static uint64_t content_size(const long a[6], int fd)
{
	struct stat st;

	if (fd < 0 || rp_fd_kind(fd) == RP_FD_MEMORY || !(a[3] & MAP_PRIVATE) || a[3] & MAP_DENYWRITE || !(a[2] & PROT_READ) || a[2] & PROT_EXEC ||
	    RP_RAW2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= a[5])
		return 0;
	st.st_size -= a[5];
	return a[1] <= CONTENT_MAX ? (uint64_t)(st.st_size < a[1] ? st.st_size : a[1]) : 0;
}

static void fill_content(long at, const long a[6], uint64_t n)
{
	RP_RAW3(SYS_mprotect, at, a[1], PROT_READ | PROT_WRITE);
	rp_bytes((void *)at, n);
	RP_RAW3(SYS_mprotect, at, a[1], a[2]);
}

long rp_map(struct rp_thread *t, const long a[6])
{
	int fd = a[3] & MAP_ANONYMOUS ? -1 : (int)a[4];
	long r = 0, flags = a[3], got;
	uint64_t n = 0;
	enum rp_fd kind = rp_fd_kind(fd);

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
	r = rp_event_begin(SYS_mmap, t->index, fd < 0 ? 0 : fd, r);
	if (rp_mode == RP_RECORDING && !(r < 0 && r > -4096))
		n = content_size(a, fd);
	rp_bytes(&n, sizeof(n));
	if (rp_mode != RP_REPLAYING)
		rp_bytes((void *)r, n);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096)) {
		rp_event_end();
		return r;
	}
	if (!(flags & MAP_FIXED))
		flags |= MAP_FIXED_NOREPLACE;
	if (n || (fd >= 0 && kind != RP_FD_MEMORY && kind != RP_FD_FILE)) {
		flags = (flags & ~(long)(MAP_SHARED_VALIDATE)) | MAP_ANONYMOUS | MAP_PRIVATE;
		fd = -1;
	}
	got = rp_raw(SYS_mmap, r, a[1], a[2], flags, fd, a[5]);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	if (n)
		fill_content(r, a, n);
	rp_event_end();
	return r;
}

long rp_remap(struct rp_thread *t, const long a[6])
{
	long r = 0, got;

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mremap, a[0], a[1], a[2], a[3], a[4], 0);
	r = rp_event(SYS_mremap, t->index, 0, r);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096))
		return r;
	got = r == a[0] ? rp_raw(SYS_mremap, a[0], a[1], a[2], 0, 0, 0)
			: rp_raw(SYS_mremap, a[0], a[1], a[2], MREMAP_MAYMOVE | MREMAP_FIXED, r, 0);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	return r;
}

/* --- children --- */

struct range {
	uint64_t from, to;
	bool wiped; /* or not there */
};

struct reader {
	struct range ranges[RANGES], now;
	unsigned n;
	char line[LINE];
	size_t used;
};

static uint64_t read_hex(const char **p)
{
	uint64_t v = 0;
	char c;

	for (; (c = **p) && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')); (*p)++)
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	return v;
}

/* proc(5), smaps: a line of addresses, then lines of a name and a colon, of which VmFlags is the last. */
static void read_line(struct reader *r)
{
	const char *p = r->line;
	uint64_t from = read_hex(&p);

	if (p > r->line && *p == '-') {
		p++;
		r->now = (struct range){ .from = from, .to = read_hex(&p) };
		return;
	}
	if (strncmp(r->line, "VmFlags:", 8) || r->n == RANGES)
		return;
	r->now.wiped = strstr(r->line, " wf");
	if (r->now.wiped || strstr(r->line, " dc"))
		r->ranges[r->n++] = r->now;
}

static void read_octets(struct reader *r, const char *p, long n)
{
	for (; n; p++, n--) {
		if (*p != '\n') {
			if (r->used < LINE - 1)
				r->line[r->used++] = *p;
			continue;
		}
		r->line[r->used] = '\0';
		r->used = 0;
		read_line(r);
	}
}

void rp_memory_fork(void)
{
	static struct reader r;
	char octets[1024];
	long fd = RP_RAW4(SYS_openat, AT_FDCWD, "/proc/self/smaps", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return;
	while ((n = RP_RAW3(SYS_read, fd, octets, sizeof(octets))) > 0)
		read_octets(&r, octets, n);
	RP_RAW1(SYS_close, fd);
	for (unsigned i = 0; i < r.n; i++)
		if (r.ranges[i].wiped)
			RP_RAW3(SYS_madvise, r.ranges[i].from, r.ranges[i].to - r.ranges[i].from, MADV_DONTNEED);
		else
			RP_RAW2(SYS_munmap, r.ranges[i].from, r.ranges[i].to - r.ranges[i].from);
	r.n = 0;
}

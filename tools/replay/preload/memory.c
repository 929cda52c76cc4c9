/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "memory.h"

#include "descriptors.h"
#include "image.h"
#include "lines.h"
#include "log.h"
#include "objects.h"
#include "raw.h"
#include "state.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RANGES 4096
#define PAGE 4096ull
#define CONTENT_MAX (64l << 20)

/* --- memory that other processes store into --- */

#define SHARED_MOST 1024

static struct shared {
	uint64_t from, to;
} shared[SHARED_MOST];
static unsigned n_shared;
static bool guarded;

static _Noreturn void refuse_shared(const char *what)
{
	strncpy(rp_control->text, what, sizeof(rp_control->text) - 1);
	rp_stop(RP_SHARES);
	for (;;)
		RP_RAW1(SYS_exit_group, 125);
}

void rp_memory_gone(uint64_t from, uint64_t bytes)
{
	for (unsigned i = 0; i < n_shared; i++)
		if (shared[i].from < from + bytes && shared[i].to > from)
			shared[i--] = shared[--n_shared];
}

/* Anonymous memory is a child's as well; a name in /dev/shm is found by others (sem_open(3), shm_open(3)). */
static void note_shared(const long a[6], int fd, uint64_t at)
{
	char link[32], path[sizeof(rp_control->text)] = "";
	struct stat st;

	rp_memory_gone(at, (uint64_t)a[1]);
	if ((a[3] & MAP_TYPE) != MAP_SHARED && (a[3] & MAP_TYPE) != MAP_SHARED_VALIDATE)
		return;
	if (fd < 0) {
		if (n_shared == SHARED_MOST)
			refuse_shared("more than 1024 mappings");
		shared[n_shared++] = (struct shared){ at, at + (uint64_t)a[1] };
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	RP_RAW4(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	if (!strncmp(path, "/dev/shm/", 9) && RP_RAW2(SYS_fstat, fd, &st) == 0 && st.st_nlink)
		refuse_shared(path);
}

void rp_memory_guard(void)
{
	guarded = n_shared;
	for (unsigned i = 0; i < n_shared; i++)
		RP_RAW3(SYS_mprotect, shared[i].from, shared[i].to - shared[i].from, PROT_NONE);
}

void rp_memory_reached(uint64_t address)
{
	for (unsigned i = 0; guarded && i < n_shared; i++)
		if (address >= shared[i].from && address < shared[i].to)
			refuse_shared("that of a process and its child");
}

void rp_memory_refused(void)
{
	if (guarded && n_shared)
		refuse_shared("that of a process and its child");
}

/* --- mappings --- */

/* Files that are read by mapping them (libraries, ld.so.cache, locales): as much of it as the record takes. What other
 * processes change is not among them. */
static uint64_t content_size(const long a[6], int fd)
{
	struct stat st;

	if (fd < 0 || rp_fd_kind(fd) == RP_FD_MEMORY || !(a[3] & MAP_PRIVATE) || !(a[2] & PROT_READ) || RP_RAW2(SYS_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= a[5])
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
		if (rp_mode == RP_RECORDING && !(r < 0 && r > -4096))
			note_shared(a, fd, (uint64_t)r);
		if (n && a[2] & PROT_EXEC)
			rp_object_mapped(t->index, fd, (uint64_t)r, a[5]);
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
	if (n && a[2] & PROT_EXEC)
		rp_object_mapped(t->index, fd, (uint64_t)r, a[5]);
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

static uint64_t up(uint64_t address)
{
	return (address + PAGE - 1) & ~(PAGE - 1);
}

/* A replay has a heap of its own: the kernel's is the loader's. */
long rp_brk(struct rp_thread *t, const long a[6])
{
	static uint64_t now;
	uint64_t from, to;
	long r = 0;

	if (!now)
		now = rp_image_brk();
	if (rp_mode == RP_RECORDING)
		r = RP_RAW1(SYS_brk, a[0]);
	r = rp_event(SYS_brk, t->index, 0, r);
	from = up(now);
	to = up((uint64_t)r);
	now = (uint64_t)r;
	if (rp_mode != RP_REPLAYING)
		return r;
	if (to < from)
		RP_RAW2(SYS_munmap, to, from - to);
	else if (to > from && rp_raw(SYS_mmap, (long)from, (long)(to - from), PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (long)from)
		rp_stop_at(RP_OTHER_ADDRESS, (long)from, 0);
	return r;
}

/* --- children --- */

struct range {
	uint64_t from, to;
	bool wiped; /* or not there */
};

struct ranges {
	struct range all[RANGES], now;
	unsigned n;
};

/* proc(5), smaps: a line of addresses, then lines of a name and a colon, of which VmFlags is the last. */
static void read_line(void *arg, const char *line)
{
	struct ranges *r = arg;
	const char *p = line;
	uint64_t from = rp_read_hex(&p);

	if (p > line && *p == '-') {
		p++;
		r->now = (struct range){ .from = from, .to = rp_read_hex(&p) };
		return;
	}
	if (strncmp(line, "VmFlags:", 8) || r->n == RANGES)
		return;
	r->now.wiped = strstr(line, " wf");
	if (r->now.wiped || strstr(line, " dc"))
		r->all[r->n++] = r->now;
}

void rp_memory_fork(void)
{
	static struct ranges r;

	r.n = 0;
	rp_lines("/proc/self/smaps", read_line, &r);
	for (unsigned i = 0; i < r.n; i++)
		if (r.all[i].wiped)
			RP_RAW3(SYS_madvise, r.all[i].from, r.all[i].to - r.all[i].from, MADV_DONTNEED);
		else
			RP_RAW2(SYS_munmap, r.all[i].from, r.all[i].to - r.all[i].from);
}

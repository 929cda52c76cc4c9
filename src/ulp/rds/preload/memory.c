/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/preload/memory.h"

#include "ulp/preload/told.h"
#include "ulp/rds/say.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES (1ull << 56)             /* beyond each address of a program */

struct range {
	uint64_t from, to;
};

struct region {
	struct region *next;
	uint32_t key;
	struct range at;                /* octets, not pages */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct region *regions;
static int file = -1;                   /* the memfd */

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static struct range pages_of(struct range r)
{
	uint64_t page = page_size();

	return (struct range){ r.from & ~(page - 1), (r.to + page - 1) & ~(page - 1) };
}

static void *at(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* --- mappings --- */

struct mapping {
	struct range at;
	char perms[5], name[64];
	unsigned long inode;
};

static bool read_mapping(FILE *f, struct mapping *m)
{
	char line[4096 + 128];
	unsigned long from, to;

	m->name[0] = 0;
	if (!fgets(line, sizeof(line), f) ||
	    sscanf(line, "%lx-%lx %4s %*x %*s %lu %63[^\n]", &from, &to, m->perms, &m->inode, m->name) < 4)
		return false;
	m->at = (struct range){ from, to };
	return true;
}

/* Returns 0, -EOPNOTSUPP for pages of the caller's stack, or -ENOMEM: it is not known. */
static int check_stack(struct range r)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	if (pthread_getattr_np(pthread_self(), &attr))
		return -ENOMEM;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	return r.from < (uintptr_t)low + size && r.to > (uintptr_t)low ? -EOPNOTSUPP : 0;
}

static unsigned long inode_of_file(void)
{
	struct stat st;

	return file >= 0 && !fstat(file, &st) ? (unsigned long)st.st_ino : 0;
}

/* 0: these pages may be exchanged; 1: they are; or a negative errno. */
static int judge(const struct mapping *m, unsigned long inode)
{
	if (m->perms[0] != 'r' || m->perms[1] != 'w')
		return -EFAULT;
	if (m->perms[3] == 's' && inode && m->inode == inode && strstr(m->name, "dapple-rds"))
		return 1;
	return m->perms[3] != 'p' || !strncmp(m->name, "[stack", 6) ? -EOPNOTSUPP : 0;
}

typedef int each_fn(struct range r, int judged);

/*
 * Calls a function for each mapping of the pages. Returns 0, -EFAULT if pages are not mapped, or the errno of that function or of judge();
 * with `any`, pages that are not mapped, or may not be exchanged, are left out.
 */
static int each_mapping(struct range r, each_fn *call, bool any)
{
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long inode = inode_of_file();
	uint64_t done = r.from;
	struct mapping m;
	struct range part;
	int e = 0;

	if (!f)
		return -errno;
	while (e >= 0 && done < r.to && read_mapping(f, &m)) {
		if (m.at.to <= done)
			continue;
		if (m.at.from >= r.to || (m.at.from > done && !any))
			break;
		part = (struct range){ m.at.from > done ? m.at.from : done, m.at.to < r.to ? m.at.to : r.to };
		e = judge(&m, inode);
		if (e >= 0)
			e = call(part, e);
		if (any)
			e = 0;
		done = part.to;
	}
	fclose(f);
	return e < 0 ? e : done < r.to && !any ? -EFAULT : 0;
}

/* --- the exchange --- */

static int open_file(void)
{
	struct rlimit l;
	int fd;

	if (file >= 0)
		return 0;
	if (!getrlimit(RLIMIT_FSIZE, &l) && l.rlim_cur != RLIM_INFINITY && l.rlim_cur < PLACES)
		return -EFBIG;
	fd = memfd_create("dapple-rds", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd >= 0 && !ftruncate(fd, (off_t)PLACES) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		file = fd;
		return 0;
	}
	fd = fd >= 0 ? (close(fd), -errno) : -errno;
	return fd;
}

static int copy_out(struct range r)
{
	long n;

	for (uint64_t done = r.from; done < r.to; done += (uint64_t)n) {
		n = syscall(SYS_pwrite64, file, at(done), (size_t)(r.to - done), (off_t)done);
		if (n <= 0)
			return n && errno != EINTR ? -errno : -EFAULT;
	}
	return 0;
}

static int map(struct range r, int flags)
{
	void *p = at((uint64_t)syscall(SYS_mmap, at(r.from), (size_t)(r.to - r.from), (long)(PROT_READ | PROT_WRITE),
				       (long)(flags | MAP_FIXED), (long)(flags & MAP_ANONYMOUS ? -1 : file),
				       flags & MAP_ANONYMOUS ? 0 : (off_t)r.from));

	return p == MAP_FAILED ? -errno : 0;
}

static int look(struct range r, int judged)
{
	return 0;
}

static int exchange(struct range r, int judged)
{
	int e = judged ? 0 : copy_out(r);

	return e || judged ? e : map(r, MAP_SHARED);
}

/* Signals wait: a handler may write to these pages. */
static void block(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, old);
}

/* --- and back --- */

static bool is_used(uint64_t page)
{
	for (const struct region *r = regions; r; r = r->next)
		if (r->at.from < page + page_size() && r->at.to > page)
			return true;
	return false;
}

/* Private pages with the octets as they are, moved onto the place of the shared ones. */
static void take_back(struct range r)
{
	size_t len = (size_t)(r.to - r.from);
	void *copy = len ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;

	if (copy == MAP_FAILED)
		return;
	memcpy(copy, at(r.from), len);
	if (syscall(SYS_mremap, copy, len, len, (long)(MREMAP_MAYMOVE | MREMAP_FIXED), at(r.from)) == -1) {
		munmap(copy, len);
		return;
	}
	fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)r.from, (off_t)len);
}

static int restore_part(struct range r, int judged)
{
	struct range run = { r.from, r.from };

	for (uint64_t page = r.from; judged && page < r.to; page += page_size()) {
		if (is_used(page)) {
			take_back(run);
			run.from = page + page_size();
		}
		run.to = page + page_size();
	}
	take_back(run);
	return 0;
}

static void restore(struct range octets)
{
	struct range r = pages_of(octets);
	sigset_t old;

	block(&old);
	each_mapping(r, restore_part, true); /* what has been unmapped meanwhile stays so */
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* --- fork --- */

/* Ranges that are shared as a fork begins: of them the program may have unmapped pages, and have other memory there. */
static struct {
	struct range *at;
	size_t nr, room;
} shared;

/* Pages of regions that have other octets, too: the child's are copied before. */
struct copy {
	uint64_t page;
	uint8_t *octets;
};
static struct {
	struct copy *at;
	size_t nr, room;
} copies;

/* Room for one element more of a list in pages of its own: the heap's may be shared. Returns the list, or NULL. */
static void *grow(void *list, size_t nr, size_t *room, size_t each)
{
	size_t most = *room ? *room * 2 : 256;
	void *more;

	if (nr < *room)
		return list;
	more = *room ? mremap(list, *room * each, most * each, MREMAP_MAYMOVE)
		     : mmap(NULL, most * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (more == MAP_FAILED)
		return NULL;
	*room = most;
	return more;
}

static int note(struct range r, int judged)
{
	struct range *more = judged ? grow(shared.at, shared.nr, &shared.room, sizeof(*more)) : NULL;

	if (!more)
		return 0;
	shared.at = more;
	shared.at[shared.nr++] = r;
	return 0;
}

static bool is_shared(uint64_t page)
{
	for (size_t i = 0; i < shared.nr; i++)
		if (page >= shared.at[i].from && page < shared.at[i].to)
			return true;
	return false;
}

static void copy_edge(uint64_t octet)
{
	uint64_t page = octet & ~(page_size() - 1);
	struct copy *more, c = { page, NULL };

	if (octet == page || !is_shared(page))
		return;
	more = grow(copies.at, copies.nr, &copies.room, sizeof(*more));
	if (!more)
		return;
	copies.at = more;
	c.octets = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c.octets != MAP_FAILED)
		copies.at[copies.nr++] = c;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	shared.nr = copies.nr = 0;
	for (const struct region *r = regions; r; r = r->next)
		each_mapping(pages_of(r->at), note, true);
	for (const struct region *r = regions; r; r = r->next) {
		copy_edge(r->at.from);
		copy_edge(r->at.to);
	}
	for (size_t i = 0; i < copies.nr; i++)
		memcpy(copies.at[i].octets, at(copies.at[i].page), page_size());
}

static void drop_copies(void)
{
	for (size_t i = 0; i < copies.nr; i++)
		munmap(copies.at[i].octets, page_size());
	copies.nr = 0;
}

static void after_fork_in_parent(void)
{
	drop_copies();
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	for (size_t i = 0; i < shared.nr; i++)
		map(shared.at[i], MAP_PRIVATE);
	for (size_t i = 0; i < copies.nr; i++)
		memcpy(at(copies.at[i].page), copies.at[i].octets, page_size());
	drop_copies();
	/* The regions are the parent's; the list leaks here, since the heap may be locked. */
	regions = NULL;
	if (file >= 0)
		close(file);
	file = -1;
	pthread_mutex_unlock(&lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* --- the whole --- */

static void say(int e)
{
	if (e == -EOPNOTSUPP)
		rds_say("RDS memory: the pages of a region are a stack, or shared with other processes already: the region is refused; take "
			"memory of malloc() or of a private mapping");
	else if (e == -EFBIG)
		rds_say("RDS memory: the limit of file sizes forbids the file of shared pages: the region is refused; raise the limit "
			"(ulimit -f unlimited)");
}

int rds_memory_share(uint64_t addr, uint64_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct range r = pages_of((struct range){ addr, addr + len });
	sigset_t old;
	int e;

	pthread_once(&once, watch_forks);
	block(&old);
	pthread_mutex_lock(&lock);
	e = check_stack(r);
	if (!e)
		e = open_file();
	if (!e)
		e = each_mapping(r, look, false);
	if (!e) {
		e = each_mapping(r, exchange, false);
		if (e)
			restore(r); /* those before the one that failed */
	}
	pthread_mutex_unlock(&lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	say(e);
	return e ? rsp_told(RSP_OF_STREAM, e) : file;
}

int rds_memory_enter(uint64_t cookie, uint64_t addr, uint64_t len)
{
	struct region *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct region){ .key = (uint32_t)cookie, .at = { addr, addr + len } };
	pthread_mutex_lock(&lock);
	r->next = regions;
	regions = r;
	pthread_mutex_unlock(&lock);
	return 0;
}

void rds_memory_restore(uint64_t addr, uint64_t len)
{
	pthread_mutex_lock(&lock);
	restore((struct range){ addr, addr + len });
	pthread_mutex_unlock(&lock);
}

void rds_memory_leave(uint32_t key)
{
	struct region **at_region, *r;

	pthread_mutex_lock(&lock);
	for (at_region = &regions; (r = *at_region) && r->key != key; at_region = &r->next)
		;
	if (r) {
		*at_region = r->next;
		restore(r->at);
	}
	pthread_mutex_unlock(&lock);
	free(r);
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "host/shm/area.h"

#include "util/alloc.h"
#include "util/fault_calls.h"
#include "util/filesize.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* No process can take pages away from another that has mapped them. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct shm_area {
	struct ut_list node;
	uint8_t *base;
	size_t length;
	int fd;
	uint32_t id;
	unsigned users; /* of an exchange; 0: it was made */
};

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_list areas UT_GUARDED_BY(lock) = UT_LIST_INIT(areas);
static uint32_t last_id UT_GUARDED_BY(lock);

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void discard(struct shm_area *a)
{
	if (a->base)
		ut_unmap(a->base, a->length);
	if (a->fd >= 0)
		close(a->fd);
	free(a);
}

void *shm_map_shared(int fd, size_t length, int prot)
{
	void *p = ut_map(NULL, length, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (ut_advise(p, length, MADV_DONTFORK) == 0)
		return p;
	ut_unmap(p, length);
	return NULL;
}

/* Mapped wherever there is room. */
static struct shm_area *area_new(size_t length)
{
	struct shm_area *a = ut_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	a->length = length;
	a->fd = ut_fault_errno(EMFILE) ? -1 : ut_memfd("dapple-area", length);
	if (a->fd >= 0 && fcntl(a->fd, F_ADD_SEALS, SEALS) == 0)
		a->base = shm_map_shared(a->fd, length, PROT_READ | PROT_WRITE);
	if (a->base)
		return a;
	discard(a);
	return NULL;
}

static void enter(struct shm_area *a) UT_REQUIRES(lock);
static void enter(struct shm_area *a)
{
	a->id = ++last_id ? last_id : ++last_id;
	ut_list_add_tail(&areas, &a->node);
}

int shm_area_make(size_t length, void **ret)
{
	size_t page = page_size();
	struct shm_area *a;

	if (!length || length > SIZE_MAX / 2)
		return -EINVAL;
	errno = 0;
	a = area_new((length + page - 1) & ~(page - 1));
	if (!a)
		return errno == EMFILE || errno == ENFILE ? -EMFILE : -ENOMEM;
	ut_lock(&lock);
	enter(a);
	ut_unlock(&lock);
	*ret = a->base;
	return 0;
}

int shm_area_free(void *addr)
{
	struct shm_area *a, *found = NULL;

	ut_lock(&lock);
	ut_list_each(a, &areas, node)
		if (a->base == addr && !a->users)
			found = a;
	if (found)
		ut_list_del(&found->node);
	ut_unlock(&lock);
	if (!found)
		return -EINVAL;
	discard(found);
	return 0;
}

/* --- exchanged pages --- */

struct mapping {
	uint64_t from, to;
	char perms[5];
	unsigned long inode;
	char name[128];
};

static bool read_mapping(FILE *f, struct mapping *m)
{
	char line[4096 + 128];
	unsigned long from, to;

	if (!fgets(line, sizeof(line), f))
		return false;
	m->name[0] = 0;
	if (sscanf(line, "%lx-%lx %4s %*x %*s %lu %127[^\n]", &from, &to, m->perms, &m->inode,
		   m->name) < 4)
		return false;
	m->from = from;
	m->to = to;
	return true;
}

/* Private anonymous memory that has no name but one that a program gave it. */
static bool is_plain(const struct mapping *m, const struct mapping *before)
{
	bool is_bss = before->to == m->from && before->inode && !strcmp(before->perms, "rw-p");

	return !strcmp(m->perms, "rw-p") && !m->inode && !is_bss &&
	       (!m->name[0] || !strncmp(m->name, "[anon:", 6));
}

static bool all_plain(uint64_t from, uint64_t to)
{
	struct mapping m = { 0 }, before = { 0 };
	FILE *f = fopen("/proc/self/maps", "re");
	uint64_t at = from;

	if (!f)
		return false;
	while (at < to && read_mapping(f, &m)) {
		if (m.to > at) {
			if (m.from > at || !is_plain(&m, &before))
				break;
			at = m.to;
		}
		before = m;
	}
	fclose(f);
	return at >= to;
}

static bool is_stack(uint64_t from, uint64_t to)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	if (pthread_getattr_np(pthread_self(), &attr))
		return true;
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	return from < (uintptr_t)low + size && to > (uintptr_t)low;
}

/* Returns true if the area is still mapped where it was put: a program that has unmapped it may have other memory there. */
static bool in_place(const struct shm_area *a)
{
	uint64_t at = (uintptr_t)a->base, end = at + a->length;
	struct mapping m;
	struct stat st;
	FILE *f;

	if (fstat(a->fd, &st) < 0 || !(f = fopen("/proc/self/maps", "re")))
		return false;
	while (at < end && read_mapping(f, &m)) {
		if (m.to <= at)
			continue;
		if (m.from > at || m.inode != st.st_ino)
			break;
		at = m.to;
	}
	fclose(f);
	return at >= end;
}

/* The first that has a part. */
static struct shm_area *touching(uint64_t from, uint64_t to) UT_REQUIRES(lock);
static struct shm_area *touching(uint64_t from, uint64_t to)
{
	struct shm_area *a;

	ut_list_each(a, &areas, node) {
		uint64_t base = (uintptr_t)a->base;

		if (from < base + a->length && to > base && in_place(a))
			return a;
	}
	return NULL;
}

/* Pages without anything in them need not come to be. */
static void copy_pages(uint8_t *to, const uint8_t *from, size_t length)
{
	static const uint8_t zeros[4096];

	for (size_t at = 0; at < length; at += sizeof(zeros))
		if (memcmp(from + at, zeros, sizeof(zeros)))
			memcpy(to + at, from + at, sizeof(zeros));
}

static bool move_mapping(void *from, void *to, size_t length)
{
	return ut_move_map(from, to, length) != MAP_FAILED;
}

static struct shm_area *exchange(uint64_t from, uint64_t to) UT_REQUIRES(lock);
static struct shm_area *exchange(uint64_t from, uint64_t to)
{
	void *there = (void *)(uintptr_t)from;
	struct shm_area *a;

	if (is_stack(from, to) || !all_plain(from, to))
		return NULL;
	a = area_new(to - from);
	if (!a)
		return NULL;
	copy_pages(a->base, there, a->length);
	if (!move_mapping(a->base, there, a->length)) {
		discard(a);
		return NULL;
	}
	a->base = there;
	enter(a);
	return a;
}

struct shm_area *shm_area_exchange(uint64_t addr, uint64_t length)
{
	uint64_t page = page_size(), from = (addr + page - 1) & ~(page - 1);
	uint64_t to = (addr + length) & ~(page - 1);
	struct shm_area *a;
	int keep = errno;

	if (addr + length < addr || from < addr || to <= from || to - from < SHM_AREA_LEAST)
		return NULL;
	ut_lock(&lock);
	a = touching(from, to);
	if (!a)
		a = exchange(from, to);
	else if (!a->users || from < (uintptr_t)a->base || to > (uintptr_t)a->base + a->length)
		a = NULL; /* made, or another piece of memory: they stay as they are */
	if (a)
		a->users++;
	ut_unlock(&lock);
	errno = keep;
	return a;
}

/* On failure nothing changes: the pages stay shared with the processes that have attached them. */
static void give_back(const struct shm_area *a)
{
	void *p = in_place(a) ? ut_map(NULL, a->length, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			      : MAP_FAILED;

	if (p == MAP_FAILED)
		return;
	copy_pages(p, a->base, a->length);
	if (!move_mapping(p, a->base, a->length))
		ut_unmap(p, a->length);
}

void shm_area_restore(struct shm_area *a)
{
	int keep = errno;

	if (!a)
		return;
	ut_lock(&lock);
	if (--a->users) {
		ut_unlock(&lock);
		return;
	}
	ut_list_del(&a->node);
	give_back(a);
	ut_unlock(&lock);
	close(a->fd);
	free(a);
	errno = keep;
}

/* --- showing it to others --- */

bool shm_area_find(uint64_t addr, uint64_t length, struct shm_area_view *ret)
{
	struct shm_area *a;

	ut_lock(&lock);
	a = length && addr + length >= addr ? touching(addr, addr + length) : NULL;
	if (a)
		*ret = (struct shm_area_view){ a->id, (uintptr_t)a->base, a->length };
	ut_unlock(&lock);
	return a;
}

int shm_area_fd(uint32_t id)
{
	struct shm_area *a;
	int fd = -1;

	ut_lock(&lock);
	ut_list_each(a, &areas, node)
		if (a->id == id)
			fd = fcntl(a->fd, F_DUPFD_CLOEXEC, 3);
	ut_unlock(&lock);
	return fd;
}

uint8_t *shm_area_map(int fd, size_t *ret_length)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) < 0 || st.st_size <= 0)
		return NULL;
	p = shm_map_shared(fd, (size_t)st.st_size, PROT_READ | PROT_WRITE);
	*ret_length = p ? (size_t)st.st_size : 0;
	return p;
}

void shm_area_unmap(uint8_t *base, size_t length)
{
	if (base)
		ut_unmap(base, length);
}

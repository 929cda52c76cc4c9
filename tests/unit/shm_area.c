/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Areas: the same bytes at the same place, before, during and after an exchange; memory that must
 * never be exchanged is not; another mapping of an area sees every store; a program that unmaps an
 * area itself keeps its own mapping there.
 */
#include "support/check.h"
#include "host/shm/area.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (256u << 10)

static uint8_t *pages(size_t length, int flags)
{
	uint8_t *p = mmap(NULL, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (size_t i = 0; i < length; i += 4096)
		memset(p + i, (int)(i / 4096 + 1), 100);
	return p;
}

static bool same(const uint8_t *p, size_t length)
{
	for (size_t i = 0; i < length; i += 4096)
		if (p[i] != (uint8_t)(i / 4096 + 1) || p[i + 99] != p[i] || p[i + 100])
			return false;
	return true;
}

static uint8_t *other_view(const void *at, size_t length, struct shm_area_view *v)
{
	size_t got = 0;
	uint8_t *p;
	int fd;

	CHECK(shm_area_find((uintptr_t)at, length, v));
	fd = shm_area_fd(v->id);
	CHECK(fd >= 0);
	p = shm_area_map(fd, &got);
	CHECK(p && got == v->length);
	close(fd);
	return p;
}

static void exchanged(void)
{
	uint8_t *p = pages(BYTES, MAP_PRIVATE), *q;
	struct shm_area_view v;
	struct shm_area *a = shm_area_exchange((uintptr_t)p + 5, BYTES - 5), *b;

	CHECK(a && same(p, BYTES));
	q = other_view(p, BYTES, &v);
	/* The first page is not whole. */
	CHECK(v.addr == (uintptr_t)p + 4096 && v.length == BYTES - 4096);
	q[7] = 0x77;
	p[4096 + 8] = 0x88;
	CHECK(p[4096 + 7] == 0x77 && q[8] == 0x88);
	p[4096 + 7] = p[4096 + 8] = 2;
	/* A second registration of the same memory, and the other order of their ends. */
	b = shm_area_exchange((uintptr_t)p + 4096, BYTES / 2);
	CHECK(b == a);
	shm_area_restore(a);
	p[4096 + 8] = 9;
	CHECK(q[8] == 9);
	p[4096 + 8] = 2;
	shm_area_restore(b);
	CHECK(same(p, BYTES) && !shm_area_find((uintptr_t)p, BYTES, &v));
	p[4096 + 8] = 3;
	CHECK(q[8] == 2); /* private again */
	shm_area_unmap(q, BYTES - 4096);
	/* And empties when it is told to. */
	CHECK(madvise(p, BYTES, MADV_DONTNEED) == 0 && p[0] == 0);
	munmap(p, BYTES);
}

static uint8_t bss[BYTES];

static void never(void)
{
	uint8_t stack[BYTES], *p = pages(BYTES, MAP_SHARED), *heap = sbrk(BYTES + 4096);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint8_t *file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	stack[0] = 1;
	CHECK(!shm_area_exchange((uintptr_t)stack, BYTES) && stack[0] == 1);
	CHECK(!shm_area_exchange((uintptr_t)p, BYTES));
	CHECK(heap != (void *)-1 && !shm_area_exchange((uintptr_t)heap, BYTES));
	CHECK(!shm_area_exchange((uintptr_t)bss, BYTES));
	CHECK(file != MAP_FAILED && !shm_area_exchange((uintptr_t)file, BYTES));
	munmap(p, BYTES);
	p = pages(BYTES, MAP_PRIVATE);
	CHECK(!shm_area_exchange((uintptr_t)p + 1, SHM_AREA_LEAST)); /* too few whole pages */
	CHECK(!shm_area_exchange(UINT64_MAX - 100, 200) && !shm_area_exchange(0, 0));
	CHECK(mprotect(p + 8192, 4096, PROT_READ) == 0);
	CHECK(!shm_area_exchange((uintptr_t)p, BYTES) && same(p, BYTES));
	CHECK(munmap(p + 8192, 4096) == 0);
	CHECK(!shm_area_exchange((uintptr_t)p, BYTES));
	munmap(p, BYTES);
	munmap(file, BYTES);
	close(fd);
}

/* Freed before it was deregistered, and other memory stands there. */
static void unmapped(void)
{
	uint8_t *p = pages(BYTES, MAP_PRIVATE);
	struct shm_area *a = shm_area_exchange((uintptr_t)p, BYTES), *b;
	struct shm_area_view v;

	CHECK(a);
	CHECK(mmap(p, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		   0) == p);
	memset(p, 0x5a, BYTES);
	CHECK(!shm_area_find((uintptr_t)p, BYTES, &v));
	b = shm_area_exchange((uintptr_t)p, BYTES);
	CHECK(b && b != a);
	shm_area_restore(a);
	CHECK(p[0] == 0x5a && shm_area_find((uintptr_t)p, BYTES, &v));
	shm_area_restore(b);
	CHECK(p[BYTES - 1] == 0x5a);
	munmap(p, BYTES);
}

static void made(void)
{
	struct shm_area_view v;
	uint8_t *p, *q;
	void *at;
	int status;
	pid_t pid;

	CHECK(shm_area_make(0, &at) == -EINVAL && shm_area_make(1, &at) == 0);
	p = at;
	q = other_view(p, 1, &v);
	CHECK(v.addr == (uintptr_t)p && v.length >= 4096 && !p[0] && !p[v.length - 1]);
	CHECK(!shm_area_exchange((uintptr_t)p, v.length)); /* it is one */
	p[1] = 4;
	CHECK(q[1] == 4);
	pid = fork();
	if (!pid)
		_exit(madvise(p, 4096, MADV_NORMAL) ? 0 : 1); /* not there */
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(shm_area_free(p + 1) == -EINVAL && shm_area_free(p) == 0 && shm_area_free(p) == -EINVAL);
	CHECK(q[1] == 4 && shm_area_fd(v.id) < 0);
	shm_area_unmap(q, v.length);
}

static void strangers(void)
{
	int fd = memfd_create("any", MFD_CLOEXEC);
	size_t n;

	CHECK(fd >= 0 && ftruncate(fd, 4096) == 0);
	CHECK(!shm_area_map(fd, &n)); /* it may shrink */
	close(fd);
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	CHECK(!shm_area_map(fd, &n) && !shm_area_map(-1, &n));
	close(fd);
}

int main(void)
{
	exchanged();
	never();
	unmapped();
	made();
	strangers();
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ground.h"

#include "input.h"
#include "../support/entries.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS 1000000000ull

uint64_t ground_now;
void (*ground_slept)(void);
int (*ground_syscall)(long nr, const long arg[6], long *ret);

static long shared_bytes; /* mapped */
static int fds_before;
static long bytes_before;

long __real_syscall(long nr, ...);
/* It reads six arguments, whatever was passed. */
long __wrap_syscall(long nr, ...) __attribute__((no_sanitize("address")));
int __wrap_clock_gettime(clockid_t which, struct timespec *ret);
void *__real_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off);
int __real_munmap(void *at, size_t len);
int __wrap_munmap(void *at, size_t len);

int __wrap_clock_gettime(clockid_t which, struct timespec *ret)
{
	(void)which;
	ground_now += 1000;
	*ret = (struct timespec){ .tv_sec = (time_t)(ground_now / NS), .tv_nsec = (long)(ground_now % NS) };
	return 0;
}

/* Private mappings come and go with malloc(). A mapping over another one adds nothing. */
static void count_map(const void *ret, long len, long flags)
{
	if (ret != MAP_FAILED && (flags & MAP_SHARED) && !(flags & MAP_FIXED))
		shared_bytes += (len + 4095) & ~4095l;
}

static void count_unmap(long len)
{
	shared_bytes -= (len + 4095) & ~4095l;
}

void *__wrap_mmap64(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	void *p = __real_mmap64(at, len, prot, flags, fd, off);

	count_map(p, (long)len, flags);
	return p;
}

int __wrap_munmap(void *at, size_t len)
{
	count_unmap((long)len);
	return __real_munmap(at, len);
}

static void slept(const struct timespec *t)
{
	if (t)
		ground_now += (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec;
	if (ground_slept)
		ground_slept();
}

static long given(long r)
{
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

long __wrap_syscall(long nr, ...)
{
	static const struct timespec none;
	long a[6], r;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (ground_syscall && ground_syscall(nr, a, &r))
		return given(r);
	if (nr == SYS_nanosleep) {
		slept((const struct timespec *)a[0]);
		return 0;
	}
	if (nr == SYS_ppoll) {
		r = __real_syscall(nr, a[0], a[1], &none, a[3], a[4]);
		if (r == 0)
			slept((const struct timespec *)a[2]);
		return r;
	}
	r = __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (nr == SYS_mmap)
		count_map((void *)r, a[1], a[3]);
	else if (nr == SYS_munmap)
		count_unmap(a[1]);
	return r;
}

void ground_address(unsigned last, uint8_t ret[16])
{
	unsigned pid = (unsigned)getpid();

	memset(ret, 0, 16);
	ret[10] = ret[11] = 0xff;
	ret[12] = 127;
	ret[13] = (uint8_t)(64 + (pid >> 13 & 127));
	ret[14] = (uint8_t)(pid >> 5);
	ret[15] = (uint8_t)((pid & 31) << 3 | (last & 7));
}

/* Sockets of other processes at any address have others. */
uint16_t ground_port(void)
{
	return (uint16_t)(20000 + getpid() % 10000);
}

void ground_enter(void)
{
	ground_now = 1000 * NS;
	fds_before = open_fds();
	bytes_before = shared_bytes;
}

void ground_leave(void)
{
	REQUIRE(open_fds() == fds_before);
	REQUIRE(shared_bytes == bytes_before);
}
